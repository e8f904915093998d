// Which tasks wait for tasks of other streams.
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

/// Waits between streams, by `after`. Where the profiler recorded which event a stream waits for,
/// those; else from the order of calls: behind a wait for an event, the last task of each other
/// stream launched before the chain's latest event record comes before the first task that the
/// chain launches on a stream, for as many streams as there were waits. Waits that the recorded
/// times contradict are dropped and counted.
///
/// @param tasks  those of the job, in order of launch
std::vector<StreamWait> FindStreamWaits(const TraceStore& store,
                                        const std::vector<HostChain>& chains,
                                        const std::vector<GpuTaskId>& tasks, std::int64_t& dropped);

}  // namespace headroom
