// Products and convolutions that could run on tensor cores, and what they would take there.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "cost/operator_call.h"
#include "whatif/job.h"

namespace headroom {

/// GPU tasks, in order, of each operator that multiplies float32 matrices or convolves, and uses no
/// tensor cores.
std::map<HostEventId, std::vector<TaskIndex>> Float32Products(const Job& job);

/// Time of an operator on tensor cores, all its parts together; nullopt where its shapes do not
/// tell.
std::optional<DurationNs> TimeOnTensorCores(const OperatorCall& call, DType dtype,
                                            const DeviceSpec& device);

/// What the host does more for such a call: the library asks the driver more before it launches.
DurationNs AddedHostTime(const Job& job, HostEventId op, TaskIndex first_task, DType dtype);

}  // namespace headroom
