// Calls that wait for the GPU, priced by the GPU idle that they cause.
#pragma once

#include <vector>

#include "analysis/attribution.h"
#include "analysis/report.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// One blocking call with its price.
struct PricedSync {
  HostEventId call;
  Interval gpu_idle;  ///< From the moment the GPU ran dry inside the call to the first task
                      ///< launched after it; may be empty.
};

/// Every blocking call: explicit synchronizations, synchronous copies, and asynchronous copies that
/// outlast their own GPU copy (pageable memory). A call at the end of the trace, after which
/// nothing is launched, costs nothing. In order of start.
std::vector<PricedSync> PriceSyncs(const TraceStore& store, NameFacts& names,
                                   const IntervalSet& gpu_busy);

/// The calls by name and place, dearest first; free ones are left out.
std::vector<SyncRow> SyncTable(const TraceStore& store, const Attribution& attribution,
                               const std::vector<PricedSync>& syncs);

}  // namespace headroom
