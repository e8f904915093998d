// For tests of the replay: graphs, by hand and at random, and a slow reference replay.
#pragma once

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace headroom {

/// Adds a task with its edges; times in nanoseconds.
inline TaskIndex Add(Graph& graph, TaskKind kind, std::int64_t duration, std::vector<Edge> edges) {
  if (graph.edge_begin.empty()) graph.edge_begin.push_back(0);
  graph.steps = 1;
  graph.tasks.push_back({.kind = kind, .step = 0, .duration = DurationNs(duration)});
  graph.edges.insert(graph.edges.end(), edges.begin(), edges.end());
  graph.edge_begin.push_back(static_cast<std::uint32_t>(graph.edges.size()));
  return static_cast<TaskIndex>(graph.tasks.size() - 1);
}

inline Edge After(TaskIndex from, std::int64_t lag, EdgeKind kind, std::uint8_t back = 0) {
  return {.from = from,
          .from_end = kind != EdgeKind::kLaunch && kind != EdgeKind::kQueue,
          .cycles_back = back,
          .kind = kind,
          .lag = DurationNs(lag)};
}

/// Returns a graph with two launches and two kernels per cycle: call, 10 of work, call; kernels of
/// `kernel` each.
inline Graph TwoKernels(std::int64_t kernel) {
  Graph graph;
  Add(graph, TaskKind::kCall, 5, {After(1, 10, EdgeKind::kHost, 1)});
  Add(graph, TaskKind::kCall, 5, {After(0, 10, EdgeKind::kHost)});
  Add(graph, TaskKind::kGpu, kernel,
      {After(3, 2, EdgeKind::kStream, 1), After(0, 6, EdgeKind::kLaunch)});
  Add(graph, TaskKind::kGpu, kernel,
      {After(2, 2, EdgeKind::kStream), After(1, 6, EdgeKind::kLaunch)});
  return graph;
}

/// Returns a random graph with forward edges, and some edges to later cycles.
inline Graph RandomGraph() {
  Graph graph;
  const int tasks = *rc::gen::inRange(1, 12);
  for (int t = 0; t < tasks; ++t) {
    std::vector<Edge> edges;
    // Adds the edge of the task's track, so that every task follows another.
    edges.push_back(t == 0 ? After(static_cast<TaskIndex>(tasks - 1), *rc::gen::inRange(0, 20),
                                   EdgeKind::kStream, 1)
                           : After(static_cast<TaskIndex>(t - 1), *rc::gen::inRange(-3, 20),
                                   EdgeKind::kStream));
    for (int more = *rc::gen::inRange(0, 3); more > 0; --more) {
      const bool back = t == 0 || *rc::gen::arbitrary<bool>();
      const int from = back ? *rc::gen::inRange(0, tasks) : *rc::gen::inRange(0, t);
      edges.push_back(After(static_cast<TaskIndex>(from), *rc::gen::inRange(-10, 60),
                            *rc::gen::arbitrary<bool>() ? EdgeKind::kLaunch : EdgeKind::kSync,
                            back ? static_cast<std::uint8_t>(*rc::gen::inRange(1, 3)) : 0));
    }
    Add(graph, TaskKind::kGpu, *rc::gen::inRange(0, 50), edges);
  }
  return graph;
}

/// A slow reference: computes the longest path into a moment, backwards by recursion.
class LongestPath {
 public:
  explicit LongestPath(const Graph& graph) : graph_(graph) {}

  /// Delays the start of a task in one cycle by `ns`, in all later queries.
  void Delay(TaskIndex task, int cycle, std::int64_t ns) {
    known_.clear();
    late_[{task, cycle}] = ns;
  }

  std::int64_t Start(TaskIndex task, int cycle) {
    if (cycle < 0) return INT64_MIN / 4;
    const auto known = known_.find({task, cycle});
    if (known != known_.end()) return known->second;
    std::int64_t start = 0;
    for (std::uint32_t e = graph_.edge_begin[task]; e < graph_.edge_begin[task + 1]; ++e) {
      const Edge& edge = graph_.edges[e];
      std::int64_t from = Start(edge.from, cycle - edge.cycles_back);
      if (edge.from_end && cycle >= edge.cycles_back) from += graph_.tasks[edge.from].duration.ns();
      start = std::max(start, from + edge.lag.ns());
    }
    const auto late = late_.find({task, cycle});
    if (late != late_.end()) start += late->second;
    return known_[{task, cycle}] = start;
  }

 private:
  const Graph& graph_;
  std::map<std::pair<TaskIndex, int>, std::int64_t> known_, late_;
};

}  // namespace headroom
