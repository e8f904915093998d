// Ranges that a user marked, by name: their time on the host and on the GPU.
#pragma once

#include <vector>

#include "analysis/names/attribution.h"
#include "analysis/names/name_facts.h"
#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

/// Returns true if the event is a range that a user marked, not a framework's range and not a
/// layer. Steps recorded as ranges also count.
bool IsRegion(const TraceStore& store, NameFacts& names, HostEventId event);

/// Returns one row per name, largest total first, for annotations of category `region` or
/// `user_annotation`. Excludes steps, ranges of frameworks, and layers, which have a separate
/// table.
///
/// `gpu` is the time that GPU events measured for ranges of that name (category `gpu_region`).
/// Without these it is the union of the GPU tasks launched inside, on the thread of the range.
/// Launches by the autograd engine's threads, and by threads without ranges, count for the loop's
/// thread.
std::vector<RegionRow> RegionTable(const TraceStore& store, NameFacts& names,
                                   const Attribution& attribution);

}  // namespace headroom
