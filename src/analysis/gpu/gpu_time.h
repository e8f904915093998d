// Breakdown of GPU time by kind of work, and the reasons for idle time.
#pragma once

#include <vector>

#include "analysis/names/name_facts.h"
#include "analysis/values/report.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Times in which one device runs tasks, by kind of task.
struct DeviceWork {
  std::int64_t device = 0;
  IntervalSet compute;        ///< Kernels except communication kernels.
  IntervalSet communication;  ///< Kernels of a collective library, as the rules file defines them.
  IntervalSet memory;         ///< Copies and memsets.
  IntervalSet busy;           ///< All tasks.
};

/// Returns one row per device that ran a task, in order of device number.
std::vector<DeviceWork> CollectDeviceWork(const TraceStore& store, NameFacts& names);

/// Returns the times at which any task of the process runs, on any device. None() stands for all
/// processes.
IntervalSet FindBusyTime(const TraceStore& store, ProcessId process);

/// Computes `gpu_time[]` as docs/report.md defines it.
std::vector<GpuTimeRow> ComputeGpuTime(const TraceStore& store,
                                       const std::vector<DeviceWork>& work);

/// Computes `idle[]` as docs/report.md defines it; rows by device and stream number.
std::vector<IdleRow> ComputeIdle(const TraceStore& store);

}  // namespace headroom
