#include "predict/host_model.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "kernels/test_devices.h"
#include "predict/operator_list.h"
#include "predict/step_estimate.h"

namespace headroom {
namespace host_model_test {

/// Returns a list of `count` elementwise operators on `rows` rows of 1,024.
OperatorList Elementwise(int count, double rows, bool training) {
  OperatorList list;
  for (int i = 0; i < count; ++i) {
    list.works.push_back(
        {.op = i,
         .phase = training && i >= count / 2 ? StepPhase::kBackward : StepPhase::kForward,
         .work = {.shape = PointwiseWork{.bytes = rows * 1024 * 8}}});
  }
  return list;
}

StepEstimate On(const OperatorList& list, const char* host) {
  return EstimateStep(list, RatesOfGpu("A100-80"), ShippedConstants(),
                      HostModel::Named(host).value())
      .value();
}

TEST(HostModel, AKindOfMachineOrANumber) {
  EXPECT_GT(HostModel::Named("cloud").value().us_per_kernel,
            HostModel::Named("server").value().us_per_kernel);
  EXPECT_EQ(HostModel::Named("none").value().us_per_kernel, 0);
  EXPECT_EQ(HostModel::Named("7.5").value().us_per_kernel, 7.5);
  for (const char* wrong : {"", "fast", "-1", "1us", "nan", "inf", "1e9"}) {
    const Result<HostModel> host = HostModel::Named(wrong);
    ASSERT_FALSE(host.ok()) << wrong;
    EXPECT_EQ(host.status().code(), StatusCode::kUsage);
  }
}

TEST(HostModel, SmallOperatorsTakeTheHostsTime) {
  // 100 launches of 10 us, and 4 us at the start of the step; the GPU takes 3 us for each.
  const StepEstimate step = On(Elementwise(100, 1, false), "10");
  EXPECT_NEAR(step.step.mid, (100 * 10 + 4 + 3) / 1e3, 0.01);
  EXPECT_LT(step.gpu_ms, 0.5 * step.step.mid);
}

TEST(HostModel, LargeOperatorsHideIt) {
  const StepEstimate with = On(Elementwise(10, 1e5, false), "10"),
                     without = On(Elementwise(10, 1e5, false), "none");
  // Only the start and the first launch are not hidden.
  EXPECT_NEAR(with.step.mid, without.step.mid + 0.014, 1e-6);
}

TEST(HostModel, CompiledCodeCostsAtItsStartAndLessPerKernel) {
  const KernelWork elementwise = {.shape = PointwiseWork{.bytes = 1}},
                   product = {.shape = ProductWork{.m = 1, .k = 1, .n = 1}};
  const HostModel host = HostModel::Named("10").value();
  EXPECT_GT(HostStartNs(ListLaunch::kCompiled, host), HostStartNs(ListLaunch::kEager, host));
  for (const KernelWork& work : {elementwise, product}) {
    const double eager = HostNsOf(work, 1, false, ListLaunch::kEager, host);
    EXPECT_LT(HostNsOf(work, 1, false, ListLaunch::kCompiled, host), eager);
    EXPECT_EQ(HostNsOf(work, 1, false, ListLaunch::kGraph, host), 0);
  }
}

TEST(HostModel, TrainingStepsFollowEachOtherWithoutAWait) {
  // The backward's launches take 0.6 of the forward's.
  const StepEstimate step = On(Elementwise(100, 1, true), "10");
  EXPECT_NEAR(step.step.mid, (50 * 10 + 50 * 6) / 1e3, 1e-6);
}

TEST(HostModel, ARecurrentOperatorLaunchesItsStepsItself) {
  OperatorList list;
  list.works.push_back(
      {.work = {.shape = RecurrentWork{.batch = 10, .steps = 512, .inputs = 128, .hidden = 256}}});
  const StepEstimate slow = On(list, "200"), fast = On(list, "1");
  // 512 steps of two kernels, a fifth of an operator's time each.
  EXPECT_NEAR(slow.host_ms, (4 + 2 * 512) * 0.2 * 0.2, 0.01);
  EXPECT_GT(slow.step.mid, slow.host_ms);
  EXPECT_NEAR(fast.step.mid, fast.gpu_ms, 0.1 * fast.gpu_ms);
}

}  // namespace host_model_test
}  // namespace headroom
