// The answer to `metrics`: counters over time (docs/ui.md).
#pragma once

#include <span>
#include <string>

#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

/// Returns headroom.metrics/1.
///
/// @param zero  origin of all times, as in the report
std::string RenderMetricsJson(const TraceStore& store, std::span<const StepRow> steps, TimeNs zero);

}  // namespace headroom
