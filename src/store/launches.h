// Joins GPU tasks to the calls that launched them.
#pragma once

#include "base/ids.h"
#include "base/page_buffer.h"

namespace headroom {

class TraceStore;

/// Returns the call that launched each GPU task, or none: the outermost runtime or driver call with
/// the task's correlation id.
///
/// Ids can repeat. Within a process, the launch is the last call that began before the task, or the
/// first call if all began later. Calls of several processes can share the id, when one file holds
/// several ranks that each count from 1. Then the calls of the process that owns the task's stream
/// take precedence.
///
/// A process owns a stream or device if it made at least nine tenths of the unambiguous launches
/// there. A launch is unambiguous if all calls with its id that began before the task belong to one
/// process. Two ranks that both call their GPU device 0 and use the same stream number share a
/// stream in the file. Such a stream has no owner, and only the times decide.
///
/// REQUIRES: host events and GPU tasks are frozen. O(n log n).
PageBuffer<HostEventId> JoinLaunches(const TraceStore& store);

}  // namespace headroom
