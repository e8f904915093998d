// The one thing that holds the step back, and the findings below it. All rules of the verdict are
// in bottleneck.cc, those of the findings in findings.cc.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "analysis/gpu/syncs.h"
#include "analysis/loop/breakdown.h"
#include "analysis/loop/unmarked_loading.h"
#include "analysis/names/attribution.h"
#include "analysis/steps/steps.h"
#include "analysis/values/report.h"
#include "cost/device_spec.h"
#include "store/trace_store.h"

namespace headroom {

/// What the rules look at: the parts of the report that are ready, and the trace behind them.
struct Evidence {
  const TraceStore& store;
  NameFacts& names;
  const Attribution& attribution;
  const StepAnalysis& steps;        ///< Without steps: the stretch as one.
  const HostActivity& host;         ///< Around the judged steps.
  const UnmarkedLoading& unmarked;  ///< Part of host.data_wait.
  const std::vector<PricedSync>& syncs;
  const TraceReport& report;
  const DeviceSpec* device;  ///< nullptr: unknown.

  /// Rows of steps.list that are judged: the whole ones, without overlap. Not empty.
  std::vector<std::size_t> rows;
  std::vector<StepBreakdown> breakdowns;  ///< By `rows`; report.breakdown is their mean.
  std::size_t median_step = 0;            ///< Row of steps.list of the median one, an example.
  bool is_stretch = false;                ///< There are no steps.

  /// Returns the mean per judged step of a total over all of them.
  DurationNs PerStep(DurationNs total) const {
    return DurationNs(total.ns() / static_cast<std::int64_t>(rows.size()));
  }
  /// Returns whether a task belongs to a judged step.
  bool Judges(GpuTaskId task) const {
    const std::int32_t step = steps.step_of_task[task.index()];
    return step != StepAnalysis::kNoStep &&
           std::binary_search(rows.begin(), rows.end(), static_cast<std::size_t>(step));
  }
};

/// FLOP per byte below which memory limits 16-bit matrix products: peak over bandwidth. None: not
/// known.
std::optional<double> TurningPoint(const DeviceSpec& device);
/// The same where the GPU is not known: that of no shipped GPU with matrix units is lower.
inline constexpr double kMinTurningPoint = 66;

/// What tells a loader that marks nothing.
std::string UnmarkedText(const Evidence& evidence);

/// Parts of a step by cause; they sum to it.
struct CauseTimes {
  DurationNs gpu;            ///< A compute kernel, a copy inside the device or a set runs.
  DurationNs communication;  ///< Exposed.
  DurationNs
      input;  ///< The GPU waits for data: host in the loader, or exposed copies to the device.
  DurationNs callback;         ///< The GPU waits while a callback runs.
  DurationNs synchronization;  ///< The GPU waits after it ran dry under a blocking call.
  DurationNs device_to_host;   ///< Only copies to the host run.
  DurationNs host;             ///< The GPU waits for the host to launch.
  DurationNs queue;            ///< The GPU waits although the next task was launched.
  DurationNs unknown;  ///< The GPU waits, and the launch of the next task is not known, or no task
                       ///< follows in the step.
};

/// Those of the mean step.
struct Causes : CauseTimes {
  std::vector<CauseTimes> by_row;  ///< Of each judged step.
  IntervalSet late;                ///< When the GPU waits for the host.
  IntervalSet held;                ///< When it waits although the next task was launched.
};
Causes FindCauses(const Evidence& evidence);

/// A synchronous copy that no recorded work delays.
struct Stall {
  std::string_view call;
  DurationNs longest;
};
/// Returns the longest stall of the judged steps if stalls are at least half of the GPU idle time
/// that blocking calls cause.
std::optional<Stall> MainStall(const Evidence& evidence);

/// Returns which of `rows` are usual (UsualSteps()).
std::vector<bool> UsualOf(const Evidence& evidence);

/// Returns the causes in usual steps, per judged step.
CauseTimes CausesInUsualSteps(const Evidence& evidence, const Causes& causes);

/// Whether the host is far longer in the step than the step takes: the work of the GPU ends early
/// in it, and what follows is in no figure. Steps of a loop that goes on take the host what they
/// take.
bool HostRunsOn(const StepRow& step);

Bottleneck Judge(const Evidence& evidence, const Causes& causes);

/// Returns the mean time per judged step in which any thread of the process runs an operator of XLA
/// or TensorFlow, without waits and callbacks; 0 in traces of others.
DurationNs OperatorTime(const Evidence& evidence);

/// Judges a trace without GPU work: input, communication, callback or cpu-compute, else unknown. A
/// GPU that was not recorded may hide any wait, so the confidence is at most medium.
Bottleneck JudgeHostOnly(const Evidence& evidence);

/// Returns whether the finding acts on what the verdict names, and does not slow the job down.
bool ActsOn(Verdict verdict, const Finding& finding);
/// Puts the first finding that acts on what the verdict names in front of the others.
void PutVerdictFirst(Verdict verdict, std::vector<Finding>& findings);

/// At most seven: first one that acts on what the verdict names, then by the time that they hold.
std::vector<Finding> FindFindings(const Evidence& evidence, const Causes& causes);
/// Those that need no GPU work.
std::vector<Finding> FindHostFindings(const Evidence& evidence);

}  // namespace headroom
