// The parts of the training loop by the names that Determined gave them, on the host's clock and on
// the GPU's.
#pragma once

#include <optional>
#include <vector>

#include "analysis/loop/breakdown.h"
#include "analysis/names/attribution.h"
#include "analysis/steps/steps.h"
#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

/// From the first whole step to the end of the last, as the host sees them; none: no step is whole.
std::optional<Interval> ExtentOfSteps(const StepAnalysis& steps);

/// Splits the host's time in the whole steps. The rows that lie inside no other (`inside` empty)
/// add up to it, the last of them is `other`; a moment belongs to the first of callbacks,
/// dataloader_next, to_device, from_device, reduce_metrics, step_lr_schedulers, train_batch. What
/// no range names is told by operators and calls. Empty where nothing but `other` is known.
///
/// @param host  over all of ExtentOfSteps()
std::vector<TimingRow> TimingTable(const TraceStore& store, const Attribution& attribution,
                                   const StepAnalysis& steps, const HostActivity& host);

/// What a step waits for its batch: as GPU events around the loader timed it (`input_wait` ranges
/// of category gpu_region); else by when GPU tasks run. None without either.
///
/// @param host  over all of ExtentOfSteps()
std::optional<InputWait> MeasureInputWait(const TraceStore& store, const Attribution& attribution,
                                          const StepAnalysis& steps, const HostActivity& host);

}  // namespace headroom
