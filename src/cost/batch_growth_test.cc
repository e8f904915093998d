#include "cost/batch_growth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace headroom {
namespace {

DeviceSpec H200() {
  DeviceSpec spec;
  spec.fp32_tflops = 66.9;
  spec.tf32_tensor_tflops = 494.7;
  spec.fp16_tensor_tflops = spec.bf16_tensor_tflops = 989;
  spec.memory_bandwidth_gbs = 4800;
  return spec;
}

DurationNs Us(double us) { return DurationNs(std::llround(us * 1e3)); }

OperatorCall Call(std::string_view name, std::vector<std::vector<std::int64_t>> shapes) {
  OperatorCall call;
  call.name = name;
  for (std::vector<std::int64_t>& dims : shapes) {
    TensorArg tensor;
    tensor.dims = std::move(dims);
    tensor.dtype = DType::kF32;
    OperatorArg arg;
    arg.kind = OperatorArg::Kind::kTensor;
    arg.tensors.push_back(std::move(tensor));
    call.args.push_back(std::move(arg));
  }
  return call;
}

/// Microseconds of a call of `us` microseconds with `ratio` times the batch.
double Grown(const OperatorCall& call, double us, double ratio, DType dtype = DType::kF32,
             double waves = 1) {
  const std::optional<double> stays =
      ShareThatStays(call, dtype, dtype != DType::kF32, Us(us), waves, H200());
  EXPECT_TRUE(stays.has_value());
  return us * (*stays + (1 - *stays) * ratio);
}

// Kernels of bert_base in float32 at batches of 1 and 8, and of gpt2 at 1 and 4, on one H200.
TEST(BatchGrowthTest, ProductsMeasuredOnOneH200) {
  const auto product = [](std::int64_t m, std::int64_t k, std::int64_t n) {
    return Call("aten::mm", {{m, k}, {k, n}});
  };
  EXPECT_NEAR(Grown(product(384, 768, 768), 19.5, 8), 95.0, 0.15 * 95.0);
  EXPECT_NEAR(Grown(product(768, 384, 768), 21.4, 8), 82.8, 0.15 * 82.8);
  EXPECT_NEAR(Grown(product(384, 768, 3072), 66.4, 8), 382.2, 0.15 * 382.2);
  EXPECT_NEAR(Grown(product(384, 3072, 768), 132.0, 8), 432.0, 0.15 * 432.0);
  EXPECT_NEAR(Grown(product(1024, 3072, 768), 142.8, 4), 423.8, 0.15 * 423.8);
  EXPECT_NEAR(Grown(product(1024, 768, 50257), 1603.7, 4), 6213.9, 0.15 * 6213.9);
}

// The last layers of vgg19 read their weights at both batches: eight times the samples take little
// longer.
TEST(BatchGrowthTest, WeightsAreReadOnce) {
  EXPECT_NEAR(Grown(Call("aten::mm", {{8, 25088}, {25088, 4096}}), 218.2, 8), 546.1, 0.2 * 546.1);
}

// A convolution's backward of resnet50 in float32 at batches of 8 and 64, on one H200.
TEST(BatchGrowthTest, OfConvolutionsOnlyWhatFewBlocksLoseStays) {
  const std::optional<OperatorCall> call = ParseOperatorCall(
      "aten::convolution_backward",
      {"[[8, 256, 56, 56], [8, 64, 56, 56], [256, 64, 1, 1], [], [], [], [], [], [], [], []]",
       R"(["float", "float", "float", "ScalarList", "", "", "", "", "", "", ""])", "",
       R"(["", "", "", "[0]", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1", )"
       R"("[True, True, False]"])"});
  ASSERT_TRUE(call.has_value());
  EXPECT_NEAR(Grown(*call, 140.4, 8, DType::kF32, 896.0 / 264), 979.3, 0.05 * 979.3);
  // In another precision, of which no blocks are known, only its start stays.
  const std::optional<double> stays =
      ShareThatStays(*call, DType::kF16, true, Us(100), std::nullopt, H200());
  EXPECT_NEAR(*stays, 0.04, 1e-9);
}

TEST(BatchGrowthTest, AProductAtItsSustainedRateGrowsInProportion) {
  const OperatorCall call = Call("aten::mm", {{4096, 4096}, {4096, 4096}});
  const double ideal_us = 2.0 * 4096 * 4096 * 4096 / (66.9e6 * 0.7);
  EXPECT_DOUBLE_EQ(Grown(call, ideal_us / 1.2, 3), 3 * ideal_us / 1.2);  // Faster than that, even.
  EXPECT_NEAR(Grown(call, 2 * ideal_us, 3), 4 * ideal_us, 0.01);
}

TEST(BatchGrowthTest, BatchedProductsOfShortSumsGrowWithTheirBytes) {
  // Attention's scores in 16 bits: 64 products of 1024 x 64 x 1024. Bytes take longer than FLOPs.
  OperatorCall call = Call("aten::bmm", {{64, 1024, 64}, {64, 64, 1024}});
  for (OperatorArg& arg : call.args) arg.tensors[0].dtype = DType::kBF16;
  const double bytes = 2.0 * 64 * (1024.0 * 1024 + 2 * 1024 * 64);
  const double memory_us = bytes / (4800e3 * 0.79);
  EXPECT_NEAR(Grown(call, 100, 2, DType::kBF16), 100 + memory_us, 0.01);
}

TEST(BatchGrowthTest, WithoutShapesOrPeaksNothingIsSaid) {
  const OperatorCall call = Call("aten::mm", {{8, 8}, {8, 8}});
  EXPECT_FALSE(ShareThatStays(call, DType::kF32, false, Us(5), 1, DeviceSpec()));
  EXPECT_FALSE(ShareThatStays(Call("aten::mm", {}), DType::kF32, false, Us(5), 1, H200()));
}

}  // namespace
}  // namespace headroom
