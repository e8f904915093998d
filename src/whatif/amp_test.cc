#include <gtest/gtest.h>

#include "whatif/inserted_kernels.h"
#include "whatif/test_job.h"

namespace headroom {
namespace amp_test {

constexpr std::string_view kOrdinary = "void implicit_convolve_sgemm<float, float, 128>(int)";
constexpr std::string_view kImages = "[[64, 256, 56, 56]]";  // 51.4 million elements, 206 MB.

/// A convolution of 64 images, 256 to 256 channels of 56 x 56, 3 x 3, whose bias is added in
/// `bias_us`, and an operator behind it that takes `us`; two steps.
JobBuilder Network(std::int64_t bias_us, std::string_view op, std::string_view dims,
                   std::int64_t us) {
  JobBuilder b;
  for (int step = 0; step < 2; ++step) {
    b.Step();
    b.Around("aten::_convolution", [&](JobBuilder& inside) {
      inside.Forward("aten::cudnn_convolution",
                     "[[64, 256, 56, 56], [256, 256, 3, 3], [], [], [], [], [], [], []]",
                     10 * step + 1, {{kOrdinary, 8'000}},
                     R"(["", "", "[1, 1]", "[1, 1]", "[1, 1]", "1", "False", "False", "False"])");
      inside.Forward("aten::add_", "[[64, 256, 56, 56], [1, 256, 1, 1], []]", bias_us,
                     10 * step + 2);
    });
    b.Forward(op, dims, us, 10 * step + 3);
  }
  return b;
}

TEST(AmpTest, WhatReachesTheBandwidthHalvesAndWhatDoesNotStays) {
  // A relu reads and writes 411 MB: in 90 us at 95 % of 4.8 TB/s, in 200 us at 43 %.
  for (const auto& [us, expected] : {std::pair(90, 45.0 + kKernelStart / 2e3), {200, 200.0}}) {
    JobBuilder b = Network(160, "aten::relu", kImages, us);
    const Applied amp(b.Build(), "amp:dtype=bf16");
    ASSERT_TRUE(amp.effect.applies) << amp.effect.why;
    EXPECT_NEAR(amp.Times()[2], expected, 0.01) << us;
  }
  // In between, in between: 411 MB in 122 us are 70 %.
  JobBuilder b = Network(160, "aten::relu", kImages, 122);
  EXPECT_NEAR(Applied(b.Build(), "amp:dtype=bf16").Times()[2], 0.75 * 122, 1);
}

TEST(AmpTest, TheBiasOfAConvolutionIsAddedInItsType) {
  // Not a mixed addition, behind which all would be float32; and it is far from the bandwidth.
  JobBuilder b = Network(160, "aten::relu", kImages, 90);
  const std::vector<double> times = Applied(b.Build(), "amp:dtype=bf16").Times();
  EXPECT_EQ(times[1], 160);
  EXPECT_LT(times[2], 50);
}

TEST(AmpTest, ToFloat32ACastTakesTwiceAsLong) {
  // Casts of 51.4 million elements move 308 MB: of the images before the convolution at 90 % of the
  // bandwidth, of its result before a softmax at 44 %.
  const auto inserted_us = [](std::string_view op) {
    JobBuilder b = Network(160, op, kImages, 300);
    Applied amp(b.Build(), "amp:dtype=bf16");
    double us = 0;
    for (const auto& kernel : amp.edit.inserted()) us += kernel.duration.us();
    return us / 2;
  };
  const double weights = 6 * 256 * 256 * 9 / (0.9 * 4.8e6) + kKernelStart / 1e3,
               images = 308.3 / (0.9 * 4.8) + kKernelStart / 1e3,
               result = 308.3 / (0.44 * 4.8) + kKernelStart / 1e3;
  EXPECT_NEAR(inserted_us("aten::relu"), weights + images, 0.1);
  EXPECT_NEAR(inserted_us("aten::_softmax"), weights + images + result, 0.1);
}

}  // namespace amp_test
}  // namespace headroom
