// Matrix products and convolutions that could run on tensor cores, and their times there.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "cost/operator_call.h"
#include "sim/edit.h"
#include "whatif/job/job.h"

namespace headroom {

DType TypeOf(Precision precision);

/// Returns the GPU tasks, in order, of each float32 matrix product or convolution without tensor
/// cores.
std::map<HostEventId, std::vector<TaskIndex>> Float32Products(const Job& job);

/// Sets the total time of an operator's tasks to their time on tensor cores in a type. Returns
/// false if that time is unknown, or if TF32 would not be faster. Also returns false for
/// convolutions with few channels, which run without tensor cores. In 16 bits, their times still
/// shrink.
bool MoveToTensorCores(const Job& job, HostEventId op, const std::vector<TaskIndex>& tasks,
                       DType dtype, Edit& edit);

/// Returns the additional host time of an operator on tensor cores: the library queries the driver
/// more often before the launch.
DurationNs AddedHostTime(const Job& job, HostEventId op, TaskIndex first_task, DType dtype);

}  // namespace headroom
