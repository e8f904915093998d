#include "export/chakra_nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/test_trace.h"

namespace headroom {
namespace chakra_nodes_test {

ChakraNodes NodesOf(TestTrace& trace) {
  const Result<StepAnalysis> steps = AnalyzeSteps(*trace.store, trace.names, {});
  EXPECT_TRUE(steps.ok()) << steps.status().message();
  Result<ChakraNodes> nodes = MakeChakraNodes(*trace.store, trace.names, steps.value());
  EXPECT_TRUE(nodes.ok()) << nodes.status().message();
  return nodes.ok() ? std::move(nodes).value() : ChakraNodes();
}

/// Returns the last node with that name.
const ChakraNode& Named(const ChakraNodes& nodes, std::string_view name) {
  const auto found = std::find_if(nodes.nodes.rbegin(), nodes.nodes.rend(),
                                  [&](const ChakraNode& node) { return node.name == name; });
  EXPECT_NE(found, nodes.nodes.rend()) << name;
  return *found;
}

std::vector<std::string> DepNames(const ChakraNodes& nodes, const ChakraNode& node) {
  std::vector<std::string> names;
  for (const ChakraNodeIndex dep : nodes.DepsOf(node)) names.emplace_back(nodes.nodes[dep].name);
  std::sort(names.begin(), names.end());
  return names;
}

/// Expects that every node begins when its last dependency ends.
void ExpectTight(const ChakraNodes& nodes) {
  for (const ChakraNode& node : nodes.nodes) {
    std::int64_t free = 0;
    for (const ChakraNodeIndex dep : nodes.DepsOf(node))
      free = std::max(free, nodes.Micros(nodes.nodes[dep].end));
    EXPECT_EQ(nodes.Micros(node.start), free) << node.name;
  }
}

TEST(ChakraNodes, ATaskDependsOnItsLaunchAndItsStream) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 30);
  b.Launch("aten::add", kMain, 5, kAdd, kStream, 40, 5);
  TestTrace trace(b);
  const ChakraNodes nodes = NodesOf(trace);
  ExpectTight(nodes);
  EXPECT_EQ(DepNames(nodes, Named(nodes, kGemm)),
            (std::vector<std::string>{"(launch latency)", "cudaLaunchKernel"}));
  EXPECT_EQ(DepNames(nodes, Named(nodes, kAdd)),
            (std::vector<std::string>{kGemm, "cudaLaunchKernel"}));
  const ChakraNode& add = Named(nodes, kAdd);
  ASSERT_NE(add.caller, kNoChakraNode);
  const ChakraNode& launch = nodes.nodes[add.caller];
  ASSERT_NE(launch.caller, kNoChakraNode);
  EXPECT_EQ(nodes.nodes[launch.caller].name, "aten::add");
}

TEST(ChakraNodes, ALaunchThatReturnsAfterItsTaskBeganIsTwo) {
  StoreBuilder b;
  b.Op("aten::mm", kMain, 0, 30);
  b.Call("cudaLaunchKernel", kMain, 5, 20, 1);
  b.Kernel(kGemm, kStream, 12, 40, 1);
  TestTrace trace(b);
  const ChakraNodes nodes = NodesOf(trace);
  ExpectTight(nodes);
  EXPECT_EQ(DepNames(nodes, Named(nodes, kGemm)), (std::vector<std::string>{"cudaLaunchKernel"}));
  EXPECT_EQ(std::count_if(nodes.nodes.begin(), nodes.nodes.end(),
                          [](const ChakraNode& n) { return n.name == "cudaLaunchKernel"; }),
            2);
}

TEST(ChakraNodes, TasksThatOverlapOnAStreamDependOnWhatWasBefore) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 30);
  b.Launch("aten::add", kMain, 5, kAdd, kStream, 35, 20);  // Begins while the first kernel runs.
  TestTrace trace(b);
  const ChakraNodes nodes = NodesOf(trace);
  ExpectTight(nodes);
  EXPECT_GE(nodes.rerouted, 1);
}

TEST(ChakraNodes, WhatWasLaunchedBeforeTheRecordingIsANodeToo) {
  StoreBuilder b;
  b.Kernel("earlier", kStream, 0, 9);
  b.Kernel("on another stream", kSideStream, 9, 3);
  b.Launch("aten::mm", kMain, 2, kGemm, kStream, 12, 30);
  TestTrace trace(b);
  const ChakraNodes nodes = NodesOf(trace);
  ExpectTight(nodes);
  EXPECT_EQ(DepNames(nodes, Named(nodes, "on another stream")),
            (std::vector<std::string>{"earlier"}));
}

TEST(ChakraNodes, AnOperatorWithoutLengthIsANode) {
  StoreBuilder b;
  b.Op("aten::linear", kMain, 0, 10);
  b.Op("aten::addmm", kMain, 0, 10);
  b.Call("cudaLaunchKernel", kMain, 0, 10, 1);
  b.Kernel(kGemm, kStream, 12, 40, 1);
  TestTrace trace(b);
  const ChakraNodes nodes = NodesOf(trace);
  EXPECT_EQ(Named(nodes, "aten::linear").start, Named(nodes, "aten::linear").end);
  EXPECT_EQ(nodes.nodes[Named(nodes, "aten::addmm").caller].name, "aten::linear");
}

TEST(ChakraNodes, WithoutALaunchThereIsNothing) {
  StoreBuilder b;
  b.Op("aten::mm", kMain, 0, 10);
  TestTrace trace(b);
  const Result<ChakraNodes> nodes = MakeChakraNodes(*trace.store, trace.names, StepAnalysis());
  ASSERT_FALSE(nodes.ok());
  EXPECT_EQ(nodes.status().code(), StatusCode::kNoAnswer);
}

}  // namespace chakra_nodes_test
}  // namespace headroom
