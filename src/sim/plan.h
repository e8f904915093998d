// The data of a graph that a replay requires, as flat arrays: dependencies between moments,
// durations and lags.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/graph.h"

namespace headroom {

/// Order in which a free channel runs the tasks that are ready for it.
enum class Policy : std::uint8_t {
  kFifo,      ///< The task that was ready first.
  kPriority,  ///< The task with the lowest number; in a tie, the one that was ready first.
};

/// Dependencies between moments, which all plans of a graph share.
struct PlanShape {
  std::vector<std::uint32_t> edge_begin;  ///< By task, plus one entry for the end.
  /// By edge: its source moment, minus the moments of one cycle for each cycle back.
  std::vector<std::int64_t> from;
  std::vector<std::uint8_t> gpu;      ///< By task: 1 for GPU tasks.
  std::vector<std::int32_t> step;     ///< By task; -1: none.
  std::int32_t steps = 1;             ///< Steps per cycle.
  std::int32_t most_cycles_back = 0;  ///< Largest number of cycles that an edge reaches back.
  bool periodic = true;  ///< False if only a single pass from an idle start can be replayed.
  /// Policies of the channels, the resources for which tasks compete. Each channel runs one task at
  /// a time, without preemption. Without channels, the schedule is the longest path; otherwise an
  /// event loop decides (sim/event_loop.h).
  std::vector<Policy> channels;
  std::vector<std::int32_t> channel;   ///< By task; kNoChannel: none. Empty without channels.
  std::vector<std::int32_t> priority;  ///< By task, for Policy::kPriority; empty without channels.
};

inline constexpr std::int32_t kNoChannel = -1;

/// The minimum data for a replay, in flat arrays that one pass reads in order. Copies share the
/// shape, so an edit of durations and lags copies only two arrays.
struct Plan {
  std::shared_ptr<const PlanShape> shape;
  std::vector<std::int64_t> duration;  ///< In ns, by task.
  std::vector<std::int64_t> lag;       ///< In ns, by edge; kNoEdge disables the edge.

  std::size_t tasks() const { return duration.size(); }
};

/// The lag of an edge without effect.
inline constexpr std::int64_t kNoEdge = INT64_MIN / 8;

/// Returns the plan that replays the graph as recorded.
Plan MakePlan(const Graph& graph);

}  // namespace headroom
