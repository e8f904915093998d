// Finds the tasks that wait for tasks of other streams.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/host_chain.h"
#include "store/trace_store.h"

namespace headroom {

/// `after` starts no earlier than `before` ends.
struct StreamWait {
  GpuTaskId before, after;
  Provenance provenance = Provenance::kInferred;
};

/// Returns the waits between streams, by `after`. Uses the event that the profiler recorded for a
/// stream wait, if any. Otherwise infers waits from the order of calls in a chain: an event record,
/// a wait for the event, and a launch on another stream. The launched task then waits for the last
/// task of each other stream that was launched before the event record. If k calls wait for the
/// event, k streams wait.
///
/// Drops and counts waits that contradict the recorded times.
///
/// @param tasks  the tasks of the job, in order of launch
std::vector<StreamWait> FindStreamWaits(const TraceStore& store,
                                        const std::vector<HostChain>& chains,
                                        const std::vector<GpuTaskId>& tasks, std::int64_t& dropped);

}  // namespace headroom
