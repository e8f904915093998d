// How much of the GPU's arithmetic and bandwidth the steps use.
#pragma once

#include <span>

#include "analysis/names/attribution.h"
#include "analysis/steps/steps.h"
#include "analysis/tables/costed_work.h"
#include "analysis/values/report.h"
#include "cost/device_spec.h"
#include "store/trace_store.h"

namespace headroom {

/// FLOPs per step, MFU, roofline shares and tensor-core use, of the work of the steps (where there
/// are none, of the whole trace). Works on the operators whose shapes were recorded; the share of
/// GPU time that they cover is in `costed_pct`. `device` may be null (unknown GPU).
Efficiency MeasureEfficiency(const TraceStore& store, NameFacts& names,
                             const Attribution& attribution, std::span<const CostedCall> work,
                             const StepAnalysis& steps, const DeviceSpec* device);

}  // namespace headroom
