// Which launch waits for which task to leave the launch queue, after an edit.
#pragma once

#include "sim/edit.h"

namespace headroom {

/// A launch waits until a task so many places before its own has started. Counts the places anew
/// where tasks of the stream were removed or inserted in between: fewer launches fill the queue
/// later. Removed launches wait for no place. Launches that were inserted wait for none either: the
/// next recorded one does. False where the tasks then have no order: something waits for itself.
bool RecountQueues(const Graph& graph, EditedPlan& edited);

}  // namespace headroom
