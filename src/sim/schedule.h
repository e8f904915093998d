// Replays a graph: when every moment comes, with durations and lags that an edit may have changed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/time.h"
#include "graph/graph.h"

namespace headroom {

/// Which moment waits for which: what all plans of a graph share.
struct PlanShape {
  std::vector<std::uint32_t> edge_begin;  ///< By task, and one past the end.
  std::vector<std::int64_t> from;         ///< By edge: its moment, less one cycle for each back.
  std::vector<std::uint8_t> gpu;          ///< By task: 1 for GPU tasks.
  std::vector<std::int32_t> step;         ///< By task; -1: none.
  std::int32_t steps = 1;
  std::int32_t most_cycles_back = 0;
  bool periodic = true;  ///< Else one pass from nothing is all that there is to replay.
};

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

/// The times of one or more cycles.
struct Replayed {
  double step_ns = 0;  ///< Steady state: time a step takes.
  std::vector<double>
      step_walls_ns;    ///< Of the last cycle, by step; a step ends where its GPU work does.
  bool settled = true;  ///< Successive cycles took the same time.
};

/// Replays a plan over and over, one cycle after the other, in memory that is kept between calls.
class Replayer {
 public:
  /// Cycles until two in a row differ by less than 0.02 %, at most `kMostCycles`. Of a plan that is
  /// not periodic one, from its first moment to its last work.
  Replayed Run(const Plan& plan);

  /// One cycle from nothing: nothing of an earlier cycle holds anything back. Moments by number, in
  /// ns.
  std::span<const std::int64_t> RunOnce(const Plan& plan);

  static constexpr int kMostCycles = 12;
  static constexpr double kSettled = 2e-4;
  static constexpr int kFirstToSettle = 3;  ///< The cycles before it fill the queues.

  /// Of the last run: cycles replayed, and the moments of one (negative: before the first, never).
  int cycles() const { return cycles_; }
  const std::int64_t* Cycle(const Plan& plan, int cycle) const;

 private:
  void Prepare(const Plan& plan, int cycles);
  void RunCycle(const Plan& plan, int cycle);

  int cycles_ = 0;

  std::vector<std::int64_t> moments_;
};

}  // namespace headroom
