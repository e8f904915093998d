// Threads that fetch batches ahead for the loop.
#pragma once

#include <vector>

#include "analysis/names/name_facts.h"
#include "store/trace_store.h"

namespace headroom {

/// By thread: whether it asks a loader for batches while another thread of its process runs the
/// loop. The loop does not wait while such a thread fetches: it waits only where it has no batch,
/// and no range tells that. The loop runs on the threads with marks of steps or iterations, an
/// optimizer or a backward range; without such, on the one that launches the most kernels outside
/// of fetches.
std::vector<bool> FindFeeders(const TraceStore& store, NameFacts& names);

}  // namespace headroom
