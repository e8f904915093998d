// Finds the ranges with the most self time among those that a program marked in a step, outside the
// phases of training.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/names/attribution.h"
#include "analysis/names/name_facts.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

struct OwnTime {
  StringId name;
  DurationNs own;  ///< Self time: without other ranges and operators inside.
  std::int64_t count = 0;
};

/// Considers the regions (IsRegion) of a thread that have no phase. Returns the names with their
/// self time within `span`, the longest first.
std::vector<OwnTime> RegionsByOwnTime(const TraceStore& store, NameFacts& names,
                                      const Attribution& attribution, ThreadId thread,
                                      Interval span);

}  // namespace headroom
