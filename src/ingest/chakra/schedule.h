// When nodes of work run that a file gives lengths and dependencies alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"

namespace headroom::chakra {

struct ScheduledNode {
  TimeNs start;
  DurationNs duration;
  std::uint32_t deps_begin = 0, deps_end = 0;
  /// What runs one node at a time: a thread, a stream. Numbers are of the caller's choice.
  std::uint32_t resource = 0;
  bool has_time = false;
};

/// Starts each node as soon as all that it depends on has ended and its resource is free; of
/// several that could begin, the one that could first, ties in order of index. Sets `start` and
/// `has_time`. What depends on itself, over others too, and what depends on such a node, gets no
/// time, and so does what would end later than a quarter of the range of times.
///
/// REQUIRES: `deps` are indexes of nodes; durations are not negative. O((n + deps) log n).
void ScheduleNodes(std::vector<ScheduledNode>& nodes, std::span<const std::uint32_t> deps);

}  // namespace headroom::chakra
