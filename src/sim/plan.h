// What a replay needs of a graph, as flat arrays: which moment waits for which, durations and lags.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/graph.h"

namespace headroom {

/// How a channel that is free chooses among the tasks that are ready for it.
enum class Policy : std::uint8_t {
  kFifo,      ///< The one that was ready first.
  kPriority,  ///< The one of the lowest number; of equals, the one that was ready first.
};

/// Which moment waits for which: what all plans of a graph share.
struct PlanShape {
  std::vector<std::uint32_t> edge_begin;  ///< By task, and one past the end.
  std::vector<std::int64_t> from;         ///< By edge: its moment, less one cycle for each back.
  std::vector<std::uint8_t> gpu;          ///< By task: 1 for GPU tasks.
  std::vector<std::int32_t> step;         ///< By task; -1: none.
  std::int32_t steps = 1;
  std::int32_t most_cycles_back = 0;
  bool periodic = true;  ///< Else one pass from nothing is all that there is to replay.
  /// Resources whose tasks compete: each runs one at a time, and once begun, a task is not broken
  /// off. None: the schedule is the longest path. Else an event loop decides (sim/event_loop.h).
  std::vector<Policy> channels;
  std::vector<std::int32_t> channel;   ///< By task; kNoChannel: none. Empty without channels.
  std::vector<std::int32_t> priority;  ///< By task, as Policy::kPriority reads it; likewise.
};

inline constexpr std::int32_t kNoChannel = -1;

/// What a replay needs of a graph, and no more: flat arrays that one pass streams through. A copy
/// shares the shape, so an edit of durations and lags costs two arrays.
struct Plan {
  std::shared_ptr<const PlanShape> shape;
  std::vector<std::int64_t> duration;  ///< ns, by task.
  std::vector<std::int64_t> lag;       ///< ns, by edge; kNoEdge: the edge does not hold.

  std::size_t tasks() const { return duration.size(); }
};

/// The lag of an edge that holds nothing back.
inline constexpr std::int64_t kNoEdge = INT64_MIN / 8;

/// The plan that replays the graph as recorded.
Plan MakePlan(const Graph& graph);

}  // namespace headroom
