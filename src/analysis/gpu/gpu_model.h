// Which GPUs a trace is of, and which model of the catalogue they are.
#pragma once

#include <vector>

#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

class DeviceCatalog;
struct DeviceSpec;

/// The GPUs that the trace describes, and those that only ran work, if all that it describes are of
/// one kind: a process whose GPU is number 2 of the machine may describe it as number 0. By number.
std::vector<DeviceInfo> DescribeGpus(const TraceStore& store, const DeviceCatalog& catalog);

/// The specification of the GPUs that ran work: by name, else by their size. nullptr where it is
/// unknown or several differ.
const DeviceSpec* SpecOf(const TraceStore& store, const DeviceCatalog& catalog);

}  // namespace headroom
