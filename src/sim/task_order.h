// Sorts the tasks of an edited plan.
#pragma once

#include "sim/edit.h"

namespace headroom {

/// Numbers the tasks of a plan in topological order. Among the possible next tasks, the lowest
/// number goes first. Returns false and leaves the plan unchanged if there is no such order.
bool PutInOrder(EditedPlan& edited);

}  // namespace headroom
