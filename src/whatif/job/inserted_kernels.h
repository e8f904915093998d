// Kernels that a scenario adds around recorded ones, and what they cost.
#pragma once

#include "sim/edit.h"
#include "whatif/job/job.h"

namespace headroom {

/// What a kernel of no work takes, measured on one H200; ns.
inline constexpr double kKernelStart = 1'200;

/// A kernel bound by memory that does `ratio` times the work: all but its start grows.
DurationNs WithWork(DurationNs duration, double ratio);

/// A kernel that only moves bytes: a start, and the bytes at the sustained bandwidth.
/// REQUIRES: the device's memory bandwidth is known.
DurationNs MemoryPassTime(double bytes, const DeviceSpec& device);

/// The task before which a kernel goes that is to run behind `task`, on its stream; kNoTask where
/// none follows there, or its launch was not recorded.
TaskIndex NextOnStream(const Job& job, TaskIndex task);

/// A kernel before a recorded one, with a launch of its own, which takes the host what autocast's
/// casts take: an operator that launches one kernel. REQUIRES: that one's launch is known.
Edit::NewKernel KernelBefore(const Job& job, TaskIndex task, DurationNs duration);

}  // namespace headroom
