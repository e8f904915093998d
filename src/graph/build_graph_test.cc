#include "graph/build_graph.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "analysis/test_trace.h"

namespace headroom {
namespace build_graph_test {

/// Returns the graph of a trace that has one.
Graph GraphOf(const StoreBuilder& builder) {
  TestTrace trace(builder);
  Result<StepAnalysis> steps = AnalyzeSteps(*trace.store, trace.names, {});
  EXPECT_TRUE(steps.ok()) << steps.status().message();
  Result<Graph> graph = BuildGraph(*trace.store, trace.names, steps.value());
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? std::move(graph).value() : Graph();
}

/// Returns the edges of a kind, with the tasks that they lead to.
std::vector<std::pair<Edge, TaskIndex>> EdgesOf(const Graph& graph, EdgeKind kind) {
  std::vector<std::pair<Edge, TaskIndex>> edges;
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    for (std::uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
      if (graph.edges[e].kind == kind) edges.emplace_back(graph.edges[e], task);
    }
  }
  return edges;
}

/// Returns a trace of two steps with two kernels each.
StoreBuilder TwoSteps() {
  StoreBuilder b;
  for (int step = 0; step < 2; ++step) {
    const int t = 100 * step;
    b.Step(step, kMain, t, 100);
    b.Launch("aten::mm", kMain, t + 10, kGemm, kStream, t + 20, 30);
    b.Launch("aten::add", kMain, t + 20, kAdd, kStream, t + 52, 10);
  }
  return b;
}

TEST(BuildGraphTest, CallsTasksAndTheirEdges) {
  const Graph graph = GraphOf(TwoSteps());
  EXPECT_EQ(graph.tasks.size(), 8u);
  EXPECT_EQ(graph.steps, 2);
  EXPECT_TRUE(graph.periodic);
  EXPECT_EQ(EdgesOf(graph, EdgeKind::kHost).size(), 4u);
  EXPECT_EQ(EdgesOf(graph, EdgeKind::kStream).size(), 4u);
  EXPECT_EQ(EdgesOf(graph, EdgeKind::kLaunch).size(), 4u);
  // The first call and the first task follow the last ones of the previous cycle.
  int around = 0;
  for (const Edge& edge : graph.edges) around += edge.cycles_back;
  EXPECT_EQ(around, 2);
}

/// Returns the calls after a wait of 100 us whose work counts as slow.
std::vector<std::size_t> SlowWork(std::int64_t python_us) {
  StoreBuilder b;
  for (int step = 0; step < 2; ++step) {
    const std::int64_t t = 2000 * step;
    b.Step(step, kMain, t, 2000);
    b.Launch("aten::mm", kMain, t + 10, kGemm, kStream, t + 20, 90);
    b.Call("cudaStreamSynchronize", kMain, t + 15, 100);
    b.Annotation("push_metrics", kMain, t + 120, python_us);
    b.Launch("aten::add", kMain, t + 121 + python_us, kAdd, kStream, t + 131 + python_us, 10);
    b.Launch("aten::add", kMain, t + 150 + python_us, kAdd, kStream, t + 160 + python_us, 10);
  }
  const Graph graph = GraphOf(b);
  std::vector<std::size_t> slow;
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    if (graph.tasks[task].step == 0 && graph.tasks[task].slow_work) slow.push_back(task);
  }
  return slow;
}

TEST(BuildGraphTest, WorkBehindALongWaitIsSlowButNotPython) {
  const std::vector<std::size_t> short_python = SlowWork(20), long_python = SlowWork(300);
  ASSERT_EQ(short_python.size(), 2u);
  ASSERT_EQ(long_python.size(), 1u);
  EXPECT_EQ(long_python[0], short_python[1]) << "behind the range";
}

TEST(BuildGraphTest, EveryTaskComesAfterWhatItWaitsFor) {
  const Graph graph = GraphOf(TwoSteps());
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    for (std::uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
      if (graph.edges[e].cycles_back == 0) {
        EXPECT_LT(graph.edges[e].from, task);
      }
    }
  }
}

TEST(BuildGraphTest, WhatLetATaskGoLastKeepsItsLag) {
  const Graph graph = GraphOf(TwoSteps());
  // The second kernel of each step was queued behind the first, which ended 2 us earlier.
  std::vector<DurationNs> lags;
  for (const auto& [edge, task] : EdgesOf(graph, EdgeKind::kStream)) {
    if (edge.cycles_back == 0 && graph.tasks[edge.from].step == graph.tasks[task].step)
      lags.push_back(edge.lag);
  }
  EXPECT_EQ(lags, (std::vector<DurationNs>{Us(2), Us(2)}));
}

TEST(BuildGraphTest, ABlockingCallIsNotItsWait) {
  StoreBuilder b = TwoSteps();
  b.Call("cudaStreamSynchronize", kMain, 30, 40);  // The second kernel ends at 62.
  b.Call("cudaStreamSynchronize", kMain, 130, 40);
  const Graph graph = GraphOf(b);
  const auto syncs = EdgesOf(graph, EdgeKind::kSync);
  ASSERT_EQ(syncs.size(), 2u);
  for (const auto& [edge, task] : syncs) {
    EXPECT_EQ(graph.tasks[task].kind, TaskKind::kReturn);
    EXPECT_EQ(edge.lag, Us(8));
  }
  for (const Task& task : graph.tasks) {
    if (task.kind == TaskKind::kCall) {
      EXPECT_LE(task.duration, Us(2));
    }
  }
  EXPECT_EQ(graph.ledger.waits, Us(76));
}

