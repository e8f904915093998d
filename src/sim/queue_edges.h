// After an edit, updates the task for which each launch waits when the launch queue is full.
#pragma once

#include "sim/edit.h"

namespace headroom {

/// Recounts queue places after tasks of a stream were removed or inserted. A launch waits for the
/// start of the task that is a fixed number of places earlier. With fewer launches, the queue
/// therefore fills later. Removed and inserted launches do not wait; the next recorded launch does.
/// Returns false if no valid order remains because a task waits for itself.
bool RecountQueues(const Graph& graph, EditedPlan& edited);

}  // namespace headroom
