#include <gtest/gtest.h>

#include "whatif/test_job.h"

namespace headroom {
namespace channels_last_test {

constexpr std::string_view kReorder =
    "void cudnn::ops::nchwToNhwcKernel<__half, __half, float>(int)";
constexpr std::string_view kTensorCores =
    "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64";
constexpr std::string_view kOrdinary = "void implicit_convolve_sgemm<float, float, 128>(int)";

/// A convolution of 64 images, 256 to 256 channels of 56 x 56, 3 x 3, and a ReLU; three steps.
JobBuilder Convolutions(const std::vector<std::pair<std::string_view, std::int64_t>>& kernels) {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.Step();
    b.Forward("aten::cudnn_convolution",
              "[[64, 256, 56, 56], [256, 256, 3, 3], [], [], [], [], [], [], []]", 10 * step + 1,
              kernels, R"(["", "", "[1, 1]", "[1, 1]", "[1, 1]", "1", "False", "False", "False"])");
    b.Forward("aten::relu", "[[64, 256, 56, 56]]", 90, 10 * step + 2);
  }
  return b;
}

TEST(ChannelsLastTest, WhatOnlyReordersGoes) {
  JobBuilder b = Convolutions({{kReorder, 50}, {kTensorCores, 400}, {kReorder, 51}});
  const Applied applied(b.Build(), "channels-last");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  EXPECT_EQ(applied.Times(), (std::vector<double>{400, 90, 400, 90, 400, 90}));
}

TEST(ChannelsLastTest, ConvolutionsThatAmpPutsOnTensorCoresReorderNothing) {
  JobBuilder b = Convolutions({{kOrdinary, 8'000}});
  const Job& job = b.Build();
  const Applied amp(job, "amp"), both(job, "channels-last+amp");
  ASSERT_TRUE(both.effect.applies) << both.effect.why;
  // Saves reading and writing the input and the output, 103 MB each. That is 411 MB at 57 % of 4.8
  // TB/s, and the starts of three kernels.
  EXPECT_NEAR(amp.Times()[0] - both.Times()[0], 2 * 205.5e6 / (0.57 * 4.8e6) + 3 * 4, 1);
  EXPECT_EQ(amp.Times()[1], both.Times()[1]);
}

TEST(ChannelsLastTest, OnOrdinaryArithmeticItGainsNothing) {
  JobBuilder b = Convolutions({{kReorder, 50}, {kOrdinary, 8'000}});
  const Applied applied(b.Build(), "channels-last");
  EXPECT_FALSE(applied.effect.applies);
  EXPECT_NE(applied.effect.why.find("amp+channels-last"), std::string::npos);
}

}  // namespace channels_last_test
}  // namespace headroom
