#include <gtest/gtest.h>

#include "whatif/job/inserted_kernels.h"
#include "whatif/test_job.h"

namespace headroom {
namespace fp8_test {

/// Two steps of a linear layer (tokens x width) (width x width) with its two gradients, each of
/// which takes `us`, in float32.
JobBuilder Layer(std::int64_t tokens, std::int64_t width, std::int64_t us) {
  JobBuilder b;
  const auto matrix = [](std::int64_t rows, std::int64_t columns) {
    return "[" + std::to_string(rows) + ", " + std::to_string(columns) + "]";
  };
  const std::string forward = "[" + matrix(tokens, width) + ", " + matrix(width, width) + "]";
  const std::string weight = "[" + matrix(width, tokens) + ", " + matrix(tokens, width) + "]";
  for (int step = 0; step < 2; ++step) {
    b.Step();
    b.Forward("aten::mm", forward, us, 10 * step + 1, kGemm);
    b.Backward("MmBackward0", "aten::mm", forward, us, 10 * step + 1, kGemm);
    b.Backward("MmBackward0", "aten::mm", weight, us, 10 * step + 1, kGemm);
  }
  return b;
}

TEST(Fp8Test, ProductsShrinkAsTheModelSaysAndOperandsAreConvertedOnce) {
  JobBuilder b = Layer(16384, 8192, 40'000);
  const Applied amp(b.Build(), "amp");
  const Applied both(amp.job, "amp+fp8");
  ASSERT_TRUE(both.effect.applies) << both.effect.why;
  const DeviceSpec& device = *both.job.device();
  // The start of 1.2 us stays; 16 bits sustain 82 % of 989.4 TFLOP/s, 8 bits 68 % of 1978.9.
  const double share = 989.4 * 0.82 / (1978.9 * 0.68);
  for (std::size_t i = 0; i < amp.Times().size(); ++i)
    EXPECT_NEAR(both.Times()[i], 1.2 + share * (amp.Times()[i] - 1.2), 0.01) << i;
  // Per step: amax and cast of input and weight, and of the gradient of the output.
  EXPECT_EQ(both.edit.counts().inserted - amp.edit.counts().inserted, 2 * (4 + 2));
  const double tensor = 16384.0 * 8192;
  double conversions = 0;
  const auto inserted = Applied(amp.job, "amp+fp8:scaling=delayed");
  EXPECT_EQ(inserted.edit.counts().inserted - amp.edit.counts().inserted, 2 * (2 + 1));
  for (const double bytes : {4 * (tensor + 8192.0 * 8192), 4 * tensor})
    conversions += MemoryPassTime(bytes, device).us();
  double added = 0;
  Applied delayed(amp.job, "amp+fp8:scaling=delayed");
  for (const Edit::NewKernel& kernel : delayed.edit.inserted()) added += kernel.duration.us();
  Applied before(amp.job, "amp");
  for (const Edit::NewKernel& kernel : before.edit.inserted()) added -= kernel.duration.us();
  EXPECT_NEAR(added, 2 * conversions, 0.5);
}

TEST(Fp8Test, SmallLayersStayInSixteenBits) {
  JobBuilder b = Layer(512, 512, 100);
  const Applied amp(b.Build(), "amp");
  const Applied both(amp.job, "amp+fp8");
  EXPECT_EQ(both.effect.abstention, Abstention::kNothing);
  EXPECT_NE(both.effect.why.find("too small"), std::string::npos) << both.effect.why;
  EXPECT_EQ(both.Times(), amp.Times());
  EXPECT_EQ(both.edit.counts().inserted, amp.edit.counts().inserted);
}

TEST(Fp8Test, WhatCannotRunInFp8Abstains) {
  JobBuilder in_float32 = Layer(16384, 8192, 40'000);
  const Applied without_amp(in_float32.Build(), "fp8");
  EXPECT_FALSE(without_amp.effect.applies);
  EXPECT_NE(without_amp.effect.why.find("amp+fp8"), std::string::npos);
  JobBuilder odd = Layer(16384, 8200, 40'000);
  const Applied extents(odd.Build(), "amp+fp8");
  EXPECT_EQ(extents.Times(), Applied(extents.job, "amp").Times());
  EXPECT_NE(extents.effect.why.find("multiples of 16"), std::string::npos) << extents.effect.why;
  JobBuilder a100("NVIDIA A100-SXM4-80GB");
  a100.Step().Forward("aten::mm", "[[64, 64], [64, 64]]", 10, 1, kGemm);
  a100.Step().Forward("aten::mm", "[[64, 64], [64, 64]]", 10, 2, kGemm);
  const Applied no_hardware(a100.Build(), "fp8");
  EXPECT_FALSE(no_hardware.effect.applies);
  EXPECT_NE(no_hardware.effect.why.find("no tensor cores for fp8"), std::string::npos)
      << no_hardware.effect.why;
}

TEST(Fp8Test, BlockScaledRecipesNeedTheirRates) {
  JobBuilder h200 = Layer(16384, 8192, 40'000);
  const Applied refused(h200.Build(), "amp+fp8:recipe=mxfp8");
  EXPECT_FALSE(refused.effect.applies);
  EXPECT_EQ(refused.effect.why, "H200 has no tensor cores for mxfp8");
  JobBuilder b("NVIDIA B200");
  for (int step = 0; step < 2; ++step)
    b.Step().Forward("aten::mm", "[[16384, 8192], [8192, 8192]]", 40'000, step, kGemm);
  const Job& job = b.Build();
  const Applied amp(job, "amp"), mx(job, "amp+fp8:recipe=mxfp8"), nv(job, "amp+fp8:recipe=nvfp4");
  ASSERT_TRUE(mx.effect.applies && nv.effect.applies) << mx.effect.why << nv.effect.why;
  const DeviceSpec& device = *job.device();
  const double rates = device.sustained.gemm_16 / device.sustained.gemm_8;
  // 2,250 TFLOP/s in 16 bits, 4,500 in mxfp8 and 9,000 in nvfp4.
  EXPECT_NEAR(mx.Times()[0], 1.2 + rates / 2 * (amp.Times()[0] - 1.2), 0.1);
  EXPECT_NEAR(nv.Times()[0], 1.2 + rates / 4 * (amp.Times()[0] - 1.2), 0.1);
  // Blocks need no pass for the largest value; nvfp4 has one for the tensor.
  EXPECT_EQ(mx.edit.counts().inserted - amp.edit.counts().inserted, 2 * 2);
  EXPECT_EQ(nv.edit.counts().inserted - amp.edit.counts().inserted, 2 * 4);
}

}  // namespace fp8_test
}  // namespace headroom
