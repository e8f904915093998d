#include "analysis/gpu/unit_use.h"

#include <gtest/gtest.h>

#include "analysis/test_trace.h"

namespace headroom {
namespace unit_use_test {

constexpr const char* kSms = "SMs Active [Throughput %]";
constexpr const char* kTensor = "Tensor Active [Throughput %]";
constexpr const char* kDram = "dram__throughput.avg.pct_of_peak_sustained_elapsed";

/// Builds six steps with a product of 600 us and a sum of 390 us, and a sample every 100 us.
StoreBuilder Sampled(double product_tensor, double sum_tensor, double product_dram,
                     double sum_dram) {
  StoreBuilder b;
  for (int i = 0; i < 6; ++i) {
    const std::int64_t at = i * 1000;
    b.Step(i, kMain, at, 1000);
    b.Launch("aten::mm", kMain, at, kGemm, kStream, at + 5, 600);
    b.Launch("aten::add", kMain, at + 10, kAdd, kStream, at + 605, 390);
  }
  for (int i = 0; i <= 60; ++i) {
    const bool product = i % 10 < 6;
    b.Counter(kSms, "GPU 0", "", i * 100, 90);
    b.Counter(kTensor, "GPU 0", "", i * 100, product ? product_tensor : sum_tensor);
    b.Counter(kDram, "GPU 0", "", i * 100, product ? product_dram : sum_dram);
  }
  return b;
}

const TimeRow* Kernel(const TraceReport& report, std::string_view name) {
  for (const TimeRow& row : report.kernels) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

TEST(UnitUse, SamplesAreJoinedToTheKernelsThatRunAlone) {
  const TraceReport report = AnalyzeTrace(Sampled(80, 0, 20, 70));
  const TimeRow* product = Kernel(report, kGemm);
  ASSERT_NE(product, nullptr);
  EXPECT_DOUBLE_EQ(product->units.sm_active_pct.value(), 90);
  EXPECT_DOUBLE_EQ(product->units.tensor_active_pct.value(), 80);
  EXPECT_DOUBLE_EQ(product->units.dram_active_pct.value(), 20);
  EXPECT_DOUBLE_EQ(Kernel(report, kAdd)->units.dram_active_pct.value(), 70);
  // 60 % of the time at 80 %.
  EXPECT_NEAR(report.efficiency.units.tensor_active_pct.value(), 48, 1);
  EXPECT_NEAR(report.efficiency.units.dram_active_pct.value(), 40, 1);
}

TEST(UnitUse, ASampleOfSeveralKernelsTellsOfNone) {
  StoreBuilder b;
  for (int i = 0; i < 20; ++i) {
    b.Launch("aten::mm", kMain, i * 100, kGemm, kStream, i * 100 + 5, 40);
    b.Launch("aten::add", kMain, i * 100 + 10, kAdd, kStream, i * 100 + 50, 40);
  }
  for (int i = 0; i <= 20; ++i) b.Counter(kTensor, "GPU 0", "", i * 100, 50);
  const TraceReport report = AnalyzeTrace(b);
  EXPECT_FALSE(Kernel(report, kGemm)->units.tensor_active_pct);
  EXPECT_NEAR(report.efficiency.units.tensor_active_pct.value(), 50, 1e-9);
}

TEST(UnitUse, AddsDramReadsAndWrites) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 5, 1000);
  for (int i = 0; i <= 10; ++i) {
    b.Counter("DRAM Read Bandwidth [Throughput %]", "GPU 0", "", i * 100, 30);
    b.Counter("DRAM Write Bandwidth [Throughput %]", "GPU 0", "", i * 100, i < 5 ? 12 : 90);
  }
  const UnitUse use =
      UnitSamples(*b.Build()).MeanOver(DeviceId(0u), IntervalSet::UnionOf({{AtUs(0), AtUs(1000)}}));
  EXPECT_NEAR(use.dram_active_pct.value(), (42 + 100) / 2.0, 1e-9);  // Capped at 100 %.
}

TEST(UnitUse, OtherCountersSayNothingOfUnits) {
  StoreBuilder b = Sampled(80, 0, 20, 70);
  StoreBuilder other;
  other.Launch("aten::mm", kMain, 0, kGemm, kStream, 5, 600);
  for (int i = 0; i < 9; ++i) {
    other.Counter("sm__cycles_active.sum", "GPU 0", "", i * 100, 50);  // Not a share.
    other.Counter("gpu_utilization", "GPU 0", "%", i * 100, 50);
    other.Counter(kTensor, "GPU 1", "", i * 100, 5000);  // Not a percentage.
  }
  EXPECT_TRUE(UnitSamples(*other.Build()).empty());
  EXPECT_FALSE(UnitSamples(*b.Build()).empty());
}

TEST(UnitUse, TheVerdictRestsOnCountersWhereShapesAreMissing) {
  const TraceReport memory = AnalyzeTrace(Sampled(15, 0, 80, 90));
  EXPECT_EQ(memory.bottleneck.verdict, Verdict::kGpuMemory);
  EXPECT_NE(memory.bottleneck.evidence[1].find("tensor cores 9"), std::string::npos)
      << memory.bottleneck.evidence[1];
  const TraceReport compute = AnalyzeTrace(Sampled(95, 60, 20, 10));
  EXPECT_EQ(compute.bottleneck.verdict, Verdict::kGpuCompute);
  EXPECT_EQ(compute.bottleneck.confidence, "high");
}

}  // namespace unit_use_test
}  // namespace headroom
