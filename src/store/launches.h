// Joins GPU tasks to the calls that launched them.
#pragma once

#include "base/ids.h"
#include "base/page_buffer.h"

namespace headroom {

class TraceStore;

/// The call that launched each GPU task, or none: the outermost runtime or driver call with the
/// task's correlation id.
///
/// Ids can repeat. Within a process, the launch is the call that began last before the task, or the
/// first one where all began after it. Where calls of several processes share the id (several ranks
/// in one file, each counting from 1), those of the process that owns the task's stream are
/// preferred. A process owns a stream, or a device, if it launched at least nine tenths of the
/// tasks there whose launch is beyond doubt: all calls with their id that began before them are of
/// one process. Two ranks that both call their GPU device 0 and use the same stream number share a
/// stream as the file has it: nobody owns that, and time alone decides.
///
/// REQUIRES: host events and GPU tasks are frozen. O(n log n).
PageBuffer<HostEventId> JoinLaunches(const TraceStore& store);

}  // namespace headroom
