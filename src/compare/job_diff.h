// What changed from one profile to another, and what of the step's change each part accounts for.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compare/comparability.h"
#include "compare/estimate.h"
#include "compare/job_profile.h"

namespace headroom {

/// What one run may differ by from the next, as a share (a standard deviation), where no repeated
/// runs tell: of work on the GPU, and of what the host paces. From the jobs of docs/accuracy.md,
/// measured twice: under 1 % and 5 to 8 % between the two.
inline constexpr double kGpuRunToRun = 0.005, kHostRunToRun = 0.03;

/// A kernel, operator or layer in both, in ms per step.
struct RowChange {
  enum class State { kChanged, kNew, kGone };
  std::string name = {};
  std::string inside = {};  ///< As of ProfileRow.
  State state = State::kChanged;
  double calls_a = 0, calls_b = 0;  ///< A step.
  Difference ms = {};
  double by_count_ms = 0;  ///< Of the change: by more or fewer calls,
  double by_time_ms = 0;   ///< and by longer or shorter ones; they sum to it.
};

/// One operator that runs other kernels than before.
struct KernelSwap {
  std::string operator_name;
  std::vector<std::string> gone, fresh;  ///< Most time first.
  double gone_ms = 0, fresh_ms = 0;      ///< A step.
};

/// One line of the account.
struct AccountRow {
  std::string name = {};  ///< "aten::mm", "host_wait", ...; of an operator: its name.
  bool of_operator = false;
  double a_ms = 0, b_ms = 0;
  double change_ms() const { return b_ms - a_ms; }
};

/// One rank of either.
struct RankChange {
  std::int64_t rank = 0;
  std::optional<RankFigures> a, b;  ///< None: that one has no such rank.
};

struct FigureChange {
  std::string name;  ///< Of a metric.
  Difference change;
};

/// A comparison. Points to no profile: it holds both.
struct JobDiff {
  JobProfile a, b;
  std::vector<ComparedFact> facts;
  bool comparable = true;
  Difference step;                      ///< Medians.
  std::optional<Difference> corrected;  ///< Without the profiler; none: not known of both.
  std::vector<FigureChange> figures;    ///< Of both, by name.
  /// Sums to the change of the median step. Its last row is what mean and median differ by.
  std::vector<AccountRow> account;
  /// Largest change first; those that may be in a baseline's rest are left out.
  std::vector<RowChange> kernels, operators, layers;
  std::vector<KernelSwap> swaps;  ///< Largest change first.
  std::vector<RankChange> ranks;  ///< By rank; empty: neither is of several.

  /// Whether the step's change is beyond noise, and half a percent or more.
  bool step_changed() const;
};

/// Compares; `accepted` as of CompareFacts().
JobDiff Compare(JobProfile a, JobProfile b, std::span<const std::string> accepted);

/// The change of a metric of both; none where either lacks it.
std::optional<Difference> FigureChangeOf(const JobProfile& a, const JobProfile& b,
                                         std::string_view metric);

/// What runs of a job differ by in this metric, as a share; see kGpuRunToRun.
double RunToRun(const JobProfile& a, const JobProfile& b, std::string_view metric);

}  // namespace headroom
