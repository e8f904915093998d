// The bottleneck of the step, and the findings. The rules of the verdict are in bottleneck.cc,
// those of the findings in findings.cc.
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

/// Input of the rules: the finished parts of the report, and the trace.
struct Evidence {
  const TraceStore& store;
  NameFacts& names;
  const Attribution& attribution;
  const StepAnalysis& steps;        ///< Without steps, the stretch is the only step.
  const HostActivity& host;         ///< Covers the judged steps.
  const UnmarkedLoading& unmarked;  ///< Part of host.data_wait.
  const std::vector<PricedSync>& syncs;
  const TraceReport& report;
  const DeviceSpec* device;  ///< nullptr if unknown.

  /// Judged rows of steps.list: the whole ones, without overlap. Not empty.
  std::vector<std::size_t> rows;
  std::vector<StepBreakdown> breakdowns;  ///< By `rows`; report.breakdown is their mean.
  std::size_t median_step = 0;            ///< Row of the median step in steps.list, as an example.
  bool is_stretch = false;                ///< There are no steps.

  /// Returns `total`, a sum over the judged steps, as a mean per judged step.
  DurationNs PerStep(DurationNs total) const {
    return DurationNs(total.ns() / static_cast<std::int64_t>(rows.size()));
  }
  /// Returns true if a task belongs to a judged step.
  bool Judges(GpuTaskId task) const {
    const std::int32_t step = steps.step_of_task[task.index()];
    return step != StepAnalysis::kNoStep &&
           std::binary_search(rows.begin(), rows.end(), static_cast<std::size_t>(step));
  }
};

/// Returns the FLOP per byte (peak over bandwidth) below which memory limits 16-bit matrix
/// products, or nullopt if unknown.
std::optional<double> TurningPoint(const DeviceSpec& device);
/// TurningPoint() for an unknown GPU: the lowest of all GPUs with matrix units in the catalogue.
inline constexpr double kMinTurningPoint = 66;

/// Returns the evidence for a loader without marks.
std::string UnmarkedText(const Evidence& evidence);

/// Parts of a step by cause; they sum to the step.
struct CauseTimes {
  DurationNs gpu;            ///< A compute kernel, a copy inside the device or a memset runs.
  DurationNs communication;  ///< Exposed communication.
  /// The GPU waits for data: the host is in the loader, or copies to the device are exposed.
  DurationNs input;
  DurationNs callback;         ///< The GPU waits while a callback runs.
  DurationNs synchronization;  ///< The GPU waits after a blocking call left it idle.
  DurationNs device_to_host;   ///< Only copies to the host run.
  DurationNs host;             ///< The GPU waits for the host to launch.
  DurationNs queue;            ///< The GPU waits although the next task was launched.
  /// The GPU waits, and the launch of the next task is unknown, or no task follows in the step.
  DurationNs unknown;
  DurationNs stalled;  ///< Part of `synchronization` in stalls (PricedSync::is_stall).

  bool IsMostlyStalled() const {
    return stalled.ns() > 0 && 2 * stalled.ns() >= synchronization.ns();
  }
};

/// Causes of the mean step.
struct Causes : CauseTimes {
  std::vector<CauseTimes> by_row;  ///< Causes of each judged step.
  IntervalSet late;                ///< Times in which the GPU waits for the host.
  /// Times in which the GPU waits although the next task was launched.
  IntervalSet held;
};
Causes FindCauses(const Evidence& evidence);

/// Returns the name of the call with the longest stall in the judged steps; empty if none stalls.
std::string_view LongestStall(const Evidence& evidence);

/// Returns, by `rows`, true if the step is typical (UsualSteps()).
std::vector<bool> UsualOf(const Evidence& evidence);

/// Returns the causes in typical steps, per judged step.
CauseTimes CausesInUsualSteps(const Evidence& evidence, const Causes& causes);

/// Returns true if the host works in the step far longer than the step takes. The GPU's work then
/// ends early, and no figure includes the remaining host time. In a continuing loop, the host takes
/// as long as the steps.
bool HostRunsOn(const StepRow& step);

Bottleneck Judge(const Evidence& evidence, const Causes& causes);

/// Returns the mean time per judged step in which any thread of the process runs an operator of XLA
/// or TensorFlow, without waits and callbacks. Returns 0 for traces of other frameworks.
DurationNs OperatorTime(const Evidence& evidence);

/// Judges a trace without GPU work: input, communication, callback or cpu-compute, else unknown.
/// Unrecorded GPU work may hide any wait, so the confidence is at most medium.
Bottleneck JudgeHostOnly(const Evidence& evidence);

/// Returns true if the finding acts on the verdict's cause and does not slow the job down.
bool ActsOn(Verdict verdict, const Finding& finding);
/// Moves the first finding that acts on the verdict's cause to the front.
void PutVerdictFirst(Verdict verdict, std::vector<Finding>& findings);

/// Returns at most kMaxFindings findings. The first acts on the verdict's cause; the others follow
/// by the time that they account for.
std::vector<Finding> FindFindings(const Evidence& evidence, const Causes& causes);
/// Returns the findings that need no GPU work.
std::vector<Finding> FindHostFindings(const Evidence& evidence);

}  // namespace headroom
