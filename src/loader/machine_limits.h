// Limits of the machine that a recording's loaders ran on, from its metrics.
#pragma once

#include <optional>

#include "store/trace_store.h"

namespace headroom {

/// Returns the minimum recorded CPU quota of the control group; nullopt if there was no quota.
std::optional<double> CpuQuotaOf(const TraceStore& store);

/// Returns the mean number of CPUs that such a quota withheld; nullopt if not recorded.
std::optional<double> ThrottledCoresOf(const TraceStore& store);

/// Returns the minimum free memory of machine and control group in bytes; nullopt if not recorded.
std::optional<double> FreeMemoryOf(const TraceStore& store);

}  // namespace headroom
