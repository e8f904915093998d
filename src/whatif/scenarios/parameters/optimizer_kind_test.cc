#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/tensor_core_time.h"
#include "whatif/job/optimizer_steps.h"
#include "whatif/memory/step_memory.h"
#include "whatif/scenarios/parameters/muon.h"
#include "whatif/test_forecast.h"
#include "whatif/test_layers.h"
#include "whatif/test_network.h"

namespace headroom {
namespace optimizer_kind_test {

constexpr std::string_view kAdamWRange = "Optimizer.step#AdamW.step";
/// Bytes per microsecond of an update on an H200: 71 % of 4,800 GB/s.
constexpr double kUpdateBytes = 0.71 * 4.8e6;

/// Steps with one update of AdamW for a million parameters, by an operator per parameter.
JobBuilder OfOneParameter(std::string_view op, std::string_view dims, std::int64_t us) {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.Step().Forward("aten::embedding", "[[50257, 768], [32], [], [], []]", 5, step + 1);
    b.Update(kAdamWRange, op, dims, us);
  }
  return b;
}

/// Returns the microseconds of the update's kernel of a job after its embedding; -1 if the scenario
/// abstains.
double UpdateUs(JobBuilder b, std::string_view scenario) {
  const Applied applied(b.Build(), scenario);
  EXPECT_TRUE(applied.effect.applies) << applied.effect.why;
  return applied.effect.applies ? applied.Times().at(1) : -1;
}

TEST(OptimizerTest, TheTimeIsThatOfTheBytes) {
  const auto unfused = [] {
    return OfOneParameter("aten::addcdiv_", "[[1000, 1000], [1000, 1000], [1000, 1000]]", 90);
  };
  EXPECT_NEAR(UpdateUs(unfused(), "optimizer:kind=adamw"), 28e6 / kUpdateBytes, 0.01);
  EXPECT_NEAR(UpdateUs(unfused(), "optimizer:kind=sgd"), 20e6 / kUpdateBytes, 0.01);
  // 12 for parameter and gradient, 4 for two states, and 2 x 2 scales of 4 bytes per 2,048.
  EXPECT_NEAR(UpdateUs(unfused(), "optimizer:kind=8bit-adam"),
              (16 + 16 / 2048.0) * 1e6 / kUpdateBytes, 0.01);
  EXPECT_EQ(UpdateUs(unfused(), "optimizer:kind=adamw"), UpdateUs(unfused(), "fused-optimizer"));
  EXPECT_NEAR(UpdateUs(unfused(), "fused-optimizer+optimizer:kind=sgd"), 20e6 / kUpdateBytes, 0.01);
}

TEST(OptimizerTest, ARecordedFusedUpdateChangesAsItsBytes) {
  const auto fused = [] { return OfOneParameter("aten::_fused_adamw_", "[[1000, 1000]]", 70); };
  EXPECT_NEAR(UpdateUs(fused(), "optimizer:kind=sgd"), 50, 0.01);
  EXPECT_NEAR(UpdateUs(fused(), "optimizer:kind=8bit-adam"), 40 + 10 * 4 / 2048.0, 0.01);
  const auto lists = [] { return OfOneParameter("aten::_foreach_add_", "[[1000, 1000]]", 210); };
  EXPECT_NEAR(UpdateUs(lists(), "optimizer:kind=adamw"), 70, 0.01);
}

TEST(FusedOptimizerTest, AnUpdateOverListsChangesAsItsTraffic) {
  const auto lists = [](std::string_view range, std::string_view op) {
    JobBuilder b;
    for (int step = 0; step < 3; ++step) {
      b.Step().Forward("aten::embedding", "[[50257, 768], [32], [], [], []]", 5, step + 1);
      b.Update(range, op, "[]", 210);
    }
    return b;
  };
  EXPECT_NEAR(UpdateUs(lists(kAdamWRange, "aten::_foreach_addcdiv_"), "fused-optimizer"), 210 / 3.0,
              0.01);
  constexpr std::string_view kSgd = "Optimizer.step#SGD.step";
  EXPECT_NEAR(UpdateUs(lists(kSgd, "aten::_foreach_mul_"), "fused-optimizer"), 210 * 5 / 8.0, 0.01);
  // Without momentum, only the parameters and gradients move, in both forms.
  EXPECT_NEAR(UpdateUs(lists(kSgd, "aten::_foreach_add_"), "fused-optimizer"), 210, 0.01);
  JobBuilder b = lists(kAdamWRange, "aten::_foreach_addcdiv_");
  EXPECT_EQ(Applied(b.Build(), "fused-optimizer:kind=foreach").effect.abstention,
            Abstention::kAlready);
}

TEST(OptimizerTest, TheRecordedFusedAlgorithmChangesNothing) {
  JobBuilder b = OfOneParameter("aten::_fused_adamw_", "[[1000, 1000]]", 70);
  const Applied applied(b.Build(), "optimizer:kind=adamw");
  EXPECT_FALSE(applied.effect.applies);
  EXPECT_EQ(applied.effect.abstention, Abstention::kAlready);
  EXPECT_EQ(applied.Times(), (std::vector<double>{5, 70, 5, 70, 5, 70}));
  EXPECT_EQ(applied.edit.counts().tasks + applied.edit.counts().inserted, 0);
  EXPECT_EQ(applied.effect.why, "already: the optimizer is AdamW");
  EXPECT_EQ(applied.effect.memory_change, MemoryChange());
}

TEST(OptimizerTest, ShapesOfAnUnknownUpdateComeFromItsGradients) {
  JobBuilder b = Network("ReluBackward0", "aten::sub_");
  const Job& job = b.Build();
  double elements = 0;
  for (const TensorArg& parameter : AccumulatedParameters(job, FindOptimizerSteps(job).back()))
    elements += static_cast<double>(parameter.dims[0] * parameter.dims[1]);
  EXPECT_EQ(elements * 4, (256 + 32) * kKiB);
  const Applied applied(job, "optimizer:kind=adamw");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  EXPECT_NEAR(applied.Times().back(), 7 * (256 + 32) * kKiB / kUpdateBytes, 0.001);
  // Two states, where SGD kept none.
  const auto peak = [&](const MemoryChange& change) {
    Result<StepMemoryModel> model = StepMemoryModel::Make(job, change);
    EXPECT_TRUE(model.ok());
    return model.value().PeakAt(1).parts.optimizer_state;
  };
  EXPECT_EQ(peak({}), 0);
  EXPECT_EQ(peak(applied.effect.memory_change), 2 * (256 + 32) * kKiB);
}

TEST(OptimizerTest, AnAccumulationThatAddsIsNoOtherParameter) {
  // Two backward passes per update: the second adds to the gradients of the first. No update
  // precedes the first step.
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  for (int step = 0; step < 2; ++step) {
    const int host = 100 * step;
    b.Step(step, kMain, host, 90);
    for (int pass = 0; pass < 2; ++pass) {
      const int at = host + 30 * pass;
      b.Op(kNode, kMain, at, 20).Sequence(10 * step + pass).ForwardThread(0);
      b.Op("torch::autograd::AccumulateGrad", kMain, at + 1, 10)
          .Shapes("[[100, 1000]]", R"(["float"])");
      b.Launch(pass == 0 ? "aten::detach" : "aten::add_", kMain, at + 2, kAdd, kStream, at + 15, 5);
    }
    b.Annotation("Optimizer.step#AdamW.step", kMain, host + 60, 20);
    b.Launch("aten::_fused_adamw_", kMain, host + 61, kAdd, kStream, host + 75, 10);
  }
  const TestForecasts forecasts(b);
  const std::vector<OptimizerStep> steps = FindOptimizerSteps(forecasts.job());
  ASSERT_EQ(steps.size(), 2u);
  for (const OptimizerStep& step : steps)
    EXPECT_EQ(AccumulatedParameters(forecasts.job(), step).size(), 1u);
}

TEST(OptimizerTest, MuonAddsFifteenProductsPerHiddenMatrix) {
  JobBuilder b = OfOneParameter("aten::addcdiv_", "[[3072, 768], [3072, 768], [3072, 768]]", 90);
  const Job& job = b.Build();
  Applied applied(job, "optimizer:kind=muon");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  // 20 bytes for gradient, momentum and parameter, and 10 in 16 bits.
  EXPECT_NEAR(applied.Times().at(1), 30 * 3072 * 768 / kUpdateBytes, 0.01);
  ASSERT_EQ(applied.edit.inserted().size(), 3u * 15);
  const auto us = [&](std::int64_t m, std::int64_t n, std::int64_t k, bool transposed) {
    return TensorCoreGemmTime({.m = m, .n = n, .k = k}, {.transposed_second = transposed},
                              DType::kBF16, *job.device())
        ->us();
  };
  const std::array<double, 3> expected = {us(768, 768, 3072, true), us(768, 768, 768, false),
                                          us(768, 3072, 768, false)};
  for (std::size_t i = 0; i < applied.edit.inserted().size(); ++i) {
    EXPECT_NEAR(applied.edit.inserted()[i].duration.us(), expected[i % 3], 0.001);
    EXPECT_EQ(applied.edit.inserted()[i].launch, DurationNs(3'500));
  }
  EXPECT_EQ(applied.effect.memory_change.optimizer_state_bytes, 4 * 3072 * 768);
  // A faster GPU also runs the products faster.
  Applied faster(job, "optimizer:kind=muon+gpu-speed");
  EXPECT_NEAR(faster.edit.inserted()[0].duration.us(), expected[0] / 2, 0.001);
}

TEST(OptimizerTest, MuonLeavesOtherParametersToAdamW) {
  for (const std::string_view dims :
       {"[[768], [768], [768]]", "[[50257, 768], [50257, 768], []]"}) {
    JobBuilder b = OfOneParameter("aten::addcdiv_", dims, 90);
    const Applied muon(b.Build(), "optimizer:kind=muon");
    ASSERT_TRUE(muon.effect.applies);
    EXPECT_EQ(muon.edit.counts().inserted, 0);
    EXPECT_EQ(muon.Times().at(1),
              UpdateUs(OfOneParameter("aten::addcdiv_", dims, 90), "optimizer:kind=adamw"));
  }
}

TEST(MuonTest, EmbeddingsAndTheHeadAreNotHidden) {
  const auto shapes = [](const std::vector<std::vector<std::int64_t>>& dims) {
    std::vector<TensorArg> parameters;
    parameters.reserve(dims.size());
    for (const auto& each : dims)
      parameters.push_back({.dims = each, .strides = {}, .dtype = DType::kF32});
    return parameters;
  };
  JobBuilder with, without;
  with.Step().Forward("aten::embedding", "[[100, 8], [4], [], [], []]", 5, 1);
  with.Forward("aten::embedding", "[[8, 8], [4], [], [], []]", 5, 2);
  without.Step().Forward("aten::mm", "[[8, 8], [8, 8]]", 5, 1, kGemm);
  // Tables, a hidden matrix of the shape of the small table, a bias, and the head.
  EXPECT_EQ(MuonMatrices(with.Build(), shapes({{100, 8}, {8, 8}, {8, 8}, {8}, {100, 8}}), false),
            (std::vector<bool>{false, false, true, false, false}));
  const Job& job = without.Build();
  EXPECT_EQ(MuonMatrices(job, shapes({{64, 3, 7, 7}, {8, 8}, {8, 8}, {8}}), false),
            (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(MuonMatrices(job, shapes({{8}, {8, 8}, {8, 8}}), true),
            (std::vector<bool>{false, false, true}));
  EXPECT_TRUE(MuonMatrices(job, {}, true).empty());
}

TEST(OptimizerTest, SaysWhatIsMissing) {
  const auto why = [](JobBuilder b, std::string_view kind) {
    const Applied applied(b.Build(), "optimizer:kind=" + std::string(kind));
    EXPECT_FALSE(applied.effect.applies);
    return applied.effect.why;
  };
  JobBuilder none;
  none.Step().Forward("aten::mm", "[[8, 8], [8, 8]]", 5, 1, kGemm);
  EXPECT_NE(why(std::move(none), "sgd").find("no optimizer step was recorded"), std::string::npos);
  EXPECT_NE(why(OfOneParameter("aten::_fused_adamw_", "[[8]]", 70), "muon").find("record_shapes"),
            std::string::npos);
  JobBuilder unknown("Some GPU");
  unknown.Step().Update(kAdamWRange, "aten::addcdiv_", "[[8, 8], [8, 8], [8, 8]]", 70);
  EXPECT_NE(why(std::move(unknown), "muon").find("Some GPU"), std::string::npos);
}

}  // namespace optimizer_kind_test
}  // namespace headroom
