// The data that a comparison requires of a job: figures per step with errors, an account of the
// step, and tables of kernels, operators and layers. The profile also has the facts that make two
// runs comparable. It is small, so that a baseline can contain it whole.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/analyzed_trace.h"
#include "analysis/names/name_facts.h"
#include "analysis/values/report.h"
#include "base/status.h"
#include "compare/estimate.h"
#include "store/trace_store.h"

namespace headroom {

/// Parts of a step's time, mostly by GPU activity; they sum to the step. Each moment counts for the
/// first part that applies.
enum class StepPart : std::uint8_t {
  kCompute,        ///< A compute kernel runs.
  kCommunication,  ///< A collective runs, and no compute kernel does.
  kCopiesIn,       ///< A copy to the GPU runs, and no kernel does.
  kCopies,         ///< Only another copy or a memory set runs.
  kDataWait,       ///< The GPU is idle, and the host waits for the next batch.
  kCallback,       ///< The GPU is idle, and the host runs a callback of the trainer.
  /// The GPU is idle until the host launches the next task. Without GPU work, all remaining time.
  kHost,
  kQueue,    ///< The GPU is idle although the next task was launched.
  kUnknown,  ///< The GPU is idle for an unknown reason.
};
inline constexpr std::array<std::string_view, 9> kStepPartNames = {
    "compute",       "exposed_communication",
    "copies_to_gpu", "other_copies",
    "data_wait",     "callback",
    "host_wait",     "queue_wait",
    "unexplained"};

/// Names of the phases of a step, as in the report.
inline constexpr std::array<std::string_view, kBreakdownParts.size()> kPhaseNames = [] {
  std::array<std::string_view, kBreakdownParts.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kBreakdownParts[i].name;
  return names;
}();

/// Figures of one run by name (GateMetrics()), in the unit of GateUnit(). Sorted, so that files are
/// reproducible.
using RunFigures = std::map<std::string, Estimate, std::less<>>;

/// A kernel, operator or layer of all runs together.
struct ProfileRow {
  std::string name = {};  ///< In a baseline, the result of NameInProfile().
  /// For kernels: the operator that launches most of their time; else empty.
  std::string inside = {};
  double calls = 0;       ///< Calls per step. For operators: only calls that launched GPU work.
  Estimate ms = {};       ///< GPU time per step; tasks may overlap.
  double exposed_ms = 0;  ///< For operators: their time in the step's compute part.
};

/// A fact of the machine, the job or the recording that may differ between runs.
struct ProfileFact {
  std::string name;   ///< A fact of compare/comparability.cc.
  std::string value;  ///< Text for people; never empty.
};

/// Figures of one rank of a job; means per step over its runs.
struct RankFigures {
  std::int64_t rank = 0;
  double step_ms = 0;                                   ///< Median step; mean over the runs.
  double compute_ms = 0, exposed_communication_ms = 0;  ///< Parts of the rank's step.
  double idle_ms = 0;                                   ///< Time without a GPU task of this rank.
  /// Time in collectives until the last rank arrived; nullopt if the rank's clock could not be
  /// aligned.
  std::optional<double> waited_ms = {};
};

/// The straggler in a job of several ranks.
struct RankWaiting {
  /// Additional exposed communication per step on a median rank, caused by a late rank.
  double lost_ms = 0;
  std::string late;  ///< The late rank, as text for people; empty if there is no straggler.
};

/// Runs of one job, of one or several ranks. With several ranks, all figures are means over them.
struct JobProfile {
  /// Paths of the traces, as given; for a baseline, the traces from which it was saved.
  std::vector<std::string> paths;
  std::string baseline;    ///< Name of the baseline; empty for traces.
  std::int64_t steps = 0;  ///< Whole steps of all runs; with several ranks, the fewest.
  /// Verdict of the first run, as named in the report; with several ranks, the most frequent one.
  std::string verdict;
  /// Calibration that the corrected step uses; empty if there is no corrected step.
  std::string calibration;
  char grade = 'A';                  ///< Health grade; the worst of the runs.
  double median_ms = 0;              ///< Mean of the runs' median steps.
  double least_ms = 0, most_ms = 0;  ///< The 10th and 90th percentile of all steps.
  /// Means per step; they sum to the mean step.
  std::array<double, kStepPartNames.size()> parts_ms = {};
  std::array<double, kPhaseNames.size()> phases_ms = {};  ///< Means per step, by phase.
  std::vector<RunFigures> runs;
  std::vector<ProfileRow> kernels, operators, layers;  ///< Sorted by GPU time, longest first.
  /// GPU time per step of the omitted rows, and their number; 0 if none.
  struct Rest {
    std::int64_t rows = 0;
    double ms = 0;
  };
  Rest other_kernels, other_operators, other_layers;
  std::vector<ProfileFact> facts;
  std::vector<RankFigures> ranks;      ///< Sorted by rank; empty for a job of one rank.
  std::optional<RankWaiting> waiting;  ///< Absent for one rank, or if no clock could be aligned.

  double PartMs(StepPart part) const { return parts_ms[static_cast<std::size_t>(part)]; }
  double mean_ms() const;
};

/// Returns the value of a fact; empty if unknown.
std::string_view FactOf(const JobProfile& profile, std::string_view fact);

/// Returns the name that matches rows and that a baseline stores. Names up to 160 bytes stay
/// unchanged; longer ones are truncated and get a hash.
std::string NameInProfile(std::string_view name);

/// Returns true if NameInProfile() truncated the name.
bool IsCutName(std::string_view name);

/// Returns the profile of one run, without the forecasts of the engine (AddForecasts()).
///
/// @param trace  the analysis of `store`, with its attribution
///
/// Fails with kNoAnswer if no step is whole, because nothing can be compared.
Result<JobProfile> MakeProfile(const TraceStore& store, NameFacts& names,
                               const AnalyzedTrace& trace);

/// Adds the corrected step and the batch, once the engine has filled the report.
void AddForecasts(const TraceReport& report, JobProfile& profile);

/// The rank that computes longest, and its excess over the mean rank in ms per step. An even
/// distribution of the work would save at most this time. Absent for one rank.
struct Imbalance {
  std::int64_t busiest = 0;
  double ms = 0;
};
std::optional<Imbalance> ImbalanceOf(const JobProfile& profile);

/// Joins repeated runs of one job. Figures stay separate; everything else becomes the mean per
/// step. The value of a fact that differs between the runs says so. REQUIRES: `runs` is not empty,
/// and all runs have the same ranks.
JobProfile JoinRuns(std::vector<JobProfile> runs);

/// One run of one rank.
struct RankProfile {
  std::int64_t rank = 0;
  JobProfile profile;
};

/// Joins the ranks of one run. Figures, parts and rows are means over the ranks. Memory peaks and
/// figures named after the slowest or busiest rank are maxima. Errors are means too, because ranks
/// that wait for each other do not vary independently. REQUIRES: at least two ranks, no rank twice,
/// one run each.
JobProfile JoinRanks(std::vector<RankProfile> ranks);

/// Keeps only the first `most` rows of each table and sums up the rest.
void KeepLargest(std::size_t most, JobProfile& profile);

}  // namespace headroom
