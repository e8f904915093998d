// Computes start times of nodes for which a file has only durations and dependencies.
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
  /// The resource that runs one node at a time: a thread or a stream. The caller chooses the
  /// numbers.
  std::uint32_t resource = 0;
  bool has_time = false;
};

/// Starts each node once all its dependencies have ended and its resource is free. If several are
/// ready, takes the node whose dependencies ended first, then the lowest index. Sets `start` and
/// `has_time`.
///
/// Nodes in a dependency cycle, and nodes that depend on one, get no time. The same applies to
/// nodes that would end after INT64_MAX / 4 ns.
///
/// Requires that `deps` are indexes of nodes and durations are not negative. O((n + deps) log n).
void ScheduleNodes(std::vector<ScheduledNode>& nodes, std::span<const std::uint32_t> deps);

}  // namespace headroom::chakra
