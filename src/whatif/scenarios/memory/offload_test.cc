#include <gtest/gtest.h>

#include <map>

#include "whatif/test_linear_layers.h"

namespace headroom {
namespace offload_test {

/// Bytes and microseconds per channel and step.
std::map<std::uint32_t, std::pair<double, double>> PerChannel(Applied& applied) {
  std::map<std::uint32_t, std::pair<double, double>> sums;
  for (const Edit::ChannelTask& task : applied.edit.channel_tasks()) {
    sums[task.channel].first += task.bytes / 3;
    sums[task.channel].second += task.duration.us() / 3;
  }
  return sums;
}

TEST(OffloadTest, TheOptimizersGradientsCrossPcieAndTheCpuUpdates) {
  LinearLayers layers;
  const Job& job = layers.Build();
  Applied applied(job, "offload:what=optimizer,host-gbs=50");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  constexpr double kBytes = 4 * (64 * 256 + 256 * 512 + 512 * 64);
  constexpr double kPcie = 63e3, kHost = 50e3;  // Bytes per us; the GPU's nominal PCIe.
  auto sums = PerChannel(applied);
  const std::uint32_t out = *applied.edit.FindChannel("copies out");
  const std::uint32_t in = *applied.edit.FindChannel("copies in");
  const std::uint32_t cpu = *applied.edit.FindChannel("CPU update");
  EXPECT_NEAR(sums[out].first, kBytes, 1);
  EXPECT_NEAR(sums[in].first, kBytes, 1);
  EXPECT_NEAR(sums[out].second, kBytes / kPcie, 0.01);
  // SGD without momentum reads and writes three tensors.
  EXPECT_NEAR(sums[cpu].second, 3 * kBytes / kHost, 0.01);
  EXPECT_EQ(applied.Times().back(), 0);  // No kernel updates.
  EXPECT_EQ(applied.effect.validated, Validity::kNo);
}

TEST(OffloadTest, InputsOfAllLayersButTheLastAreCopiedBothWays) {
  LinearLayers layers;
  const Job& job = layers.Build();
  Applied applied(job, "offload:what=activations");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  auto sums = PerChannel(applied);
  constexpr double kBytes = 4 * 32 * (64 + 256);  // Of A and B.
  EXPECT_NEAR(sums[*applied.edit.FindChannel("copies out")].first, kBytes, 1);
  EXPECT_NEAR(sums[*applied.edit.FindChannel("copies in")].first, kBytes, 1);
  JobBuilder unknown("");
  for (int step = 0; step < 2; ++step)
    unknown.Step().Forward("aten::mm", "[[32, 64], [64, 64]]", 10, step, kGemm);
  EXPECT_FALSE(Applied(unknown.Build(), "offload:what=activations").effect.applies);
}

}  // namespace offload_test
}  // namespace headroom
