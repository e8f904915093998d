// The order of an edited plan's tasks.
#pragma once

#include "sim/edit.h"

namespace headroom {

/// Numbers the tasks of a plan in topological order; of those that may come next, the one with the
/// lowest number goes first. False, and the plan as it was, where there is no such order.
bool PutInOrder(EditedPlan& edited);

}  // namespace headroom
