#include "whatif/job/host_speed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <tuple>

#include "analysis/test_trace.h"

namespace headroom {
namespace host_speed_test {

constexpr double kTolerance = 1e-9;

Calibration Reference() {
  Calibration calibration;
  calibration.machine = "1 x Card (-1 bytes)";
  calibration.loop = {{"aten::t", 5'000}};
  calibration.autograd = {{"aten::t", 2'000}, {"torch::autograd::AccumulateGrad", 2'000}};
  return calibration;
}

/// Forty transpositions on each thread, with the given durations in microseconds.
StoreBuilder Threads(std::int64_t loop_us, std::int64_t autograd_us) {
  StoreBuilder b;
  b.Kernel(kGemm, kStream, 0, 1);
  for (int i = 0; i < 40; ++i) {
    b.Op("aten::t", kMain, 100 * i, loop_us);
    b.Op("torch::autograd::AccumulateGrad", kAutograd, 100 * i, autograd_us);
  }
  return b;
}

HostSpeed FindSpeed(const TraceStore& store, const Graph& graph) {
  NameFacts names(store, TestReferenceData());
  return FindHostSpeed(store, graph, NotDispatch(store, names), Reference());
}

HostSpeed SpeedOf(const StoreBuilder& builder, const Graph& graph = Graph()) {
  return FindSpeed(*builder.Build(), graph);
}

double Factor(const HostSpeed& speed, std::size_t thread) { return speed.at(ThreadId(thread)); }

TEST(HostSpeedTest, OnTheCalibratedMachineEachThreadIsTakenToItsReference) {
  const HostSpeed speed = SpeedOf(Threads(10, 2).NameDevice(0, "Card"));
  ASSERT_EQ(speed.size(), 2u);
  EXPECT_NEAR(Factor(speed, 0), std::pow(2, -0.5), kTolerance);
  EXPECT_NEAR(Factor(speed, 1), 1, kTolerance);
}

TEST(HostSpeedTest, ElsewhereASlowMachineIsNotASlowMoment) {
  for (const auto& [thread, factor] : SpeedOf(Threads(10, 4).NameDevice(0, "Other")))
    EXPECT_NEAR(factor, 1, kTolerance);
}

TEST(HostSpeedTest, ElsewhereOnlyAThreadSlowerThanTheOthersIsCorrected) {
  const HostSpeed speed = SpeedOf(Threads(5, 4).NameDevice(0, "Other"));
  EXPECT_NEAR(Factor(speed, 0), 1, kTolerance);
  EXPECT_NEAR(Factor(speed, 1), std::pow(2, -0.5), kTolerance);
}

TEST(HostSpeedTest, FewOperatorsOrCallsInsideTellNothing) {
  StoreBuilder few;
  for (int i = 0; i < 10; ++i) few.Op("aten::t", kMain, 100 * i, 10);
  EXPECT_TRUE(SpeedOf(few).empty());
  StoreBuilder with_calls = Threads(10, 2);
  for (int i = 0; i < 40; ++i) with_calls.Call("cudaLaunchKernel", kMain, 100 * i + 1, 2);
  EXPECT_EQ(SpeedOf(with_calls).size(), 1u);
}

TEST(HostSpeedTest, ALoaderOnTheThreadOfTheLoopTellsNothing) {
  // The loader decodes images, so its operators are slow at any host speed.
  StoreBuilder b = Threads(5, 2).NameDevice(0, "Other");
  b.Annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", kMain, 5000, 40'000);
  for (int i = 0; i < 80; ++i) b.Op("aten::t", kMain, 5100 + 400 * i, 300);
  EXPECT_NEAR(Factor(SpeedOf(b), 0), 1, kTolerance);
}

TEST(HostSpeedTest, ARangeThatCallsNothingIsNoDispatch) {
  StoreBuilder b;
  b.Annotation("push_metrics", kMain, 0, 50);
  b.Annotation("block", kMain, 100, 50);
  b.Op("aten::t", kMain, 110, 5);
  const std::unique_ptr<TraceStore> store = b.Build();
  NameFacts names(*store, TestReferenceData());
  EXPECT_EQ(NotDispatch(*store, names), (std::vector<bool>{true, false, false}));
}

TEST(HostSpeedTest, OnlyTheFrameworksOwnTimeIsScaled) {
  const StoreBuilder b = Threads(10, 2);
  const std::unique_ptr<TraceStore> store = b.Build();
  NameFacts names(*store, TestReferenceData());
  const HostEventId op = HostEventId(0u);
  const ThreadId thread = store->host_events.thread[0];
  for (const auto& [owner, us, kept] :
       {std::tuple(op, 1000, 0.5), {HostEventId(), 100, 0.5}, {HostEventId(), 1000, 1.0}}) {
    Graph graph;
    graph.pieces.push_back({.end = TimeNs(us * 1000), .owner = owner, .thread = thread});
    graph.tasks.push_back({.kind = TaskKind::kCall, .row = 0, .pieces_end = 1});
    auto shape = std::make_shared<PlanShape>();
    shape->edge_begin = {0, 1};
    Plan plan;
    plan.shape = shape;
    plan.lag = {us * 1000};
    plan.duration = {0};
    ScaleHostTime(graph, *store, NotDispatch(*store, names), {{thread, 0.5}}, plan);
    EXPECT_NEAR(static_cast<double>(plan.lag[0]), static_cast<double>(us) * 1000 * kept, 1) << us;
  }
}

TEST(HostSpeedTest, WorkBehindALongWaitTellsNothing) {
  const StoreBuilder b = Threads(10, 2);
  const std::unique_ptr<TraceStore> store = b.Build();
  Graph graph;
  for (std::size_t row = 0; row < store->host_events.rows(); ++row) {
    if (store->Text(store->host_events.name[row]) == "aten::t")
      graph.pieces.push_back({.owner = HostEventId(row)});
  }
  graph.tasks.push_back(
      {.slow_work = true, .pieces_end = static_cast<std::uint32_t>(graph.pieces.size())});
  EXPECT_EQ(FindSpeed(*store, graph).size(), 1u);
}

}  // namespace host_speed_test
}  // namespace headroom
