#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "whatif/job/inserted_kernels.h"
#include "whatif/test_job.h"

namespace headroom {
namespace amp_test {

constexpr std::string_view kOrdinary = "void implicit_convolve_sgemm<float, float, 128>(int)";
constexpr std::string_view kImages = "[[64, 256, 56, 56]]";  // 51.4 million elements, 206 MB.

/// Two steps. A convolution of 64 images, 256 to 256 channels of 56 x 56, 3 x 3, whose bias is
/// added in `bias_us`. The operator after it takes `us`.
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
  // A ReLU reads and writes 411 MB: in 90 us at 95 % of 4.8 TB/s, in 200 us at 43 %.
  for (const auto& [us, expected] : {std::pair(90, 45.0 + kKernelStart / 2e3), {200, 200.0}}) {
    JobBuilder b = Network(160, "aten::relu", kImages, us);
    const Applied amp(b.Build(), "amp:dtype=bf16");
    ASSERT_TRUE(amp.effect.applies) << amp.effect.why;
    EXPECT_NEAR(amp.Times()[2], expected, 0.01) << us;
  }
  // Between the two limits, the factor is interpolated. 411 MB in 124 us, with a start of 1.2 us,
  // are 70 %.
  JobBuilder b = Network(160, "aten::relu", kImages, 124);
  EXPECT_NEAR(Applied(b.Build(), "amp:dtype=bf16").Times()[2], 0.75 * 124, 2);
}

TEST(AmpTest, AJobIn16BitsWithATinyProductOfFloat32HasItAlready) {
  const auto products = [](std::int64_t float_us) {
    JobBuilder b;
    for (int step = 0; step < 2; ++step) {
      b.Step();
      b.Typed(R"(["c10::BFloat16", "c10::BFloat16"])")
          .Forward("aten::mm", "[[512, 4096], [4096, 4096]]", 10 * step + 1,
                   {{"nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT", 96}});
      b.Forward("aten::bmm", "[[1, 32, 1], [1, 1, 512]]", float_us, 10 * step + 2,
                "ampere_sgemm_32x32_nn");
    }
    return b;
  };
  JobBuilder tiny = products(4);
  const Applied already(tiny.Build(), "amp");
  EXPECT_EQ(already.effect.abstention, Abstention::kAlready);
  EXPECT_EQ(already.effect.why,
            "already: the matrix products and convolutions run in bf16; float32 takes 4.0 % "
            "of their time");
  EXPECT_EQ(already.edit.counts().inserted, 0);
  JobBuilder half = products(96);
  EXPECT_NE(Applied(half.Build(), "amp").effect.abstention, Abstention::kAlready);
}

TEST(AmpTest, TheBiasOfAConvolutionIsAddedInItsType) {
  // The bias is not a mixed addition, which would make all later tensors float32. It is also far
  // from the bandwidth limit.
  JobBuilder b = Network(160, "aten::relu", kImages, 90);
  const std::vector<double> times = Applied(b.Build(), "amp:dtype=bf16").Times();
  EXPECT_EQ(times[1], 160);
  EXPECT_LT(times[2], 50);
}

/// Returns the microseconds of each kernel that a scenario inserts into a job of one step, in
/// order.
std::vector<double> InsertedUs(JobBuilder b, std::string_view scenario) {
  Applied applied(b.Build(), scenario);
  EXPECT_TRUE(applied.effect.applies) << applied.effect.why;
  std::vector<double> times;
  for (const auto& kernel : applied.edit.inserted()) times.push_back(kernel.duration.us());
  return times;
}

TEST(AmpTest, ToFloat32ACastTakesTwiceAsLong) {
  // Casts of 51.4 million elements move 308 MB. Casts of the images before the convolution reach 90
  // % of the bandwidth. Casts of its result before a softmax reach 44 %.
  const auto inserted_us = [](std::string_view op, std::string_view scenario) {
    const std::vector<double> times = InsertedUs(Network(160, op, kImages, 300), scenario);
    return std::accumulate(times.begin(), times.end(), 0.0) / 2;
  };
  const double weights = 6 * 256 * 256 * 9 / (0.9 * 4.8e6) + kKernelStart / 1e3,
               images = 308.3 / (0.9 * 4.8) + kKernelStart / 1e3,
               result = 308.3 / (0.44 * 4.8) + kKernelStart / 1e3;
  EXPECT_NEAR(inserted_us("aten::relu", "amp:dtype=bf16"), weights + images, 0.1);
  EXPECT_NEAR(inserted_us("aten::_softmax", "amp:dtype=bf16"), weights + images + result, 0.1);
  // From float16, a softmax reads its input without a cast.
  EXPECT_NEAR(inserted_us("aten::_softmax", "amp:dtype=fp16"), weights + images, 0.1);
}

/// A layer over 4096 rows of 1024, forward and backward, `batches` times per step.
JobBuilder Layers(int batches) {
  JobBuilder b;
  b.Step();
  for (int batch = 0; batch < batches; ++batch) {
    b.Forward("aten::mm", "[[4096, 1024], [1024, 2048]]", 400, 10 * batch + 1, kGemm);
    b.Backward("autograd::engine::evaluate_function: MmBackward0", "aten::mm",
               "[[1024, 4096], [4096, 2048]]", 400, 10 * batch + 1, kGemm);
  }
  return b;
}

TEST(AmpTest, ABackwardUndoesTheCastsOfItsForward) {
  // 4.2 million activations and 2.1 million weights, in both directions.
  const double activations = 6 * 4096.0 * 1024 / 4.8e6, weights = activations / 2;
  const std::vector<double> times = InsertedUs(Layers(1), "amp:dtype=bf16");
  ASSERT_EQ(times.size(), 4u);
  EXPECT_NEAR(times[0], activations / 0.9 + kKernelStart / 1e3, 0.1);
  EXPECT_NEAR(times[1], weights / 0.9 + kKernelStart / 1e3, 0.1);
  EXPECT_NEAR(times[2], activations / 0.44 + kKernelStart / 1e3, 0.1);
  EXPECT_NEAR(times[3], weights / 0.44 + kKernelStart / 1e3, 0.1);
}

TEST(AmpTest, WhatABatchBeginsWithWasNotMadeByTheOneBefore) {
  // Gradients accumulate over two batches, and both begin with float32.
  EXPECT_EQ(InsertedUs(Layers(2), "amp:dtype=bf16").size(), 8u);
}

TEST(AmpTest, WhatCheckpointingRunsAgainIsAForwardWithCastsOfItsOwn) {
  JobBuilder b;
  b.Step();
  b.Forward("aten::mm", "[[4096, 1024], [1024, 2048]]", 400, 1, kGemm);
  b.Recomputed("aten::mm", "[[4096, 1024], [1024, 2048]]", 400, 1, kGemm);
  const std::vector<double> times = InsertedUs(std::move(b), "amp:dtype=bf16");
  ASSERT_EQ(times.size(), 4u);
  // Both forward passes cast to 16 bits, and neither casts back.
  EXPECT_EQ(times[2], times[0]);
  EXPECT_EQ(times[3], times[1]);
}

/// Two convolutions of 64 images of 56 x 56 and of 28 x 28, with an operator between them.
JobBuilder WithBetween(std::string_view op, std::string_view dims) {
  constexpr std::string_view kValues =
      R"(["", "", "[1, 1]", "[1, 1]", "[1, 1]", "1", "False", "False", "False"])";
  JobBuilder b;
  b.Step();
  b.Forward("aten::cudnn_convolution",
            "[[64, 256, 56, 56], [256, 256, 3, 3], [], [], [], [], [], [], []]", 1,
            {{kOrdinary, 8'000}}, kValues);
  b.Forward("aten::max_pool2d_with_indices", kImages, 300, 2);
  b.Forward(op, dims, 300, 3);
  b.Forward("aten::cudnn_convolution",
            "[[64, 256, 28, 28], [256, 256, 3, 3], [], [], [], [], [], [], []]", 4,
            {{kOrdinary, 2'000}}, kValues);
  return b;
}

TEST(AmpTest, WhatAPoolMakesHasTheTypeOfWhatItRead) {
  // No write of this size is known. The second convolution therefore needs a cast of its weights
  // only, also after an operator without type information.
  EXPECT_EQ(InsertedUs(WithBetween("aten::relu", "[[64, 256, 28, 28]]"), "amp:dtype=bf16").size(),
            3u);
  EXPECT_EQ(InsertedUs(WithBetween("aten::cat", ""), "amp:dtype=bf16").size(), 3u);
  EXPECT_EQ(InsertedUs(WithBetween("aten::arange", "[[]]"), "amp:dtype=bf16").size(), 3u);
}

TEST(AmpTest, ATableIsFloat32WhateverCameBefore) {
  // The looked-up values are cast before the product.
  EXPECT_EQ(InsertedUs(WithBetween("aten::embedding", "[[30000, 768]]"), "amp:dtype=bf16").size(),
            4u);
}

}  // namespace amp_test
}  // namespace headroom
