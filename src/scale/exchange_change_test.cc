// Tests schedules other than one all-reduce per bucket, on a job of two layers, over links of 10
// bytes per ns without latency. An all-gather or a reduce-scatter of a layer between two ranks
// takes 20 us.
#include "scale/exchange_change.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "whatif/forecast.h"
#include "whatif/test_layers.h"

namespace headroom {
namespace exchange_change_test {

constexpr double kSmallBuckets = 0.3e6;  ///< Bytes; smaller than a layer.
constexpr double kUpdate =
    1.2 + 98.8 / 2;  ///< Time to update half of the parameters: the start-up part stays the same.

class ExchangeChangeTest : public testing::Test {
 protected:
  explicit ExchangeChangeTest(const StoreBuilder& builder = TwoLayers()) : store_(builder.Build()) {
    Result<std::unique_ptr<Job>> job = Job::Make(*store_, TestReferenceData(), {}, Calibration());
    EXPECT_TRUE(job.ok()) << job.status().message();
    job_ = std::move(job).value();
    forecaster_ = std::make_unique<Forecaster>(*job_);
  }

  static Topology Links() { return FlatTopology(80 / kEthernetShare, DurationNs(0), 1); }

  Forecast Ask(const Schedule& schedule, const Topology& topology = Links(),
               const Placement& placement = {.gpus = 2, .nodes = 2}) {
    const ScaledJob scaled = {.exchange = {.topology = topology,
                                           .placement = placement,
                                           .transfer = {.bucket_bytes = kSmallBuckets}},
                              .schedule = schedule};
    return forecaster_->Run("",
                            [&](Edit& edit) { return ApplyScaledJob(*job_, {}, scaled, edit); });
  }
  double StepUs(const Schedule& schedule, const Topology& topology = Links()) {
    const Forecast forecast = Ask(schedule, topology);
    EXPECT_TRUE(forecast.applies) << forecast.why;
    return forecast.step_ms.mid * 1e3;
  }

