#include "analysis/capture_join.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "analysis/analyzed_trace.h"
#include "analysis/tables/tables.h"
#include "analysis/test_trace.h"
#include "analysis/verdict/health.h"
#include "base/testing/growth.h"

namespace headroom {
namespace {

constexpr const char* kProduct = "aten::mm";
constexpr const char* kSum = "aten::add";
constexpr const char* kShapes =
    R"("Input Dims": [[8, 4], [4, 2]], "Input type": ["float", "float"])";
constexpr const char* kOtherShapes =
    R"("Input Dims": [[16, 4], [4, 2]], "Input type": ["float", "float"])";

/// Adds a capture of one product and one sum, in two layers, from `start`. With `names`, the
/// launches name their kernels, as HIP's do.
void AddCapture(StoreBuilder& b, std::int64_t start, bool names, const char* shapes = kShapes,
                const char* layer = "nn.Module: Linear_0") {
  const auto launch = [&](std::int64_t at, const char* kernel) {
    StoreBuilder::HostEvent& call =
        b.Call(names ? "hipLaunchKernel" : "cudaLaunchKernel", kMain, at, 1, 100 + at);
    if (names) call.Args("\"kernel\": \"" + std::string(kernel) + "\"");
  };
  b.Call("cudaStreamBeginCapture", kMain, start, 1);
  b.Frame(layer, kMain, start + 2, 16);
  b.Op(kProduct, kMain, start + 3, 6).Args(shapes);
  launch(start + 4, kGemm);
  b.Op(kSum, kMain, start + 10, 6);
  launch(start + 11, kAdd);
  b.Call("cudaStreamEndCapture", kMain, start + 20, 1);
}

/// Adds a graph launch that runs the product for 30 us and the sum for 10 us.
void AddReplay(StoreBuilder& b, std::int64_t start, std::int64_t correlation) {
  b.Call("cudaGraphLaunch", kMain, start, 10, correlation);
  b.Kernel(kGemm, kStream, start + 12, 30, correlation);
  b.Kernel(kAdd, kStream, start + 42, 10, correlation);
}

struct Analyses {
  explicit Analyses(const TraceStore& store)
      : names(store, TestReferenceData()), costs(store), attribution(store, names, costs) {}

  NameFacts names;
  OperatorCosts costs;
  Attribution attribution;
};

/// Returns "operator, layer" for each GPU task.
std::vector<std::string> RanBy(const TraceStore& store) {
  Analyses of(store);
  std::vector<std::string> out;
  const auto text = [&](HostEventId event) {
    return event.valid() ? std::string(store.Text(store.host_events.name[event.index()])) : "none";
  };
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i) {
    const HostContext& context = of.attribution.Of(GpuTaskId(i));
    out.push_back(text(context.op) + ", " + text(context.layer));
  }
  return out;
}

using Strings = std::vector<std::string>;

TEST(CaptureJoin, ATraceThatHoldsItsCaptureNeedsNoOther) {
  for (const bool names : {true, false}) {
    StoreBuilder b;
    AddCapture(b, 0, names);
    AddReplay(b, 100, 1);
    AddReplay(b, 200, 2);
    const auto store = b.Build();
    const CaptureJoin join = JoinCaptures(*store, TestReferenceData());
    EXPECT_EQ(join.launches, 2);
    EXPECT_EQ(join.joined_launches, 2);
    EXPECT_EQ(join.tasks, 4);
    EXPECT_EQ(join.joined_tasks, 4);
    EXPECT_EQ(RanBy(*store),
              (Strings{"aten::mm, nn.Module: Linear_0", "aten::add, nn.Module: Linear_0",
                       "aten::mm, nn.Module: Linear_0", "aten::add, nn.Module: Linear_0"}));
  }
}

TEST(CaptureJoin, ATraceWithoutGraphsIsLeftAsItIs) {
  StoreBuilder b, of_capture;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 20);
  AddCapture(of_capture, 0, true);
  const auto store = b.Build(), capture = of_capture.Build();
  const std::size_t events = store->host_events.rows();
  const CaptureTrace traces[] = {{capture.get(), std::nullopt}};
  EXPECT_EQ(JoinCaptures(*store, TestReferenceData(), traces).launches, 0);
  EXPECT_EQ(store->host_events.rows(), events);
  EXPECT_FALSE(store->replay_thread().valid());
}