TEST(BuildGraphTest, AStreamThatWaitsForAnEventFollowsTheOtherStream) {
  StoreBuilder b = TwoSteps();
  for (int step = 0; step < 2; ++step) {
    const int t = 100 * step;
    b.Call("cudaEventRecord", kMain, t + 30, 1);
    b.Call("cudaStreamWaitEvent", kMain, t + 32, 1);
    b.Launch("aten::sum", kMain, t + 35, kAdd, kSideStream, t + 64, 5);
  }
  const auto waits = EdgesOf(GraphOf(b), EdgeKind::kCrossStream);
  ASSERT_EQ(waits.size(), 2u);
  for (const auto& [edge, task] : waits) {
    EXPECT_EQ(edge.provenance, Provenance::kInferred);
    EXPECT_EQ(edge.lag, Us(2));  // The other stream's kernel ended at 62.
  }
}

TEST(BuildGraphTest, AWaitThatTheTimesContradictIsDropped) {
  StoreBuilder b = TwoSteps();
  b.Call("cudaEventRecord", kMain, 30, 1);
  b.Call("cudaStreamWaitEvent", kMain, 32, 1);
  // This kernel is launched before the other stream finishes.
  b.Launch("aten::sum", kMain, 35, kAdd, kSideStream, 45, 5);
  const Graph graph = GraphOf(b);
  EXPECT_TRUE(EdgesOf(graph, EdgeKind::kCrossStream).empty());
  EXPECT_GT(graph.ledger.dropped_edges, 0);
}

TEST(BuildGraphTest, ALateTaskWaitedForTheStreamThatEndedJustBefore) {
  StoreBuilder b = TwoSteps();
  for (int step = 0; step < 2; ++step) {
    const int t = 100 * step;
    // This kernel is launched at 15 us on an idle stream. It starts 49 us later, 2 us after the
    // other stream's kernel ends.
    b.Launch("aten::sum", kMain, t + 15, kAdd, kSideStream, t + 64, 5);
  }
  const auto waits = EdgesOf(GraphOf(b), EdgeKind::kCrossStream);
  ASSERT_EQ(waits.size(), 2u);
  for (const auto& [edge, task] : waits) {
    EXPECT_EQ(edge.provenance, Provenance::kInferred);
    EXPECT_EQ(edge.lag, Us(2));
  }
}

TEST(BuildGraphTest, AVeryLateTaskWaitedForWhatEndedLastInTheMeantime) {
  StoreBuilder b;
  for (int step = 0; step < 2; ++step) {
    const int t = 10'000 * step;
    b.Step(step, kMain, t, 10'000);
    b.Launch("aten::mm", kMain, t + 10, kGemm, kStream, t + 20, 3'000);
    // Starts 3 ms after the other stream's kernel ends, which no launch takes.
    b.Launch("aten::sum", kMain, t + 100, kAdd, kSideStream, t + 6'020, 5);
  }
  const auto waits = EdgesOf(GraphOf(b), EdgeKind::kCrossStream);
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[0].first.lag, Us(3'000));
  EXPECT_EQ(waits[0].first.provenance, Provenance::kInferred);
}

TEST(BuildGraphTest, ALateTaskThatNothingEndedBeforeStaysUnexplained) {
  StoreBuilder b = TwoSteps();
  for (int step = 0; step < 2; ++step)
    b.Launch("aten::sum", kMain, 100 * step + 15, kAdd, kSideStream, 100 * step + 90, 5);
  const Graph graph = GraphOf(b);
  EXPECT_TRUE(EdgesOf(graph, EdgeKind::kCrossStream).empty());
}

TEST(BuildGraphTest, ACallAtTheMomentOfAReturnFollowsIt) {
  // Such ties occur in traces with whole microseconds.
  StoreBuilder b;
  for (int step = 0; step < 2; ++step) {
    const int t = 100 * step;
    b.Step(step, kMain, t, 100);
    b.Call("cudaLaunchKernel", kMain, t + 10, 5, step);
    b.Kernel(kGemm, kStream, t + 20, 30, step);
    b.Call("cudaDeviceSynchronize", kMain, t + 15, 40);
    b.Call("cudaEventRecord", kMain, t + 55, 5);
  }
  const Graph graph = GraphOf(b);
  EXPECT_EQ(graph.ledger.dropped_edges, 0);
  EXPECT_EQ(EdgesOf(graph, EdgeKind::kHost).size(), 8u) << "with one to each return";
}

TEST(BuildGraphTest, OneStepIsNoCycle) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 100);
  b.Launch("aten::mm", kMain, 10, kGemm, kStream, 20, 30);
  const Graph graph = GraphOf(b);
  EXPECT_FALSE(graph.periodic);
  EXPECT_EQ(graph.recorded_step, Us(50 - 10));
}

TEST(BuildGraphTest, WithoutLaunchesThereIsNothingToReplay) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 100);
  b.Kernel(kGemm, kStream, 20, 30);
  TestTrace trace(b);
  Result<StepAnalysis> steps = AnalyzeSteps(*trace.store, trace.names, {});
  ASSERT_TRUE(steps.ok());
  const Result<Graph> graph = BuildGraph(*trace.store, trace.names, steps.value());
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().code(), StatusCode::kNoAnswer);
}

}  // namespace build_graph_test
}  // namespace headroom
