// The order of an edited plan's tasks.
#pragma once

#include "sim/edit.h"

namespace headroom {

/// Numbers the tasks of a plan in topological order; of those that may come next, the one with the
/// lowest number goes first.
void PutInOrder(EditedPlan& edited);

}  // namespace headroom