TEST(CaptureJoin, EachReplayCallsTheOperatorsOnceAndTakesNoTimeOfTheHost) {
  StoreBuilder b, of_capture;
  AddReplay(b, 100, 1);
  AddReplay(b, 200, 2);
  AddCapture(of_capture, 0, true);
  const auto store = b.Build(), capture = of_capture.Build();
  const CaptureTrace traces[] = {{capture.get(), std::nullopt}};
  JoinCaptures(*store, TestReferenceData(), traces);
  Analyses of(*store);
  const std::vector<CostedCall> work =
      CollectCostedWork(*store, of.names, of.attribution, of.costs, nullptr);
  const std::vector<TimeRow> rows = OperatorTable(*store, of.attribution, work);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, kProduct);
  EXPECT_EQ(rows[0].count, 2);
  EXPECT_EQ(rows[0].total, Us(60));
  EXPECT_EQ(rows[0].host, Us(0));
  EXPECT_EQ(rows[0].flops, 2 * 2.0 * 8 * 4 * 2);  // Sum of both replays.
  EXPECT_EQ(rows[1].total, Us(20));
}

TEST(CaptureJoin, StepsAndVerdictAreTheSameWithACaptureAsWithout) {
  StoreBuilder b, of_capture;
  for (int step = 0; step < 4; ++step) {
    b.Step(step, kMain, step * 100, 90);
    AddReplay(b, step * 100 + 10, step + 1);
  }
  AddCapture(of_capture, 0, true);
  const auto plain = b.Build(), joined = b.Build(), capture = of_capture.Build();
  const CaptureTrace traces[] = {{capture.get(), std::nullopt}};
  EXPECT_EQ(JoinCaptures(*joined, TestReferenceData(), traces).joined_launches, 4);
  const Result<TraceReport> a = Analyze(*plain, TestReferenceData(), {}),
                            c = Analyze(*joined, TestReferenceData(), {});
  ASSERT_TRUE(a.ok() && c.ok());
  EXPECT_EQ(a.value().steps.list.size(), c.value().steps.list.size());
  EXPECT_EQ(a.value().steps.p50, c.value().steps.p50);
  EXPECT_EQ(a.value().bottleneck.verdict, c.value().bottleneck.verdict);
  EXPECT_TRUE(HasIssue(a.value().health, ImportIssue::kReplayedGraphs));
  EXPECT_FALSE(HasIssue(c.value().health, ImportIssue::kReplayedGraphs));
}

TEST(CaptureJoin, EqualLayersAreReplayedInTheOrderOfTheirCaptures) {
  StoreBuilder b;
  AddCapture(b, 0, true, kShapes, "nn.Module: Linear_0");
  AddCapture(b, 30, true, kShapes, "nn.Module: Linear_1");
  for (int i = 0; i < 4; ++i) AddReplay(b, 100 * (i + 1), i + 1);
  const auto store = b.Build();
  JoinCaptures(*store, TestReferenceData());
  const Strings ran = RanBy(*store);
  ASSERT_EQ(ran.size(), 8u);
  EXPECT_EQ(ran[0], "aten::mm, nn.Module: Linear_0");
  EXPECT_EQ(ran[2], "aten::mm, nn.Module: Linear_1");
  EXPECT_EQ(ran[4], "aten::mm, nn.Module: Linear_0");
}

