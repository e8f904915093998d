// Finds the GPUs of a trace and their models in the catalogue.
#pragma once

#include <vector>

#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

class DeviceCatalog;
struct DeviceSpec;

/// Returns the GPUs of a trace in order of number. Includes undescribed GPUs that ran work if all
/// described GPUs are identical. Reason: a process may describe GPU 2 of the machine as number 0.
std::vector<DeviceInfo> DescribeGpus(const TraceStore& store, const DeviceCatalog& catalog);

/// Returns the specification of the GPUs that ran work, found by name or else by size. Returns
/// nullptr if it is unknown, or if the GPUs have different specifications.
const DeviceSpec* SpecOf(const TraceStore& store, const DeviceCatalog& catalog);

}  // namespace headroom
