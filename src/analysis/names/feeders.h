// Threads that prefetch batches for the loop.
#pragma once

#include <vector>

#include "analysis/names/name_facts.h"
#include "store/trace_store.h"

namespace headroom {

/// Returns, by thread, true if it asks a loader for batches while another thread of its process
/// runs the loop. The loop does not wait for such a fetch. It waits only when it has no batch, and
/// no range shows that.
///
/// The loop runs on the threads with marks of steps or iterations, an optimizer or a backward
/// range. Without these, it runs on the thread that launches the most kernels outside fetches.
std::vector<bool> FindFeeders(const TraceStore& store, NameFacts& names);

}  // namespace headroom
