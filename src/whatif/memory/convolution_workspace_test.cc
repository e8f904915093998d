#include "whatif/memory/convolution_workspace.h"

#include <gtest/gtest.h>

#include "whatif/test_forecast.h"

namespace headroom {
namespace convolution_workspace_test {

struct Launched {
  const char* kernel;
  std::int32_t blocks, threads;
};

/// Workspaces of the last operator of a step, which launches these kernels.
std::vector<GrowingBytes> WorkspaceOf(std::string_view op, std::string_view dims,
                                      const std::vector<Launched>& kernels) {
  StoreBuilder b;
  const auto length = static_cast<std::int64_t>(10 + 10 * kernels.size());
  b.Step(0, kMain, 0, length + 10);
  b.Op(op, kMain, 1, length).Shapes(dims, R"(["float", "float", "float"])");
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const auto at = static_cast<std::int64_t>(2 + 10 * k), id = static_cast<std::int64_t>(k + 1);
    b.Call("cudaLaunchKernel", kMain, at, 4, id);
    b.Kernel(kernels[k].kernel, kStream, at + 5, 4, id).Grid(kernels[k].blocks, kernels[k].threads);
  }
  const TestForecasts test(b);
  return ConvolutionWorkspace(test.job(), OperatorsOfStep(test.job()).list.back());
}

constexpr std::string_view kForward = "[[8, 32, 16, 16], [64, 32, 1, 1], []]";
constexpr std::string_view kBackward = "[[8, 64, 16, 16], [8, 32, 16, 16], [64, 32, 1, 1]]";

TEST(ConvolutionWorkspaceTest, RoundsOfAnFftShareTheirMemory) {
  const char* input = "void fft2d_r2c_16x16<float>(float2*)";
  const auto calls = WorkspaceOf("aten::cudnn_convolution", kForward,
                                 {{input, 8, 64}, {"gemm", 1, 1}, {input, 8, 64}, {"gemm", 1, 1}});
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].per_batch, 8 * 64 / 16 * 16 * 9 * 8);
  EXPECT_EQ(calls[0].fixed, 0);
}

TEST(ConvolutionWorkspaceTest, OfWeightsThereIsOneTransformForEachPair) {
  const auto calls = WorkspaceOf("aten::cudnn_convolution", kForward,
                                 {{"fft2d_r2c_16x16", 64 * 32 * 16 / 64, 64}});
  EXPECT_EQ(calls[0].fixed, 64.0 * 32 * 16 * 9 * 8);
  EXPECT_EQ(calls[0].per_batch, 0);
}

TEST(ConvolutionWorkspaceTest, ChangesOfLayoutAddUp) {
  const char* to = "void cudnn::nchwToNhwcKernel<__half, __half, float>(...)";
  const auto calls = WorkspaceOf("aten::cudnn_convolution", kForward,
                                 {{to, 4, 256}, {to, 4, 256}, {"gemm", 1, 1}});
  EXPECT_EQ(calls[0].per_batch, 2 * 4 * 32 * 32 * 2);
}

TEST(ConvolutionWorkspaceTest, ABackwardMakesTwoCalls) {
  const char* to = "void cudnn::nchwToNhwcKernel<float, float, float>(...)";
  const auto calls = WorkspaceOf(
      "aten::convolution_backward", kBackward,
      {{to, 4, 256}, {"dgrad_engine", 1, 1}, {to, 2, 256}, {to, 3, 256}, {"wgrad_alg0", 1, 1}});
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].At(2), 2 * 4 * 32 * 32 * 4);
  EXPECT_EQ(calls[1].At(1), 5 * 32 * 32 * 4);
}

TEST(ConvolutionWorkspaceTest, OnTensorCoresAllIsBroughtIntoTheirLayout) {
  StepOperator op;
  op.name = "aten::cudnn_convolution";
  const std::string_view types =
      R"(["float", "float", "", "ScalarList", "ScalarList", "ScalarList", "Scalar"])";
  const std::string_view dims = "[[8, 32, 16, 16], [64, 32, 1, 1], [], [], [], [], []]";
  const std::string_view values = R"(["", "", "", "[0, 0]", "[1, 1]", "[1, 1]", "1"])";
  op.call = ParseOperatorCall(op.name, {dims, types, "", values});
  const auto calls = TensorCoreWorkspace(op, 2);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].fixed, 2 * 64 * 32);
  EXPECT_EQ(calls[0].per_batch, 2 * (8 * 32 * 256 + 8 * 64 * 256));
  const std::string_view strides = "[[8192, 1, 512, 32], [32, 1, 32, 32], [], [], [], [], []]";
  op.call = ParseOperatorCall(op.name, {dims, types, strides, values});
  EXPECT_TRUE(TensorCoreWorkspace(op, 2).empty());
}

}  // namespace convolution_workspace_test
}  // namespace headroom
