#include "whatif/scenarios/why_not_found.h"

#include <gtest/gtest.h>

#include "whatif/test_forecast.h"
#include "whatif/test_job.h"

namespace headroom {
namespace why_not_found_test {

constexpr std::string_view kProduct = "[[32, 64], [64, 64]]";

/// Two steps of two products and a ReLU, with a backward if `backward` is true.
JobBuilder Products(std::string_view first, std::string_view second, bool backward,
                    std::string_view kernel = kGemm, std::string_view gpu = "NVIDIA H200") {
  JobBuilder b(gpu);
  for (int step = 0; step < 2; ++step) {
    const int s = 10 * step;
    b.Step();
    b.Forward("aten::mm", first, 20, s + 1, kernel);
    b.Forward("aten::relu", first.empty() ? "" : "[[32, 64]]", 6, s + 2);
    b.Forward("aten::mm", second, 21, s + 3, kernel);
    if (backward) b.Backward("MmBackward0", "aten::mm", first, 40, s + 1, kernel);
  }
  return b;
}

/// Returns the reason why a scenario abstains.
std::string Why(JobBuilder b, std::string_view scenario) {
  const Applied applied(b.Build(), scenario);
  EXPECT_FALSE(applied.effect.applies) << scenario;
  return applied.effect.why;
}

constexpr const char* kNeedShapes[] = {
    "tf32", "amp", "checkpointing", "metaflow", "fuse-pointwise", "data-parallel:gpus=4"};

TEST(WhyNotFoundTest, MissingShapesAreNamedWithTheRemedy) {
  for (const char* scenario : kNeedShapes) {
    const std::string why = Why(Products("", "", true), scenario);
    EXPECT_NE(why.find("were not recorded (record_shapes=True)"), std::string::npos)
        << scenario << ": " << why;
  }
}

TEST(WhyNotFoundTest, WhatTheJobHasNotNeedsNoShapes) {
  for (const std::string_view dims : {kProduct, std::string_view()}) {
    for (const char* scenario : {"channels-last", "vdnn"})
      EXPECT_EQ(Why(Products(dims, dims, true), scenario), "the job has no convolutions");
    EXPECT_EQ(Why(Products(dims, dims, true), "restructured-batchnorm"),
              "the job has no batch norms");
  }
  EXPECT_EQ(Why(Products(kProduct, kProduct, true), "flash-attention"),
            "the job has no unfused attention (two batched products around a softmax)");
}

TEST(WhyNotFoundTest, AJobThatDoesNotTrainIsToldFromOneWithoutShapes) {
  for (const std::string_view dims : {kProduct, std::string_view()}) {
    for (const char* scenario : {"checkpointing", "data-parallel:gpus=4"}) {
      const std::string why = Why(Products(dims, dims, false), scenario);
      EXPECT_NE(why.find("no backward"), std::string::npos) << scenario << ": " << why;
    }
  }
}

TEST(WhyNotFoundTest, WithoutOperatorsNothingIsSaidOfTheJob) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  for (int step = 0; step < 2; ++step) {
    b.Step(step, kMain, 100 * step, 90);
    b.Call("cudaLaunchKernel", kMain, 100 * step + 5, 5, step + 1);
    b.Kernel(kGemm, kStream, 100 * step + 20, 50, step + 1);
  }
  TestForecasts job(b);
  for (const char* scenario :
       {"amp", "tf32", "channels-last", "restructured-batchnorm", "metaflow", "fuse-pointwise",
        "vdnn", "gist", "checkpointing", "data-parallel:gpus=4", "flash-attention"}) {
    const std::string why = job.WhyNot(scenario);
    EXPECT_NE(why.find("no operators were recorded"), std::string::npos) << scenario << ": " << why;
  }
}

TEST(WhyNotFoundTest, SomeShapesAreCounted) {
  const std::string why = Why(Products(kProduct, "", true), "metaflow");
  EXPECT_NE(why.find("2 of 6 matrix products and convolutions have no shapes"), std::string::npos)
      << why;
}

TEST(WhyNotFoundTest, KernelsTellWhereShapesDoNot) {
  constexpr std::string_view kBf16 =
      "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x5_tn_align8>";
  EXPECT_EQ(Why(Products("", "", true, kBf16), "amp"),
            "already: the matrix products and convolutions run in bf16");
  EXPECT_EQ(Why(Products("", "", true, kBf16), "tf32"),
            "already: the matrix products and convolutions run in bf16");
}

TEST(WhyNotFoundTest, AnUnknownGpuIsNamedAndAnUnnamedOneIsNot) {
  for (const char* scenario : {"tf32", "amp", "flash-attention", "gist"}) {
    EXPECT_NE(Why(Products(kProduct, kProduct, true, kGemm, "Abacus 9"), scenario)
                  .find("the GPU Abacus 9 is not in the device catalogue"),
              std::string::npos)
        << scenario;
    EXPECT_NE(Why(Products(kProduct, kProduct, true, kGemm, ""), scenario)
                  .find("the trace does not name its GPU"),
              std::string::npos)
        << scenario;
  }
}

}  // namespace why_not_found_test
}  // namespace headroom
