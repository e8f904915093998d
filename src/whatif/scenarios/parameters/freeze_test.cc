#include <gtest/gtest.h>

#include "whatif/test_linear_layers.h"

namespace headroom {
namespace freeze_test {

TEST(FreezeTest, TheWeightGradientOfALaterLayerVanishes) {
  LinearLayers layers;
  const Applied applied(layers.Build(), "freeze:match=layer::C");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  // C has 32,768 of 180,224 parameters, so its update takes 18.18 % of 98.8 us, beside the start.
  const std::vector<double> times = applied.Times();
  const std::vector<double> step = {10, 2, 20, 30, 32, 21, 3, 22, 4, 11, 3, 1.2 + 98.8 * 9 / 11};
  ASSERT_EQ(times.size(), 3 * step.size());
  for (std::size_t i = 0; i < step.size(); ++i) EXPECT_NEAR(times[i], step[i], 0.002) << i;
  EXPECT_EQ(applied.effect.validated, Validity::kNo);
  EXPECT_EQ(applied.effect.why.find("the backward ends"), std::string::npos);
}

TEST(FreezeTest, TheBackwardEndsAtTheFirstTrainedLayer) {
  LinearLayers layers;
  const Job& job = layers.Build();
  const Applied applied(job, "freeze:match=layer::(A|B)");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  // Also C's gradient of its input vanishes.
  const std::vector<double> times = applied.Times();
  const std::vector<double> step = {10, 2, 20, 30, 31, 3, 1.2 + 98.8 * 2 / 11};
  ASSERT_EQ(times.size(), 3 * step.size());
  for (std::size_t i = 0; i < step.size(); ++i) EXPECT_NEAR(times[i], step[i], 0.002) << i;
  EXPECT_NE(applied.effect.why.find("the backward ends at the first trained layer"),
            std::string::npos);
  EXPECT_FALSE(applied.effect.memory_delta_bytes);
  // Nothing of the vanished backward is launched: B's and A's products, sums and the ReLU.
  const Edit before(job.graph(), job.corrected());
  std::int64_t calls = 0;
  double host_before = 0, host_after = 0;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind != TaskKind::kCall) continue;
    calls += applied.edit.IsRemoved(task) ? 1 : 0;
    host_before += before.WorkBefore(task).us();
    host_after += applied.edit.WorkBefore(task).us();
  }
  EXPECT_EQ(calls, 3 * 7);
  // At least 8 us of each of these operators' host time is outside their launches.
  EXPECT_LT(host_after, host_before - 3 * 7 * 8);
}

TEST(FreezeTest, AnOperatorWithoutParametersHasNothingToFreeze) {
  LinearLayers layers;
  const Applied applied(layers.Build(), "freeze:match=relu");
  EXPECT_FALSE(applied.effect.applies);
  EXPECT_EQ(applied.effect.why, "no trained parameter has an operator or layer that matches relu");
  EXPECT_EQ(applied.edit.counts().removed, 0);
  EXPECT_EQ(applied.edit.counts().tasks, 0);
}

TEST(FreezeTest, SomethingMustRemain) {
  LinearLayers layers;
  const Applied applied(layers.Build(), "freeze:match=aten::mm");
  EXPECT_FALSE(applied.effect.applies);
  EXPECT_EQ(applied.effect.why, "everything matches: then nothing is trained");
  EXPECT_EQ(applied.edit.counts().removed, 0);
}

TEST(FreezeTest, NeedsShapes) {
  LinearLayers layers(false);
  const Applied applied(layers.Build(), "freeze:match=layer::A");
  EXPECT_FALSE(applied.effect.applies);
  EXPECT_NE(applied.effect.why.find("has a recorded shape"), std::string::npos)
      << applied.effect.why;
}

TEST(FreezeTest, SaysIfTheUpdateIsUnknown) {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    const int s = 100 * step;
    b.Step();
    for (int layer = 1; layer <= 2; ++layer) {
      b.Around("layer::" + std::to_string(layer), [&](JobBuilder& in) {
        in.Forward("aten::mm", "[[32, 64], [64, 64]]", 10, s + layer, kGemm);
      });
    }
    for (int layer = 2; layer >= 1; --layer) {
      b.Backward("MmBackward0", "aten::mm", "[[64, 32], [32, 64]]", 20, s + layer, kGemm);
      b.Accumulate("[[64, 64]]", 3);
    }
    b.Forward("aten::add_", "[[64, 64], [64, 64], []]", 7, -1);
  }
  const Applied applied(b.Build(), "freeze:match=layer::2");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  EXPECT_EQ(applied.Times().size(), 3u * 5);
  EXPECT_NE(applied.effect.why.find("the update keeps its time"), std::string::npos)
      << applied.effect.why;
}