TEST(CaptureJoin, OtherKernelsAreNoReplayOfTheCapture) {
  for (const bool names : {true, false}) {
    StoreBuilder b, of_capture;
    b.Call("cudaGraphLaunch", kMain, 0, 10, 1);
    b.Kernel(kAdd, kStream, 12, 30, 1);  // The capture computes a product at this position.
    b.Kernel(kGemm, kStream, 42, 10, 1);
    b.Kernel("other", kStream, 52, 10, 1);
    AddCapture(of_capture, 0, names);
    const auto store = b.Build(), capture = of_capture.Build();
    const CaptureTrace traces[] = {{capture.get(), std::nullopt}};
    EXPECT_EQ(JoinCaptures(*store, TestReferenceData(), traces).joined_launches, 0);
    EXPECT_EQ(store->log.Count(ImportIssue::kUnmatchedCapture), 1);
    EXPECT_EQ(RanBy(*store), (Strings{"none, none", "none, none", "none, none"}));
  }
}

TEST(CaptureJoin, ByOrderAloneAProductMustBeAProduct) {
  StoreBuilder b;
  AddCapture(b, 0, /*names=*/false);
  b.Call("cudaGraphLaunch", kMain, 100, 10, 1);
  b.Kernel(kAdd, kStream, 112, 30, 1);
  b.Kernel(kGemm, kStream, 142, 10, 1);
  const auto store = b.Build();
  EXPECT_EQ(JoinCaptures(*store, TestReferenceData()).joined_launches, 0);
}

TEST(CaptureJoin, AProductMayLaunchOthersAroundIt) {
  const auto joined = [](const std::vector<const char*>& kernels) {
    StoreBuilder b;
    b.Call("cudaStreamBeginCapture", kMain, 0, 1);
    for (const std::int64_t start : {2, 32}) {
      b.Op(kProduct, kMain, start, 16);
      for (const std::int64_t at : {1, 4, 7})
        b.Call("cudaLaunchKernel", kMain, start + at, 1, 100 + start + at);
    }
    b.Call("cudaStreamEndCapture", kMain, 60, 1);
    b.Call("cudaGraphLaunch", kMain, 100, 10, 1);
    std::int64_t at = 112;
    for (const char* kernel : kernels) b.Kernel(kernel, kStream, at += 10, 9, 1);
    return JoinCaptures(*b.Build(), TestReferenceData()).joined_tasks;
  };
  EXPECT_EQ(joined({kAdd, kGemm, kAdd, kAdd, kGemm, kAdd}), 6);
  EXPECT_EQ(joined({kAdd, kAdd, kAdd, kAdd, kAdd, kAdd}), 0);
}

TEST(CaptureJoin, WhereCapturesOfOtherShapesFitShapesAreUnknown) {
  StoreBuilder b, small, large;
  b.Annotation("execute_context_0(0)_generation_12(12)", kMain, 90, 90);
  AddReplay(b, 100, 1);
  AddCapture(small, 0, true, kShapes);
  AddCapture(large, 0, true, kOtherShapes);
  const auto of_small = small.Build(), of_large = large.Build();
  const auto flops = [&](std::optional<std::int64_t> size,
                         std::optional<std::int64_t> larger_size) {
    const auto store = b.Build();
    const CaptureTrace traces[] = {{of_small.get(), size}, {of_large.get(), larger_size}};
    EXPECT_EQ(JoinCaptures(*store, TestReferenceData(), traces).joined_tasks, 2);
    EXPECT_EQ(RanBy(*store)[0], "aten::mm, nn.Module: Linear_0");
    Analyses of(*store);
    double sum = 0;
    for (const CostedCall& call :
         CollectCostedWork(*store, of.names, of.attribution, of.costs, nullptr))
      sum += call.cost->flops;
    return sum;
  };
  EXPECT_EQ(flops(std::nullopt, std::nullopt), 0);
  // The batch sizes of the captures decide: 12 tokens run in the graph for 16.
  EXPECT_EQ(flops(8, 16), 2.0 * 16 * 4 * 2);
  EXPECT_EQ(flops(12, 16), 2.0 * 8 * 4 * 2);
}

