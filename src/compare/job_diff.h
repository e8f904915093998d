// Compares two profiles: changes of their figures, and each part's share of the step's change.
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

/// Relative standard deviation between runs, for comparisons without repeated runs: for GPU work,
/// and for work that the host limits. The jobs of docs/accuracy/changes.md, measured twice,
/// differed by under 1 % and by 5 to 8 %, respectively.
inline constexpr double kGpuRunToRun = 0.005, kHostRunToRun = 0.03;

/// A kernel, operator or layer of either profile, in ms per step.
struct RowChange {
  enum class State { kChanged, kNew, kGone };
  std::string name = {};
  std::string inside = {};  ///< As in ProfileRow.
  State state = State::kChanged;
  double calls_a = 0, calls_b = 0;  ///< Calls per step.
  Difference ms = {};
  double by_count_ms = 0;  ///< Part of the change from more or fewer calls.
  /// Part of the change from longer or shorter calls. The two parts sum to the change.
  double by_time_ms = 0;
};

/// An operator that runs other kernels in B than in A.
struct KernelSwap {
  std::string operator_name;
  std::vector<std::string> gone, fresh;  ///< Sorted by time, longest first.
  double gone_ms = 0, fresh_ms = 0;      ///< Times per step.
};

/// One row of the account of the step's change: a part of the step in A and in B, in ms per step.
struct AccountRow {
  std::string name = {};  ///< "aten::mm", "host_wait", ...; the operator's name if of_operator.
  bool of_operator = false;
  double a_ms = 0, b_ms = 0;
  double change_ms() const { return b_ms - a_ms; }
};

/// One rank of either profile.
struct RankChange {
  std::int64_t rank = 0;
  std::optional<RankFigures> a, b;  ///< nullopt if the profile has no such rank.
};

struct FigureChange {
  std::string name;  ///< Name of a metric.
  Difference change;
};

/// A comparison. Owns both profiles.
struct JobDiff {
  JobProfile a, b;
  std::vector<ComparedFact> facts;
  bool comparable = true;
  Difference step;  ///< Change of the median step.
  /// Change without profiler overhead; nullopt unless known for both profiles.
  std::optional<Difference> corrected;
  std::vector<FigureChange> figures;  ///< Figures that both profiles have, by name.
  /// Its rows sum to the change of the median step. The last row is the median less the mean.
  std::vector<AccountRow> account;
  /// Largest change first. Omits rows that may be part of a baseline's rest.
  std::vector<RowChange> kernels, operators, layers;
  std::vector<KernelSwap> swaps;  ///< Largest change first.
  std::vector<RankChange> ranks;  ///< Sorted by rank; empty if neither profile has several ranks.

  /// Returns true if the step's change is beyond noise and at least half a percent.
  bool step_changed() const;
};

/// Compares two profiles; `accepted` as in CompareFacts().
JobDiff Compare(JobProfile a, JobProfile b, std::span<const std::string> accepted);

/// Returns the change of a metric; nullopt if either profile lacks the metric.
std::optional<Difference> FigureChangeOf(const JobProfile& a, const JobProfile& b,
                                         std::string_view metric);

/// Returns the relative standard deviation of this metric between runs of a job; see kGpuRunToRun.
double RunToRun(const JobProfile& a, const JobProfile& b, std::string_view metric);

}  // namespace headroom
