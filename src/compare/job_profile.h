// What a comparison needs of a job: figures a step with their errors, an account of the step,
// tables of kernels, operators and layers, and the facts that make two runs comparable. Small, so
// that a baseline can hold it whole.
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

/// Where the time of a step goes, by what the GPU does; they sum to it. A moment belongs to the
/// first that holds.
enum class StepPart : std::uint8_t {
  kCompute,        ///< A compute kernel runs.
  kCommunication,  ///< A collective runs, and no compute kernel.
  kCopiesIn,       ///< A copy to the GPU runs, and neither.
  kCopies,         ///< Another copy or a set runs.
  kDataWait,       ///< The GPU is idle, and the host waits for the next batch.
  kCallback,       ///< The same in a callback of the trainer.
  kHost,     ///< Idle until the host launches the next task; of a job without GPU work, the rest.
  kQueue,    ///< Idle although the next task was launched.
  kUnknown,  ///< Idle, and nobody knows why.
};
inline constexpr std::array<std::string_view, 9> kStepPartNames = {
    "compute",       "exposed_communication",
    "copies_to_gpu", "other_copies",
    "data_wait",     "callback",
    "host_wait",     "queue_wait",
    "unexplained"};

/// Phases of a step as the report names them, each as the time that the step spends there.
inline constexpr std::array<std::string_view, kBreakdownParts.size()> kPhaseNames = [] {
  std::array<std::string_view, kBreakdownParts.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kBreakdownParts[i].name;
  return names;
}();

/// Figures of one run by name (MetricInfo()), in the unit of the name; ordered, so that files are.
using RunFigures = std::map<std::string, Estimate, std::less<>>;

/// A kernel, operator or layer of all runs together.
struct ProfileRow {
  std::string name = {};    ///< Of a baseline, as NameInProfile() makes it.
  std::string inside = {};  ///< Kernels: the operator that launches most of them; else empty.
  double calls = 0;         ///< A step. Operators: calls that gave the GPU work.
  Estimate ms = {};         ///< GPU time a step, in tasks that may overlap.
  double exposed_ms = 0;    ///< Operators: of the step's compute part, what is theirs.
};

/// One fact of the machine, the job or the recording that two runs may differ in.
struct ProfileFact {
  std::string name;   ///< One of FactNames().
  std::string value;  ///< For people; never empty.
};

/// What tells one rank of a job from the others; means a step over its runs.
struct RankFigures {
  std::int64_t rank = 0;
  double step_ms = 0;                                   ///< The median; mean of the runs.
  double compute_ms = 0, exposed_communication_ms = 0;  ///< Parts of its step.
  double idle_ms = 0;                                   ///< In which no GPU task of it runs.
  /// In collectives, until the last rank came; none: its clock could not be aligned with others'.
  std::optional<double> waited_ms = {};
};

/// Who is waited for in a job of several ranks.
struct RankWaiting {
  /// A step: by which a usual rank's collectives are exposed for longer because of a late one.
  double lost_ms = 0;
  std::string late;  ///< Whom they wait for, for people; empty: for nobody.
};

/// Runs of one job: of one rank, or of several, whose means by rank all figures are then.
struct JobProfile {
  std::vector<std::string> paths;    ///< As given; of a baseline, those that it was saved from.
  std::string baseline;              ///< Its name; empty: traces.
  std::int64_t steps = 0;            ///< Whole ones, of all runs; of several ranks, the fewest.
  std::string verdict;               ///< Of the first run, a word of the report; of most ranks.
  std::string calibration;           ///< What the corrected step rests on; empty: there is none.
  char grade = 'A';                  ///< Trace health; the worst of the runs.
  double median_ms = 0;              ///< Mean of the runs' median steps.
  double least_ms = 0, most_ms = 0;  ///< The 10th and 90th percentile of all steps.
  std::array<double, kStepPartNames.size()> parts_ms = {};  ///< Means a step; they sum to the mean.
  std::array<double, kPhaseNames.size()> phases_ms = {};    ///< The same, by phase.
  std::vector<RunFigures> runs;
  std::vector<ProfileRow> kernels, operators, layers;  ///< Most GPU time first.
  /// GPU time a step of the rows that were left out, with their number; 0: none.
  struct Rest {
    std::int64_t rows = 0;
    double ms = 0;
  };
  Rest other_kernels, other_operators, other_layers;
  std::vector<ProfileFact> facts;
  std::vector<RankFigures> ranks;      ///< By rank; empty: of one rank alone.
  std::optional<RankWaiting> waiting;  ///< None: of one rank, or no clock could be aligned.

  double PartMs(StepPart part) const { return parts_ms[static_cast<std::size_t>(part)]; }
  double mean_ms() const;
};

/// The fact of that name; empty: not known.
std::string_view FactOf(const JobProfile& profile, std::string_view fact);

/// The name by which rows are matched, and which a baseline holds: up to 160 bytes as it is, longer
/// ones cut, with a hash.
std::string NameInProfile(std::string_view name);

/// Whether the name is one that NameInProfile() has cut.
bool IsCutName(std::string_view name);

/// The profile of one run, but for what the engine tells (AddForecasts()).
///
/// @param trace  of `store`, with its attribution
///
/// Fails (kNoAnswer) where no step is whole: there is nothing to compare.
Result<JobProfile> MakeProfile(const TraceStore& store, NameFacts& names,
                               const AnalyzedTrace& trace);

/// Adds the corrected step and the batch, once the engine has filled the report.
void AddForecasts(const TraceReport& report, JobProfile& profile);

/// The rank that computes longest, and by how much longer than a rank on average, in ms per step:
/// what an even distribution of the work would save at most. None: of one rank alone.
struct Imbalance {
  std::int64_t busiest = 0;
  double ms = 0;
};
std::optional<Imbalance> ImbalanceOf(const JobProfile& profile);

/// Joins repeated runs of one job: figures stay apart, all else is the mean by step. Facts that
/// differ between the runs say so. REQUIRES: `runs` is not empty, and all are of the same ranks.
JobProfile JoinRuns(std::vector<JobProfile> runs);

/// One run of one rank.
struct RankProfile {
  std::int64_t rank = 0;
  JobProfile profile;
};

/// Joins the ranks of one run. Figures, parts and rows are means over the ranks; peaks of memory
/// and what is named after the slowest rank are the largest. Errors are means, too, for ranks that
/// wait for each other do not vary by themselves. REQUIRES: two ranks at least, no rank twice, one
/// run each.
JobProfile JoinRanks(std::vector<RankProfile> ranks);

/// Leaves out all but the first `most` rows of each table; the rest is summed up.
void KeepLargest(std::size_t most, JobProfile& profile);

}  // namespace headroom