TEST(CaptureJoin, TheLaunchTellsWhatTheCaptureDoesNot) {
  StoreBuilder b, of_capture;
  b.Annotation("Optimizer.step#Adam.step", kMain, 90, 40);
  AddReplay(b, 100, 1);
  AddCapture(of_capture, 0, true);
  const auto store = b.Build(), capture = of_capture.Build();
  const CaptureTrace traces[] = {{capture.get(), std::nullopt}};
  JoinCaptures(*store, TestReferenceData(), traces);
  Analyses of(*store);
  EXPECT_EQ(of.attribution.Of(GpuTaskId(0u)).phase, Phase::kOptimizer);
}

TEST(CaptureJoin, NodesOfAGraphAreInTheirOwnOrderNotInThatOfTheirStarts) {
  StoreBuilder b;
  AddCapture(b, 0, /*names=*/false);
  b.Call("cudaGraphLaunch", kMain, 100, 10, 1);
  b.Kernel(kAdd, kStream, 112, 10, 1);
  b.Kernel(kGemm, kSideStream, 113, 30, 1);
  const auto store = b.Build();
  store->gpu_tasks.graph_node.Mutable(0) = 2;
  store->gpu_tasks.graph_node.Mutable(1) = 1;
  JoinCaptures(*store, TestReferenceData());
  EXPECT_EQ(RanBy(*store)[1], "aten::mm, nn.Module: Linear_0");
}

TEST(CaptureJoin, CapturesAtOneTimeTellNothing) {
  StoreBuilder b;
  AddCapture(b, 0, true);
  b.Call("cudaStreamBeginCapture", kOtherThread, 5, 1);
  b.Call("cudaStreamEndCapture", kOtherThread, 50, 1);
  AddReplay(b, 100, 1);
  EXPECT_EQ(JoinCaptures(*b.Build(), TestReferenceData()).joined_launches, 0);
}

TEST(CaptureJoin, TimeGrowsWithTheNumberOfCapturesAndReplays) {
  ExpectNoQuadraticTime(250, [](int n) {
    StoreBuilder b;
    for (int i = 0; i < n; ++i) {
      AddCapture(b, i * 100, true);
      AddReplay(b, 100'000'000 + i * 100, 500'000'000 + i);
      const std::string own = "kernel_" + std::to_string(i);
      b.Call("cudaStreamBeginCapture", kMain, i * 100 + 30, 1);
      b.Call("hipLaunchKernel", kMain, i * 100 + 35, 1, 700'000'000 + i)
          .Args("\"kernel\": \"" + own + "\"");
      b.Call("cudaStreamEndCapture", kMain, i * 100 + 40, 1);
      b.Call("cudaGraphLaunch", kMain, 100'000'000 + i * 100 + 60, 2, 600'000'000 + i);
      b.Kernel(own, kStream, 100'000'000 + i * 100 + 70, 5, 600'000'000 + i);
    }
    std::shared_ptr<TraceStore> store = b.Build();
    return
        [store, n] { EXPECT_EQ(JoinCaptures(*store, TestReferenceData()).joined_launches, 2 * n); };
  });
}

TEST(CaptureJoin, ACaptureWithoutAnEndIsNone) {
  StoreBuilder b;
  b.Call("cudaStreamBeginCapture", kMain, 0, 1);
  b.Op(kProduct, kMain, 3, 6);
  b.Call("cudaLaunchKernel", kMain, 4, 1, 50);
  b.Call("cudaGraphLaunch", kMain, 100, 10, 1);
  b.Kernel(kGemm, kStream, 112, 30, 1);
  const auto store = b.Build();
  EXPECT_EQ(JoinCaptures(*store, TestReferenceData()).joined_launches, 0);
}

}  // namespace
}  // namespace headroom
