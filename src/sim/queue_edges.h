// After an edit, updates the task for which each launch waits when the launch queue is full.
#pragma once

#include "sim/edit.h"

namespace headroom {

/// Recounts queue places after tasks of a stream were removed or inserted. A launch waits until the
/// task a fixed number of places earlier has started, so fewer launches fill the queue later.
/// Removed and inserted launches do not wait; the next recorded launch does. Returns false if no
/// valid order remains because a task waits for itself.
bool RecountQueues(const Graph& graph, EditedPlan& edited);

}  // namespace headroom