  std::unique_ptr<TraceStore> store_;
  std::unique_ptr<Job> job_;
  std::unique_ptr<Forecaster> forecaster_;
};

TEST_F(ExchangeChangeTest, ShardedUpdatesWaitForTheGather) {
  const double ddp = StepUs(BucketSchedule());
  // Gradients are exchanged as before. Then half of the update runs, and the all-gather of both
  // layers takes 40 us.
  EXPECT_NEAR(StepUs(ZeroSharding{ZeroStage::kOptimizer}), ddp - (100 - kUpdate) + 40, 0.01);
  // The last gradient has 20 us of exposed communication instead of 40.
  EXPECT_NEAR(StepUs(ZeroSharding{ZeroStage::kGradients}), ddp - (100 - kUpdate) + 20, 0.01);
}

TEST_F(ExchangeChangeTest, ShardedParametersAreGatheredByUnits) {
  // Two transfers are exposed: A's gather before A's forward, and the scatter of A's gradient. B's
  // gather, A's second gather and B's scatter overlap the layers. Copies run before both forwards
  // and A's backward, and for B's gradient. A's copy overlaps its scatter.
  const Forecast sharded = Ask(ZeroSharding{ZeroStage::kParameters});
  ASSERT_TRUE(sharded.applies) << sharded.why;
  constexpr double kCopies = 4 * (1.449 + 1.25);
  EXPECT_NEAR(sharded.step_ms.mid * 1e3, 400 + 20 + 20 + kUpdate + kCopies, 3);
  EXPECT_NEAR(sharded.limits.transfers_ms, 5 * 0.020, 1e-6);
  EXPECT_NE(sharded.why.find("2 units, each the size of a bucket"), std::string::npos)
      << sharded.why;
  EXPECT_NE(sharded.why.find("each rank updates 1/2"), std::string::npos) << sharded.why;
}

TEST_F(ExchangeChangeTest, ShardedParametersLimitASlowNetwork) {
  // On a network with a tenth of the rate, a layer's 100 us hide only part of the communication.
  // The five transfers of 200 us run in sequence, except around the forward of A, which no transfer
  // can overlap.
  const Topology slow = FlatTopology(8 / kEthernetShare, DurationNs(0), 1);
  const Forecast sharded = Ask(ZeroSharding{ZeroStage::kParameters}, slow);
  EXPECT_GT(sharded.step_ms.mid * 1e3, 5 * 200 + kUpdate);
  EXPECT_LT(sharded.step_ms.mid * 1e3, 5 * 200 + 400 + kUpdate);
}

TEST_F(ExchangeChangeTest, CopiesSumWhatTheirShardsScatter) {
  Topology machines = Links();
  machines.gpus_per_node = 2;
  machines.inside = machines.between;
  const ZeroSharding hybrid = {.stage = ZeroStage::kParameters, .gpus = 2};
  const Placement two_by_two = {.gpus = 4, .nodes = 2};
  const Forecast sharded = Ask(hybrid, machines, two_by_two);
  ASSERT_TRUE(sharded.applies) << sharded.why;
  // The two GPUs of a machine gather and scatter as above. Then half of each layer, 200 kB, is
  // all-reduced between two machines, whose links two such all-reduces share: 40 us. Only that of
  // the last layer is exposed.
  EXPECT_NEAR(sharded.limits.transfers_ms, 5 * 0.020 + 2 * 0.040, 1e-6);
  EXPECT_NEAR(sharded.step_ms.mid * 1e3, StepUs(ZeroSharding{ZeroStage::kParameters}) + 40, 0.01);
  EXPECT_NE(sharded.why.find("each rank updates 1/2"), std::string::npos) << sharded.why;
  EXPECT_NE(sharded.why.find("summed over 2 copies"), std::string::npos) << sharded.why;

  const Forecast odd = Ask(hybrid, machines, {.gpus = 3, .nodes = 2});
  EXPECT_NE(odd.why.find("3 GPUs is not a multiple of shard=2"), std::string::npos) << odd.why;
  const ZeroSharding three = {.stage = ZeroStage::kParameters, .gpus = 3};
  const Forecast across = Ask(three, machines, {.gpus = 6, .nodes = 3});
  EXPECT_NE(across.why.find("do not fill machines of 2"), std::string::npos) << across.why;
}

TEST_F(ExchangeChangeTest, AServersLinkIsSharedByAllRanks) {
  // The slices of two ranks take 80 us per layer and direction. A's gradient is ready at 400 us,
  // when B's transfers have ended.
  EXPECT_NEAR(StepUs(ServerSchedule{.servers = 1}), 400 + 80 + 80 + 100, 0.01);
  EXPECT_NEAR(StepUs(ServerSchedule{.servers = 2}), 400 + 40 + 40 + 100, 0.01);
  // More servers do not help: the ranks' own links are full.
  EXPECT_NEAR(StepUs(ServerSchedule{.servers = 8}), 400 + 40 + 40 + 100, 0.01);
}

TEST_F(ExchangeChangeTest, ServersNeedMachines) {
  Topology two = Links();
  two.name = "pair";
  two.nodes_at_most = 2;
  const Forecast forecast = Ask(ServerSchedule{.servers = 1}, two);
  EXPECT_FALSE(forecast.applies);
  EXPECT_NE(forecast.why.find("pair has at most 2 machines"), std::string::npos) << forecast.why;
}

StoreBuilder WithoutUpdate() {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  for (int step = 0; step < 2; ++step) {
    b.Step(step, kMain, 60 * step, 60);
    b.Op("aten::addmm", kMain, 60 * step, 4).Sequence(step + 1);
    b.Launch("aten::fill_", kMain, 60 * step + 1, kGemm, kStream, 10 + 300 * step, 100);
    b.Op(kNode, kMain, 60 * step + 10, 4).Sequence(step + 1).ForwardThread(0);
    b.Launch("aten::fill_", kMain, 60 * step + 11, kGemm, kStream, 110 + 300 * step, 100);
    b.Op("torch::autograd::AccumulateGrad", kMain, 60 * step + 15, 2)
        .Shapes("[[100, 1000]]", R"(["float"])");
    b.Launch("aten::add_", kMain, 60 * step + 31, kAdd, kStream, 210 + 300 * step, 100);
  }
  return b;
}

class NoUpdateTest : public ExchangeChangeTest {
 protected:
  NoUpdateTest() : ExchangeChangeTest(WithoutUpdate()) {}
};

TEST_F(NoUpdateTest, ShardingNeedsTheUpdate) {
  const Forecast forecast = Ask(ZeroSharding{ZeroStage::kParameters});
  EXPECT_FALSE(forecast.applies);
  EXPECT_NE(forecast.why.find("no optimizer step"), std::string::npos) << forecast.why;
}

}  // namespace exchange_change_test
}  // namespace headroom
