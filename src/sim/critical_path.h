// The chain of tasks and edges that determines how long a replayed step takes.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "sim/schedule.h"

namespace headroom {

inline constexpr std::uint32_t kNoCriticalEdge = 0xFFFFFFFFu;

/// One link: a task, and the edge that let it start.
struct CriticalLink {
  TaskIndex task = kNoTask;
  std::uint32_t edge = 0;     ///< Into the task; kNoCriticalEdge: its channel was busy until then.
  std::int64_t spent_ns = 0;  ///< Of the path, before the task's start: the edge's lag.
  std::int64_t ran_ns = 0;    ///< Of the task itself.
};

/// What sets the pace of a replay: the longest path into its end, of which one cycle's time before
/// the last cycle (of fewer than three cycles, the last one's), in order of time. The links add up
/// to the cycle's time. Ties go to the edge that comes first.
std::vector<CriticalLink> FindCriticalPath(const Plan& plan, const Replayer& replayer);

}  // namespace headroom
