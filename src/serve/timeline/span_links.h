// Links from a span to related spans: its launch, the work that it launched, the span around it,
// and its forward or backward pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "store/trace_store.h"

namespace headroom {

struct SpanLink {
  std::string_view relation;  ///< "launched by", "launches", "inside", "forward", "backward".
  bool on_gpu = false;        ///< True: `row` is a row of gpu_tasks; false: of host_events.
  std::uint32_t row = 0;
};

/// O(rows), without an index. Returns at most kMaxLinks per relation, the earliest.
std::vector<SpanLink> FindLinks(const TraceStore& store, HostEventId event);
std::vector<SpanLink> FindLinks(const TraceStore& store, GpuTaskId task);

inline constexpr std::size_t kMaxLinks = 100;

}  // namespace headroom
