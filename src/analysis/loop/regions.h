// Ranges that somebody marked, by name: how long they take on the host and on the GPU.
#pragma once

#include <vector>

#include "analysis/names/attribution.h"
#include "analysis/names/name_facts.h"
#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

/// Whether an event is a range that somebody marked: none that a framework draws by itself, and no
/// layer. Steps are such, too, where they are drawn.
bool IsRegion(const TraceStore& store, NameFacts& names, HostEventId event);

/// One row a name, largest total first, of the annotations of category `region` or
/// `user_annotation`; without steps, what frameworks draw by themselves, and layers, which have a
/// table of their own.
///
/// `gpu` is the time that GPU events measured for ranges of that name (category `gpu_region`); else
/// the union of the GPU tasks launched inside, on the thread of the range. Threads of the autograd
/// engine, and those without ranges, work for the one that runs the loop, too.
std::vector<RegionRow> RegionTable(const TraceStore& store, NameFacts& names,
                                   const Attribution& attribution);

}  // namespace headroom
