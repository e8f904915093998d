// How the GPU spent the trace: by kind of work, and why its streams waited.
#pragma once

#include <vector>

#include "analysis/names/name_facts.h"
#include "analysis/values/report.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Unions of the tasks of one device by kind.
struct DeviceWork {
  std::int64_t device = 0;
  IntervalSet compute;        ///< Kernels that are not communication.
  IntervalSet communication;  ///< Kernels of a collective library, by the rules file.
  IntervalSet memory;         ///< Copies and sets.
  IntervalSet busy;           ///< All of them.
};

/// One row per device that ran a task, in order of device number.
std::vector<DeviceWork> CollectDeviceWork(const TraceStore& store, NameFacts& names);

/// When any task runs that the process launched, on any device; none: any process.
IntervalSet FindBusyTime(const TraceStore& store, ProcessId process);

/// The definitions of `gpu_time[]` in docs/report.md.
std::vector<GpuTimeRow> ComputeGpuTime(const TraceStore& store,
                                       const std::vector<DeviceWork>& work);

/// The definitions of `idle[]` in docs/report.md; rows by device and stream number.
std::vector<IdleRow> ComputeIdle(const TraceStore& store);

}  // namespace headroom
