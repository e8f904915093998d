#include <gtest/gtest.h>

#include "whatif/forecast.h"
#include "whatif/test_linear_layers.h"

namespace headroom {
namespace lora_test {

/// Returns the time of an addition of `elements` float32 numbers: three passes and a start.
double Addition(const Job& job, double elements) {
  return (1'200 + 3 * 4 * elements /
                      (*job.device()->memory_bandwidth_gbs * job.device()->sustained.cast_bytes)) /
         1e3;
}

TEST(LoraTest, AdaptersRunBesideFrozenLayers) {
  LinearLayers layers;
  const Job& job = layers.Build();
  Applied applied(job, "lora:rank=8");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  // All gradients of weights vanish, those of inputs remain. The adapters of A and B have
  // 8 * (64 + 256) + 8 * (256 + 512) = 8,704 of 180,224 parameters.
  const std::vector<double> times = applied.Times();
  const std::vector<double> step = {10, 2, 20, 30, 32, 22, 4, 1.2 + 98.8 * 8'704 / 180'224};
  ASSERT_EQ(times.size(), 3 * step.size());
  for (std::size_t i = 0; i < step.size(); ++i) EXPECT_NEAR(times[i], step[i], 0.002) << i;
  EXPECT_EQ(applied.effect.why,
            "2 Linear layers per step get adapters with 0.0087 million parameters; all others are "
            "frozen");
  EXPECT_EQ(applied.effect.validated, Validity::kNo);
}

TEST(LoraTest, EachLayerGetsItsProductsAndAdditions) {
  LinearLayers layers;
  const Job& job = layers.Build();
  Applied applied(job, "lora:rank=8");
  // A: two products and an addition in the forward; its backward has no gradient of the input, so
  // three products. B: three kernels, then four products and an addition. C is the head.
  ASSERT_EQ(applied.edit.inserted().size(), 3u * (3 + 3 + 3 + 5));
  std::vector<double> additions;
  for (const Edit::NewKernel& kernel : applied.edit.inserted()) {
    EXPECT_TRUE(kernel.per_sample);
    EXPECT_GT(kernel.duration.ns(), 1'000);
    EXPECT_GT(kernel.launch.ns(), 0);
    additions.push_back(kernel.duration.us());
  }
  EXPECT_NEAR(additions[2], Addition(job, 32 * 256), 0.001);
  EXPECT_NEAR(additions[3 + 3 + 2], Addition(job, 32 * 512), 0.001);
  EXPECT_NEAR(additions[3 + 3 + 3 + 4], Addition(job, 32 * 256), 0.001);
  // The adapter of A runs before the ReLU, and that of B before C.
  EXPECT_EQ(applied.edit.DurationOf(applied.edit.inserted()[0].before_task), Us(2));
  EXPECT_EQ(applied.edit.DurationOf(applied.edit.inserted()[6].before_task), Us(30));
}

TEST(LoraTest, AHigherRankTakesLonger) {
  LinearLayers layers;
  const Job& job = layers.Build();
  const auto sum = [&](std::string_view scenario) {
    Applied applied(job, scenario);
    EXPECT_TRUE(applied.effect.applies) << applied.effect.why;
    double us = 0;
    for (const Edit::NewKernel& kernel : applied.edit.inserted()) us += kernel.duration.us();
    return us;
  };
  EXPECT_GT(sum("lora:rank=63"), sum("lora:rank=1"));
  // A's weight has 64 inputs, so a rank of 64 leaves it without an adapter.
  EXPECT_EQ(Applied(job, "lora:rank=64").edit.inserted().size(), 3u * 8);
}

TEST(LoraTest, AbstainsWithoutLayersToAdapt) {
  LinearLayers layers;
  const Job& job = layers.Build();
  const Applied wide(job, "lora:rank=256");
  EXPECT_FALSE(wide.effect.applies);
  EXPECT_EQ(wide.effect.why,
            "no Linear layer, besides the head, has inputs and outputs above rank 256");
  EXPECT_EQ(wide.edit.counts().removed, 0);
  LinearLayers unknown(false);
  const Applied applied(unknown.Build(), "lora");
  EXPECT_FALSE(applied.effect.applies);
  EXPECT_NE(applied.effect.why.find("has a recorded shape"), std::string::npos);
}

TEST(LoraTest, TwiceTheBatchIsMoreWorkForAdapters) {
  LinearLayers layers;
  const Job& job = layers.Build();
  Applied lora(job, "lora"), both(job, "lora+batch-size:n=64");
  ASSERT_TRUE(both.effect.applies) << both.effect.why;
  ASSERT_EQ(both.edit.inserted().size(), lora.edit.inserted().size());
  for (std::size_t k = 0; k < lora.edit.inserted().size(); ++k)
    EXPECT_GT(both.edit.inserted()[k].duration, lora.edit.inserted()[k].duration);
  // Nothing is left to freeze.
  EXPECT_EQ(Applied(job, "lora+freeze:match=layer::A").Times(), lora.Times());
}

TEST(LoraTest, DataParallelExchangesTheAdaptersGradients) {
  LinearLayers layers;
  const Job& job = layers.Build();
  const Applied all(job, "data-parallel:gpus=2"), both(job, "lora:rank=4+data-parallel:gpus=2");
  ASSERT_TRUE(all.effect.applies && both.effect.applies) << both.effect.why;
  const auto bytes = [](const Applied& applied) {
    Edit edit = applied.edit;
    double sum = 0;
    for (const Edit::ChannelTask& task : edit.channel_tasks()) sum += task.bytes;
    return sum;
  };
  // Two matrices of rank 4 per adapted layer, in float32; see LinearLayers.
  EXPECT_GT(bytes(both), 0);
  EXPECT_LT(bytes(both), bytes(all) / 4);
}

TEST(LoraTest, AHostBoundJobBecomesSlower) {
  LinearLayers layers;
  Forecaster forecaster(layers.Build());
  const auto step_us = [&](const std::string& scenario) {
    const Forecast forecast = forecaster.Run(scenario, ParseScenario(scenario).value());
    EXPECT_TRUE(forecast.applies) << forecast.why;
    return forecast.step_ms.mid * 1e3;
  };
  // Six operators of 16 us vanish. 14 adapter kernels take 12.5 us of the host each.
  const double more = step_us("lora+gpu-speed:factor=1000") - step_us("gpu-speed:factor=1000");
  EXPECT_GT(more, 14 * 12.5 - 6 * 16 - 20);
  EXPECT_LT(more, 14 * 12.5 - 6 * 8);
}

}  // namespace lora_test
}  // namespace headroom
