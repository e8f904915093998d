// The chain of tasks and edges that determines the length of a replayed step.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "sim/schedule.h"

namespace headroom {

inline constexpr std::uint32_t kNoCriticalEdge = 0xFFFFFFFFu;

/// One link: a task, and the edge that released it.
struct CriticalLink {
  TaskIndex task = kNoTask;
  /// Edge into the task; kNoCriticalEdge if the task's channel was busy until the task started.
  std::uint32_t edge = 0;
  std::int64_t spent_ns = 0;  ///< Time on the path before the task's start: the edge's lag.
  std::int64_t ran_ns = 0;    ///< Time of the task on the path.
};

/// Returns the critical path of a replay, in order of time: the longest path that leads to its end.
/// Covers the cycle before the last; with fewer than three cycles, the last cycle. The links sum to
/// the cycle's time. In a tie, the first edge wins.
std::vector<CriticalLink> FindCriticalPath(const Plan& plan, const Replayer& replayer);

}  // namespace headroom
