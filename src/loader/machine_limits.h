// What the metrics of a recording tell of the machine that its loaders ran on.
#pragma once

#include <optional>

#include "store/trace_store.h"

namespace headroom {

/// The least quota of processors that the recording says its control group had; none: there was
/// none.
std::optional<double> CpuQuotaOf(const TraceStore& store);

/// Processors that such a quota held back on average; none: not recorded.
std::optional<double> ThrottledCoresOf(const TraceStore& store);

/// Least memory that machine and control group had left, in bytes; none: not recorded.
std::optional<double> FreeMemoryOf(const TraceStore& store);

}  // namespace headroom
