#include "scale/listed_job.h"

#include <gtest/gtest.h>

#include "kernels/test_devices.h"
#include "network/gradient_exchange.h"
#include "predict/step_estimate.h"

namespace headroom {
namespace listed_job_test {

class ListedJobTest : public testing::Test {
 protected:
  /// A first operator, and `layers` products with a parameter of 4 MB.
  static OperatorList List(double layers) {
    OperatorList list;
    list.name = "model";
    list.batch = 2;
    const KernelWork pointwise = {.shape = PointwiseWork{.bytes = 1e7}};
    const KernelWork product = {.shape = ProductWork{.m = 1024, .k = 1024, .n = 1024}};
    const auto add = [&](std::int64_t op, StepPhase phase, double repeats, const KernelWork& work,
                         double gradient_bytes = 0) {
      list.works.push_back({.op = op,
                            .phase = phase,
                            .repeats = repeats,
                            .work = work,
                            .gradient_bytes = gradient_bytes});
    };
    add(0, StepPhase::kForward, 1, pointwise);
    add(0, StepPhase::kBackward, 1, pointwise);
    add(1, StepPhase::kForward, layers, product);
    add(1, StepPhase::kBackward, layers, product);
    add(1, StepPhase::kBackward, layers, product);
    add(1, StepPhase::kAccumulate, layers, pointwise, 4e6);
    return list;
  }

  Result<std::unique_ptr<ListedJob>> Make(const OperatorList& list) {
    return ListedJob::Make(list, rates_, constants_, {});
  }

  const KernelConstants& constants_ = ShippedConstants();
  DeviceRates rates_ = RatesOfGpu("A100-SXM-40");
};

TEST_F(ListedJobTest, OneGpuTakesWhatItsKernelsTake) {
  const OperatorList list = List(10);
  Result<std::unique_ptr<ListedJob>> job = Make(list);
  ASSERT_TRUE(job.ok()) << job.status().message();
  const Result<StepEstimate> estimate = EstimateStep(list, rates_, constants_, HostModel::None());
  const StepInterval step = job.value()->OnOneGpu().step_ms;
  EXPECT_NEAR(step.mid, estimate.value().step.mid, 1e-4);
  EXPECT_NEAR(step.low, estimate.value().step.low, 1e-3);
  EXPECT_NEAR(step.high, estimate.value().step.high, 1e-3);
  EXPECT_DOUBLE_EQ(job.value()->GradientBytes(), 40e6);
  EXPECT_EQ(job.value()->samples(), 2);
}

TEST_F(ListedJobTest, SlowTransfersAreExposedAndFastOnesHidden) {
  Result<std::unique_ptr<ListedJob>> job = Make(List(10));
  ASSERT_TRUE(job.ok());
  const double one = job.value()->OnOneGpu().step_ms.mid;
  const Placement two = {.gpus = 2, .nodes = 2};
  // 40 MB at 1 GB/s.
  const ScaledStep slow =
      job.value()->On(FlatTopology(8 / kEthernetShare, DurationNs(0), 1), two, std::nullopt);
  EXPECT_GT(slow.step_ms.mid, 40);
  EXPECT_NEAR(slow.limits.transfers_ms, 40, 0.01);
  // The network time is negligible; two copies per gradient remain.
  const ScaledStep fast = job.value()->On(FlatTopology(8e6, DurationNs(0), 1), two, std::nullopt);
  const double copies_ms = 2 * 2 * 40e6 / rates_.bytes_per_ns / 1e6;
  EXPECT_NEAR(fast.step_ms.mid, one + copies_ms, 0.01);
}

TEST_F(ListedJobTest, ABrokenNumberOfRepeatsCountsOnce) {
  Result<std::unique_ptr<ListedJob>> job = Make(List(2.5));
  ASSERT_TRUE(job.ok());
  EXPECT_DOUBLE_EQ(job.value()->GradientBytes(), 10e6);
}

TEST_F(ListedJobTest, MoreLayersThanAnyModelHasCountOnce) {
  const OperatorList list = List(200'000);
  Result<std::unique_ptr<ListedJob>> job = Make(list);
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_DOUBLE_EQ(job.value()->GradientBytes(), 8e11);
  const double step = EstimateStep(list, rates_, constants_, HostModel::None()).value().step.mid;
  EXPECT_NEAR(job.value()->OnOneGpu().step_ms.mid, step, 1e-9 * step);
}

TEST_F(ListedJobTest, SaysWhatIsMissing) {
  OperatorList inference = List(3);
  std::erase_if(inference.works,
                [](const ListedWork& w) { return w.phase != StepPhase::kForward; });
  EXPECT_NE(Make(inference).status().message().find("no gradients"), std::string::npos);
  OperatorList parallel = List(3);
  parallel.collectives = 2;
  EXPECT_NE(Make(parallel).status().message().find("list of one GPU"), std::string::npos);
  EXPECT_NE(Make(List(1e12)).status().message().find("hours"), std::string::npos);
  Result<std::unique_ptr<ListedJob>> job = Make(List(3));
  EXPECT_NE(job.value()->On(Topology(), {.gpus = 2, .nodes = 2}, 1).no_answer.find("one batch"),
            std::string::npos);
}

// As PyTorch's operators are listed: the forward, the backward in its own order, then all
// gradients. Only the last ones can be exposed.
TEST_F(ListedJobTest, GradientsBehindTheBackwardAreReadyWithTheirWeights) {
  constexpr int kLayers = 10;
  const auto list = [](bool interleaved) {
    OperatorList made;
    std::int64_t op = 0;
    const auto add = [&](StepPhase phase, double gradient_bytes = 0) {
      const KernelWork product = {.shape = ProductWork{.m = 1024, .k = 8192, .n = 1024}};
      const KernelWork mark = {.shape = PointwiseWork{.bytes = 0, .kernels = 0}};
      made.works.push_back({.op = op++,
                            .phase = phase,
                            .work = gradient_bytes > 0 ? mark : product,
                            .gradient_bytes = gradient_bytes});
    };
    const auto gradient = [&] {
      add(StepPhase::kAccumulate, 4 * 1024);  // A bias.
      add(StepPhase::kAccumulate, 4.0 * 1024 * 1024);
    };
    for (int layer = 0; layer < kLayers; ++layer) add(StepPhase::kForward);
    for (int layer = 0; layer < kLayers; ++layer) {
      add(StepPhase::kBackward);
      if (interleaved) gradient();
    }
    for (int layer = 0; layer < kLayers && !interleaved; ++layer) gradient();
    return made;
  };
  const Topology topology = FlatTopology(100, DurationNs(14000), 1);
  const auto step = [&](const OperatorList& of) {
    return Make(of).value()->On(topology, {.gpus = 4, .nodes = 4}, std::nullopt).step_ms.mid;
  };
  EXPECT_DOUBLE_EQ(step(list(false)), step(list(true)));
}

}  // namespace listed_job_test
}  // namespace headroom
