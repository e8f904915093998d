// Kernels that a scenario adds around recorded ones, and their costs.
#pragma once

#include "sim/edit.h"
#include "whatif/job/job.h"

namespace headroom {

/// Duration of a kernel without work, in ns. Measured on one H200.
inline constexpr double kKernelStart = 1'200;

/// Returns the duration of a memory-bound kernel with `ratio` times the work: all but its start
/// grows.
DurationNs WithWork(DurationNs duration, double ratio);

/// Returns the duration of a kernel that only moves bytes: a start, and the bytes at the sustained
/// bandwidth. REQUIRES: the device's memory bandwidth is known.
DurationNs MemoryPassTime(double bytes, const DeviceSpec& device);

/// Returns the task before which a kernel must be inserted to run after `task` on its stream.
/// Returns kNoTask if no task follows, or if the next task's launch was not recorded.
TaskIndex NextOnStream(const Job& job, TaskIndex task);

/// Returns a kernel before a recorded one, with its own launch. Its host time is that of a cast by
/// autocast: an operator that launches one kernel. REQUIRES: the recorded kernel's launch is known.
Edit::NewKernel KernelBefore(const Job& job, TaskIndex task, DurationNs duration);

}  // namespace headroom
