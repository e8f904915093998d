#include "analysis/tables/efficiency.h"

#include "analysis/test_trace.h"

namespace headroom {
namespace efficiency_test {

constexpr const char* kFp16Gemm = "nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_TNT";
constexpr double kFlops = 2.0 * 4096 * 4096 * 4096;

struct Job {
  const char* device = "NVIDIA H200";
  const char* kernel = kGemm;
  const char* type = "float";
  std::int64_t kernel_us = 4000;
  int gpus = 1;
};

/// Builds three steps, each with one product of 4096 x 4096 matrices on each GPU.
StoreBuilder Products(const Job& job) {
  StoreBuilder b;
  if (job.device != nullptr) {
    for (int gpu = 0; gpu < job.gpus; ++gpu) b.NameDevice(gpu, job.device);
  }
  std::int64_t correlation = 0;
  const std::string types = std::string("[\"") + job.type + "\", \"" + job.type + "\"]";
  for (int i = 0; i < 3; ++i) {
    const std::int64_t at = i * job.kernel_us;
    b.Step(i, kMain, at, job.kernel_us);
    for (int gpu = 0; gpu < job.gpus; ++gpu) {
      b.Op("aten::mm", kMain, at + gpu * 5, 3).Shapes("[[4096, 4096], [4096, 4096]]", types);
      b.Call("cudaLaunchKernel", kMain, at + gpu * 5, 1, ++correlation);
      b.Kernel(job.kernel, kStream, at + 20, job.kernel_us, correlation).Device(gpu);
    }
  }
  return b;
}

Efficiency EfficiencyOf(const StoreBuilder& b) { return AnalyzeTrace(b).efficiency; }

TEST(Efficiency, MfuIsFlopsOverTimeOfTheStepsTimesPeak) {
  const Efficiency use = EfficiencyOf(Products({}));
  ASSERT_TRUE(use.mfu_pct) << use.error;
  EXPECT_DOUBLE_EQ(*use.flops_per_step, kFlops);
  EXPECT_EQ(use.math_dtype, "fp32");
  // The first step waits 20 us for its kernel.
  EXPECT_NEAR(*use.mfu_pct, 100 * 3 * kFlops / (12.020e-3 * *use.peak_tflops * 1e12), 1e-9);
  EXPECT_NE(use.mfu_formula.find("0.137 TFLOP fp32 / 67 TFLOP/s"), std::string::npos)
      << use.mfu_formula;
  EXPECT_NE(use.mfu_formula.find("NVIDIA H200"), std::string::npos);
  EXPECT_EQ(use.costed_pct, 100);
  EXPECT_TRUE(use.error.empty());
}

TEST(Efficiency, IsOfTheStepsThatACutFileHoldsWhole) {
  StoreBuilder b = Products({});
  b.Step(3, kMain, 12'000, 4000);  // The file ends in its first call.
  b.Op("aten::mm", kMain, 12'000, 3);
  b.Op("aten::mm", kMain, 12'010, 3)
      .Shapes("[[4096, 4096], [4096, 4096]]", R"(["float", "float"])");
  b.Call("cudaLaunchKernel", kMain, 12'010, 1, 1000);
  b.Kernel(kGemm, kStream, 12'030, 40, 1000);
  const std::unique_ptr<TraceStore> cut = b.Build();
  cut->log.Add(ImportIssue::kTruncated);
  const Efficiency use = Analyze(*cut, TestReferenceData(), {}).value().efficiency;
  const Efficiency whole = EfficiencyOf(Products({}));
  EXPECT_EQ(use.flops_per_step, whole.flops_per_step);
  EXPECT_EQ(use.mfu_pct, whole.mfu_pct);
}

TEST(Efficiency, IsTakenAgainstThePeaksOfAllGpusThatTheStepsUse) {
  const Efficiency one = EfficiencyOf(Products({}));
  const Efficiency two = EfficiencyOf(Products({.gpus = 2}));
  ASSERT_TRUE(two.mfu_pct) << two.error;
  EXPECT_NEAR(*two.mfu_pct, *one.mfu_pct, 1e-9);
  EXPECT_NE(two.mfu_formula.find("x 2 GPUs"), std::string::npos) << two.mfu_formula;
}

TEST(Efficiency, MoreThanThePeakIsAnErrorAndNoFigure) {
  const Efficiency use = EfficiencyOf(Products({.kernel_us = 1000}));
  EXPECT_FALSE(use.mfu_pct);
  EXPECT_NE(use.error.find("100 %"), std::string::npos) << use.error;
}

TEST(Efficiency, OfAnUnknownDeviceIsUnknown) {
  for (const char* device : {static_cast<const char*>(nullptr), "Some GPU of the future"}) {
    const Efficiency use = EfficiencyOf(Products({.device = device}));
    EXPECT_TRUE(use.device_name.empty());
    EXPECT_TRUE(use.peaks.empty());
    EXPECT_FALSE(use.memory_bandwidth_gbs);
    EXPECT_FALSE(use.mfu_pct);
    EXPECT_FALSE(use.peak_tflops);
    EXPECT_FALSE(use.compute_bound_pct);
    EXPECT_TRUE(use.error.empty());
    EXPECT_DOUBLE_EQ(use.flops_per_step.value_or(0), kFlops) << "FLOPs need no device";
  }
}

TEST(Efficiency, TellsTensorCoresByTheKernelsName) {
  const Efficiency plain = EfficiencyOf(Products({}));
  EXPECT_EQ(plain.tensor_core_eligible_pct, 100);
  EXPECT_EQ(plain.tensor_core_used_pct, 0);
  const Efficiency half = EfficiencyOf(Products({.kernel = kFp16Gemm, .type = "c10::Half"}));
  EXPECT_EQ(half.tensor_core_used_pct, 100);
  EXPECT_EQ(half.math_dtype, "fp16");
  EXPECT_GT(*half.peak_tflops, *plain.peak_tflops);
}

/// Adds a product of 4096 x 4096 matrices that fills a step.
void ProductStep(StoreBuilder& b, int number, std::int64_t at, std::int64_t length,
                 const char* kernel = kGemm, const char* type = "float") {
  const std::string types = std::string("[\"") + type + "\", \"" + type + "\"]";
  b.Step(number, kMain, at, length);
  b.Op("aten::mm", kMain, at, 3).Shapes("[[4096, 4096], [4096, 4096]]", types);
  b.Call("cudaLaunchKernel", kMain, at, 1, number + 1);
  b.Kernel(kernel, kStream, at, length, number + 1);
}

TEST(Efficiency, OfStepsOfUnequalLengthIsThatOfAllTogether) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  ProductStep(b, 0, 0, 3000);
  ProductStep(b, 1, 3000, 3000);
  ProductStep(b, 2, 6000, 30000);
  const Efficiency use = EfficiencyOf(b);
  ASSERT_TRUE(use.mfu_pct) << use.error;
  EXPECT_NEAR(*use.mfu_pct, 100 * 3 * kFlops / (36e-3 * 67e12), 1e-9);
}

TEST(Efficiency, TakesEachTypeAgainstItsOwnPeak) {
  // By default PyTorch computes convolutions in TF32 and products in float32. Against float32's
  // peak alone, the two would exceed 100 %.
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  ProductStep(b, 0, 0, 2500);
  ProductStep(b, 1, 2500, 500, kFp16Gemm, "c10::Half");
  const Efficiency use = EfficiencyOf(b);
  ASSERT_TRUE(use.mfu_pct) << use.error;
  EXPECT_NEAR(*use.mfu_pct, 100 * (kFlops / 67e12 + kFlops / 989.4e12) / 3e-3, 0.1);
  EXPECT_NE(use.mfu_formula.find("fp16 /"), std::string::npos) << use.mfu_formula;
}

TEST(Efficiency, OfMostlyUnknownShapesIsNoMfu) {
  StoreBuilder b = Products({});
  for (int i = 0; i < 3; ++i)
    b.Launch("custom", kMain, i * 4000 + 50, kGemm, kSideStream, i * 4000 + 100, 3800);
  const Efficiency use = EfficiencyOf(b);
  EXPECT_FALSE(use.mfu_pct);
  EXPECT_NE(use.error.find("without recorded shapes"), std::string::npos) << use.error;
  EXPECT_NEAR(*use.mfu_coverage_pct, 100 * 4000.0 / 7800, 0.1);
}

TEST(Efficiency, LeavesOutOfTheBoundsWhatNoDeviceCanDo) {
  const Efficiency use = EfficiencyOf(Products({.kernel_us = 1000}));
  EXPECT_EQ(use.impossible_pct, 100);
  EXPECT_FALSE(use.compute_bound_pct);
}

TEST(Efficiency, DoesNotTakeUnknownKernelsForUnusedTensorCores) {
  StoreBuilder b = Products({.kernel = kFp16Gemm, .type = "c10::Half"});
  for (int i = 0; i < 3; ++i)
    b.Launch("custom", kMain, i * 4000 + 50, "triton_tem_fused_mm_0", kSideStream, i * 4000 + 100,
             1000);
  const Efficiency use = EfficiencyOf(b);
  EXPECT_EQ(use.tensor_core_used_pct, 100);
  EXPECT_NEAR(*use.tensor_core_unknown_pct, 20, 0.1);
}

TEST(Efficiency, OfAGpuWithoutTensorCoresDoesNotSpeakOfThem) {
  const Efficiency use = EfficiencyOf(Products({.device = "Tesla P100-PCIE-16GB"}));
  ASSERT_FALSE(use.device_name.empty());
  EXPECT_FALSE(use.tensor_core_eligible_pct);
  EXPECT_FALSE(use.tensor_core_used_pct);
}

TEST(Efficiency, NamesTheRoofsOfTheDevice) {
  const auto types_of = [](const Efficiency& use) {
    std::vector<std::string> types;
    for (const PeakRow& peak : use.peaks) types.push_back(peak.dtype);
    return types;
  };
  const Efficiency old = EfficiencyOf(Products({.device = "Tesla P100-PCIE-16GB"}));
  EXPECT_EQ(old.memory_bandwidth_gbs, 732);
  EXPECT_EQ(types_of(old), (std::vector<std::string>{"fp64", "fp32"}));
}

TEST(Efficiency, CountsRecomputedWorkOnce) {
  StoreBuilder b = Products({});
  const char* node = "autograd::engine::evaluate_function: CheckpointFunctionBackward";
  for (int i = 0; i < 3; ++i) {
    b.Op(node, kAutograd, i * 4000 + 100, 100).Sequence(1).ForwardThread(1);
    b.Op("aten::mm", kAutograd, i * 4000 + 110, 50)
        .Sequence(2)
        .Shapes("[[4096, 4096], [4096, 4096]]", R"(["float", "float"])");
    b.Call("cudaLaunchKernel", kAutograd, i * 4000 + 120, 1, 500 + i);
    b.Kernel(kGemm, kSideStream, i * 4000 + 150, 100, 500 + i);
  }
  EXPECT_DOUBLE_EQ(*EfficiencyOf(b).flops_per_step, kFlops);
}

TEST(Efficiency, WithoutShapesSaysNothingOfFlops) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200").Step(0, kMain, 0, 100);
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 60);
  b.Launch("custom", kMain, 5, "mystery", kStream, 70, 20);
  const Efficiency use = EfficiencyOf(b);
  EXPECT_FALSE(use.flops_per_step);
  EXPECT_FALSE(use.mfu_pct);
  EXPECT_FALSE(use.costed_pct);
  EXPECT_DOUBLE_EQ(use.unclassified_pct, 25);
  EXPECT_DOUBLE_EQ(use.tensor_core_eligible_pct.value_or(0), 75);
}

TEST(Efficiency, WithoutStepsOrTasksIsEmpty) {
  StoreBuilder b;
  EXPECT_FALSE(EfficiencyOf(b).flops_per_step);
  b.Kernel(kGemm, kStream, 0, 0);
  EXPECT_FALSE(EfficiencyOf(b).tensor_core_eligible_pct) << "no time, no share of it";
}

}  // namespace efficiency_test
}  // namespace headroom
