// Matrix products and convolutions that could run on tensor cores, and their times there.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "cost/operator_call.h"
#include "sim/edit.h"
#include "whatif/job/job.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

DType TypeOf(Precision precision);

/// Products and convolutions, with their GPU tasks in order.
using Products = std::map<HostEventId, std::vector<TaskIndex>>;

/// Returns the matrix products and convolutions of float32 operands, on tensor cores (TF32) or not.
Products ProductsOfFloat32(const Job& job);

/// Returns those that run without tensor cores.
Products Float32Products(const Job& job);

/// Returns the effect of a change that finds no product to move to tensor cores: they already run
/// there (TF32, or a type of 8 or 16 bits), the job has none, or their shapes are unknown.
///
/// @param nothing  the reason if products exist, but the change applies to none
Effect NoProducts(const Job& job, std::string_view nothing);

/// Returns the effect of amp on a job whose products already run in 8 or 16 bits, but for a
/// negligible share of their time; nullopt for other jobs.
std::optional<Effect> AlreadyIn16Bits(const Job& job);

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
