// What a program itself marked in a step and that is no phase of training: which range holds most.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/names/attribution.h"
#include "analysis/names/name_facts.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

struct OwnTime {
  StringId name;
  DurationNs own;  ///< Without what is inside them: other ranges, and operators.
  std::int64_t count = 0;
};

/// Of the regions (IsRegion) of a thread whose phase is none, the name that has the most time of
/// its own within `span`; nullopt: there is none.
std::optional<OwnTime> DearestRegion(const TraceStore& store, NameFacts& names,
                                     const Attribution& attribution, ThreadId thread,
                                     Interval span);

}  // namespace headroom
