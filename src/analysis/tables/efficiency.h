// Utilization of the GPU's arithmetic and bandwidth by the steps.
#pragma once

#include <span>

#include "analysis/names/attribution.h"
#include "analysis/steps/steps.h"
#include "analysis/tables/costed_work.h"
#include "analysis/values/report.h"
#include "cost/device_spec.h"
#include "store/trace_store.h"

namespace headroom {

/// Computes FLOPs per step, MFU, roofline shares and tensor-core use for the steps. If the trace
/// has no steps, uses the whole trace. Uses the operators whose shapes were recorded; `costed_pct`
/// is the share of GPU time that they cover. `device` may be null (unknown GPU).
Efficiency MeasureEfficiency(const TraceStore& store, NameFacts& names,
                             const Attribution& attribution, std::span<const CostedCall> work,
                             const StepAnalysis& steps, const DeviceSpec* device);

}  // namespace headroom