TEST(FreezeTest, TwoSelectionsAreOneAndTheSecondOnlyAddsToTheFirst) {
  LinearLayers layers;
  const Job& job = layers.Build();
  const Applied both(job, "freeze:match=layer::(A|C)");
  const Applied apart(job, "freeze:match=layer::A+freeze:match=layer::C");
  ASSERT_TRUE(both.effect.applies && apart.effect.applies) << apart.effect.why;
  const std::vector<double> expected = both.Times(), times = apart.Times();
  ASSERT_EQ(times.size(), expected.size());
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_NEAR(times[i], expected[i], 0.01) << i;
  const Applied again(job, "freeze:match=layer::A+freeze:match=layer::A");
  EXPECT_EQ(again.Times(), Applied(job, "freeze:match=layer::A").Times());
  EXPECT_NE(again.effect.why.find("already: parameters that match layer::A are frozen"),
            std::string::npos);
}

TEST(FreezeTest, ClippingShrinksWithTheBytes) {
  LinearLayers layers(true, 21);
  const Job& job = layers.Build();
  const Applied applied(job, "freeze:match=layer::C");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  // C has 512 x 64 of 512 x 64 + 256 x 512 + 64 x 256 elements. The kernel's start of 1.2 us stays.
  const double kept = 1 - 512.0 * 64 / (512 * 64 + 256 * 512 + 64 * 256);
  const std::vector<double> times = applied.Times();
  EXPECT_NEAR(times[times.size() - 2], 1.2 + (21 - 1.2) * kept, 0.01);
}

TEST(FreezeTest, CastsOfVanishedProductsVanish) {
  LinearLayers layers;
  const Job& job = layers.Build();
  Applied amp(job, "amp"), both(job, "amp+freeze:match=layer::(A|B)");
  ASSERT_TRUE(both.effect.applies) << both.effect.why;
  EXPECT_LT(both.edit.inserted().size(), amp.edit.inserted().size());
  for (const Edit::NewKernel& kernel : both.edit.inserted())
    EXPECT_FALSE(both.edit.IsRemoved(kernel.before_task));
}

TEST(FreezeTest, FrozenGradientsAreNotExchanged) {
  LinearLayers layers;
  const Job& job = layers.Build();
  Applied all(job, "data-parallel:gpus=4"),
      some(job, "freeze:match=layer::(A|B)+data-parallel:gpus=4");
  ASSERT_TRUE(some.effect.applies) << some.effect.why;
  const auto bytes = [](Edit& edit) {
    double sum = 0;
    for (const Edit::ChannelTask& task : edit.channel_tasks()) sum += task.bytes;
    return sum;
  };
  EXPECT_DOUBLE_EQ(bytes(all.edit), 3 * 4.0 * 180'224);
  EXPECT_DOUBLE_EQ(bytes(some.edit), 3 * 4.0 * 32'768);
}

/// Two convolutions; cuDNN's kernel names show the gradients of the second only.
TEST(FreezeTest, ConvolutionsComputeTwoGradients) {
  JobBuilder b;
  constexpr std::string_view kDims =
      "[[8, 16, 32, 32], [16, 16, 3, 3], [], [], [], [], [], [], []]";
  constexpr std::string_view kBackwardDims =
      "[[8, 16, 32, 32], [8, 16, 32, 32], [16, 16, 3, 3], [], [], [], [], [], [], [], []]";
  constexpr std::string_view kConcrete =
      R"(["", "", "", "[0]", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]"])";
  using Kernels = std::vector<std::pair<std::string_view, std::int64_t>>;
  const Kernels kShown = {{"cudnn::dgrad2d_alg1_1", 40}, {"cudnn::wgrad_alg0_engine", 50}};
  const Kernels kHidden = {{"implicit_convolve_sgemm", 60}};
  for (int step = 0; step < 3; ++step) {
    const int s = 100 * step;
    b.Step();
    for (int layer = 1; layer <= 3; ++layer) {
      b.Around("layer::" + std::to_string(layer), [&](JobBuilder& in) {
        in.Forward("aten::cudnn_convolution", kDims, 10, s + layer);
      });
    }
    for (int layer = 3; layer >= 1; --layer) {
      b.Backward("ConvolutionBackward0", "aten::convolution_backward", kBackwardDims, s + layer,
                 layer == 2 ? kShown : kHidden, kConcrete);
      b.Accumulate("[[16, 16, 3, 3]]", 3);
    }
  }
  const Job& job = b.Build();
  const auto first_step = [&](std::string_view scenario, std::size_t tasks) {
    const Applied applied(job, scenario);
    EXPECT_TRUE(applied.effect.applies) << applied.effect.why;
    std::vector<double> times = applied.Times();
    EXPECT_EQ(times.size(), 3 * tasks);
    times.resize(tasks);
    return times;
  };
  EXPECT_EQ(first_step("freeze:match=layer::2", 8),
            (std::vector<double>{10, 10, 10, 60, 3, 40, 60, 3}));
  EXPECT_EQ(first_step("freeze:match=layer::3", 9),
            (std::vector<double>{10, 10, 10, 30, 40, 50, 3, 60, 3}));
  EXPECT_EQ(Applied(job, "freeze:match=layer::3").effect.gpu_error, 0.3);
  // Now the second convolution is the first trained one. It needs only its weight's gradient.
  EXPECT_EQ(first_step("freeze:match=layer::1", 7),
            (std::vector<double>{10, 10, 10, 60, 3, 50, 3}));
}

}  // namespace freeze_test
}  // namespace headroom
