// Products and convolutions that could run on tensor cores, and what they would take there.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "cost/operator_call.h"
#include "sim/edit.h"
#include "whatif/job/job.h"

namespace headroom {

/// GPU tasks, in order, of each operator that multiplies float32 matrices or convolves, and uses no
/// tensor cores.
std::map<HostEventId, std::vector<TaskIndex>> Float32Products(const Job& job);

/// Gives an operator's tasks the time that it takes on tensor cores in a type, all its parts
/// together. Returns false, and changes nothing, where its shapes do not tell.
bool MoveToTensorCores(const Job& job, HostEventId op, const std::vector<TaskIndex>& tasks,
                       DType dtype, Edit& edit);

/// What the host does more for such a call: the library asks the driver more before it launches.
DurationNs AddedHostTime(const Job& job, HostEventId op, TaskIndex first_task, DType dtype);

}  // namespace headroom
