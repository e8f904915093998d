// The parts of the training loop under Determined's names, on the host's clock and on the GPU's.
#pragma once

#include <optional>
#include <vector>

#include "analysis/loop/breakdown.h"
#include "analysis/names/attribution.h"
#include "analysis/steps/steps.h"
#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

/// Returns the host's time from the first whole step to the end of the last, or nullopt if the
/// trace has no whole step.
std::optional<Interval> ExtentOfSteps(const StepAnalysis& steps);

/// Splits the host's time in the whole steps. The rows with an empty `inside` sum to this time; the
/// last such row is `other`. A moment belongs to the first of: callbacks, dataloader_next,
/// to_device, from_device, reduce_metrics, step_lr_schedulers, train_batch. Operators and calls
/// identify the parts that no range names. Empty if only `other` would have time.
///
/// @param host  host activity that covers all of ExtentOfSteps()
std::vector<TimingRow> TimingTable(const TraceStore& store, const Attribution& attribution,
                                   const StepAnalysis& steps, const HostActivity& host);

/// Returns the time that a step waits for its batch, as GPU events around the loader timed it
/// (`input_wait` ranges of category gpu_region). Without these, computes it from the times of GPU
/// tasks; nullopt without either.
///
/// @param host  host activity that covers all of ExtentOfSteps()
std::optional<InputWait> MeasureInputWait(const TraceStore& store, const Attribution& attribution,
                                          const StepAnalysis& steps, const HostActivity& host);

}  // namespace headroom
