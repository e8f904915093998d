#include "cost/operator_cost.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include "cost/operator_rules.h"

namespace headroom {
namespace operator_cost_test {

struct CostCase {
  const char* name;
  const char* op;
  OperatorTexts texts;
  double flops;
  double bytes;
  WorkFamily family;
  DType math;
};

std::ostream& operator<<(std::ostream& out, const CostCase& c) { return out << c.name; }

std::optional<OperatorCost> Cost(std::string_view op, const OperatorTexts& texts) {
  const std::optional<OperatorCall> call = ParseOperatorCall(op, texts);
  return call ? CostOf(*call) : std::nullopt;
}

class KnownCost : public testing::TestWithParam<CostCase> {};

TEST_P(KnownCost, MatchesTheHandCount) {
  const CostCase& c = GetParam();
  const std::optional<OperatorCost> cost = Cost(c.op, c.texts);
  ASSERT_TRUE(cost.has_value());
  EXPECT_EQ(cost->flops, c.flops);
  EXPECT_EQ(cost->bytes, c.bytes);
  EXPECT_EQ(Name(cost->family), Name(c.family));
  EXPECT_EQ(Name(cost->math_dtype), Name(c.math));
}

const CostCase kMatmul[] = {
    {"mm of a BERT layer",
     "aten::mm",
     {"[[3072, 768], [768, 3072]]", R"(["float", "float"])", "[[768, 1], [1, 768]]", R"(["", ""])"},
     2.0 * 3072 * 768 * 3072,
     4.0 * (3072 * 768 + 768 * 3072 + 3072 * 3072),
     WorkFamily::kMatmul,
     DType::kF32},
    {"addmm reads its bias of one row",
     "aten::addmm",
     {"[[3072], [3072, 768], [768, 3072], [], []]",
      R"(["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar"])", "",
      R"(["", "", "", "1", "1"])"},
     2.0 * 3072 * 768 * 3072,
     2.0 * (3072 + 3072 * 768 + 768 * 3072 + 3072 * 3072),
     WorkFamily::kMatmul,
     DType::kF16},
    {"addmm with beta 0 does not read its bias",
     "aten::addmm",
     {"[[5], [2, 3], [3, 5], [], []]", R"(["float", "float", "float", "Scalar", "Scalar"])", "",
      R"(["", "", "", "0", "1"])"},
     2.0 * 2 * 3 * 5,
     4.0 * (6 + 15 + 10),
     WorkFamily::kMatmul,
     DType::kF32},
    {"bmm of attention scores",
     "aten::bmm",
     {"[[48, 1024, 1024], [48, 1024, 64]]", R"(["c10::BFloat16", "c10::BFloat16"])", "", ""},
     2.0 * 48 * 1024 * 1024 * 64,
     2.0 * 48 * (1024 * 1024 + 1024 * 64 + 1024 * 64),
     WorkFamily::kMatmul,
     DType::kBF16},
    {"baddbmm",
     "aten::baddbmm",
     {"[[2, 1, 7], [2, 3, 5], [2, 5, 7], [], []]",
      R"(["float", "float", "float", "Scalar", "Scalar"])", "", ""},
     2.0 * 2 * 3 * 5 * 7,
     4.0 * (14 + 30 + 70 + 42),
     WorkFamily::kMatmul,
     DType::kF32},
    {"8-bit operands with a 16-bit result",
     "aten::_scaled_mm",
     {"[[16, 64], [64, 32], [], [], [], [], [], []]",
      R"(["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "", "", "Scalar", "Scalar"])",
      "", R"(["", "", "", "", "", "", "15", "True"])"},
     2.0 * 16 * 64 * 32,
     16 * 64 + 64 * 32 + 2.0 * 16 * 32,
     WorkFamily::kMatmul,
     DType::kF8},
    {"complex multiply-add is four real ones",
     "aten::mm",
     {"[[2, 3], [3, 4]]", R"(["c10::complex<float>", "c10::complex<float>"])", "", ""},
     8.0 * 24,
     8.0 * (6 + 12 + 8),
     WorkFamily::kMatmul,
     DType::kC64},
    {"grouped product with ragged rows",
     "aten::_grouped_mm",
     {"[[100, 8], [4, 8, 16], [4], [], []]", R"(["c10::BFloat16", "c10::BFloat16", "int", "", ""])",
      "", ""},
     2.0 * 100 * 8 * 16,
     2.0 * (800 + 512 + 1600),
     WorkFamily::kMatmul,
     DType::kBF16},
    {"an expanded operand is read once",
     "aten::bmm",
     {"[[8, 4, 4], [8, 4, 4]]", R"(["float", "float"])", "[[0, 4, 1], [16, 4, 1]]", ""},
     2.0 * 8 * 64,
     4.0 * (16 + 128 + 128),
     WorkFamily::kMatmul,
     DType::kF32},
};
INSTANTIATE_TEST_SUITE_P(Matmul, KnownCost, testing::ValuesIn(kMatmul));

// ResNet-50's first layer: 64 images, 3 -> 64 channels, 7x7, stride 2, padding 3: 112 x 112.
constexpr double kStemFlops = 64.0 * 112 * 112 * 64 * 3 * 49 * 2;

const CostCase kConvolution[] = {
    {"cuDNN forward",
     "aten::cudnn_convolution",
     {"[[64, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], []]",
      R"(["float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar", "Scalar"])",
      "", R"(["", "", "[3, 3]", "[2, 2]", "[1, 1]", "1", "False", "False", "False"])"},
     kStemFlops,
     4.0 * (64 * 3 * 224 * 224 + 64 * 3 * 49 + 64.0 * 64 * 112 * 112),
     WorkFamily::kConvolution,
     DType::kF32},
    {"MIOpen forward",
     "aten::miopen_convolution",
     {"[[64, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], []]",
      R"(["c10::BFloat16", "c10::BFloat16", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar"])",
      "", R"(["", "", "", "[3, 3]", "[2, 2]", "[1, 1]", "1", "False", "False"])"},
     kStemFlops,
     2.0 * (64 * 3 * 224 * 224 + 64 * 3 * 49 + 64.0 * 64 * 112 * 112),
     WorkFamily::kConvolution,
     DType::kBF16},
    {"backward of the first layer has no data gradient",
     "aten::convolution_backward",
     {"[[64, 64, 112, 112], [64, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], [], []]",
      R"(["float", "float", "float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar", "ScalarList"])",
      "",
      R"(["", "", "", "[0]", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1", "[False, True, False]"])"},
     kStemFlops,
     4.0 * (64.0 * 64 * 112 * 112 + 64 * 3 * 224 * 224 + 64 * 3 * 49),
     WorkFamily::kConvolution,
     DType::kF32},
    {"backward with all three parts",
     "aten::convolution_backward",
     {"[[2, 8, 6, 6], [2, 4, 6, 6], [8, 4, 3, 3], [], [], [], [], [], [], [], []]",
      R"(["float", "float", "float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar", "ScalarList"])",
      "",
      R"(["", "", "", "[8]", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, True]"])"},
     2 * (2.0 * 2 * 8 * 36 * 4 * 9) + 2 * 8 * 36,
     4.0 * ((576 + 288 + 288) /* grad, weight, dX */ + (288 + 288) /* input, dW */ + 8),
     WorkFamily::kConvolution,
     DType::kF32},
    {"depthwise: one input channel per group",
     "aten::cudnn_convolution",
     {"[[1, 32, 10, 10], [32, 1, 3, 3], [], [], [], [], [], [], []]",
      R"(["float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar", "Scalar"])",
      "", R"(["", "", "[1, 1]", "[1, 1]", "[1, 1]", "32", "False", "False", "False"])"},
     2.0 * 32 * 100 * 9,
     4.0 * (3200 + 288 + 3200),
     WorkFamily::kConvolution,
     DType::kF32},
    {"dilation shrinks the output: 10 - 2 * 2 = 6",
     "aten::cudnn_convolution",
     {"[[1, 2, 10, 10], [4, 2, 3, 3], [], [], [], [], [], [], []]",
      R"(["float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar", "Scalar"])",
      "", R"(["", "", "[0, 0]", "[1, 1]", "[2, 2]", "1", "False", "False", "False"])"},
     2.0 * 4 * 36 * 2 * 9,
     4.0 * (200 + 72 + 144),
     WorkFamily::kConvolution,
     DType::kF32},
    {"transposed: work follows the input, 4 -> 8 at stride 2",
     "aten::cudnn_convolution_transpose",
     {"[[1, 6, 4, 4], [6, 3, 2, 2], [], [], [], [], [], [], [], []]",
      R"(["float", "float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar", "Scalar"])",
      "", R"(["", "", "[0, 0]", "[0, 0]", "[2, 2]", "[1, 1]", "1", "False", "False", "False"])"},
     2.0 * 6 * 3 * 16 * 4,
     4.0 * (96 + 72 + 3 * 64),
     WorkFamily::kConvolution,
     DType::kF32},
    {"one spatial dimension",
     "aten::convolution_overrideable",
     {"[[2, 4, 100], [8, 4, 5], [8], [], [], [], [], [], []]",
      R"(["float", "float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"])",
      "", R"(["", "", "", "[1]", "[2]", "[1]", "False", "[0]", "1"])"},
     2.0 * 2 * 8 * 100 * 4 * 5,
     4.0 * (800 + 160 + 8 + 1600),
     WorkFamily::kConvolution,
     DType::kF32},
};
INSTANTIATE_TEST_SUITE_P(Convolution, KnownCost, testing::ValuesIn(kConvolution));

const CostCase kAttention[] = {
    {"flash forward, not causal: 4 b h s s d",
     "aten::_flash_attention_forward",
     {"[[8, 4096, 16, 128], [8, 4096, 16, 128], [8, 4096, 16, 128], [], [], [], [], [], [], [], "
      "[], [], [], [], []]",
      R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", "", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "", "", "", ""])",
      "",
      R"(["", "", "", "", "", "4096", "4096", "0.", "False", "False", "0.088", "", "", "", ""])"},
     4.0 * 8 * 16 * 4096 * 4096 * 128,
     4 * 2.0 * 8 * 4096 * 16 * 128 + 4.0 * 8 * 16 * 4096,
     WorkFamily::kAttention,
     DType::kBF16},
    {"a causal mask halves the work",
     "aten::_scaled_dot_product_cudnn_attention",
     {"[[4, 12, 1024, 64], [4, 12, 1024, 64], [4, 12, 1024, 64], [], [], [], [], [], []]",
      R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar"])",
      "", R"(["", "", "", "", "True", "0.1", "True", "False", "0.125"])"},
     2.0 * 4 * 12 * 1024 * 1024 * 64,
     4 * 2.0 * 4 * 12 * 1024 * 64 + 4.0 * 4 * 12 * 1024,
     WorkFamily::kAttention,
     DType::kBF16},
    {"backward is 2.5 times the forward",
     "aten::_scaled_dot_product_cudnn_attention_backward",
     {"[[4, 12, 1024, 64], [4, 12, 1024, 64], [4, 12, 1024, 64], [4, 12, 1024, 64], [4, 12, 1024, "
      "64], [4, 12, 1024, 1], [], [], [], [], [], [], [], [], [], []]",
      R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "float", "long int", "long int", "", "", "", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar"])",
      "",
      R"(["", "", "", "", "", "", "", "", "", "", "", "1024", "1024", "0.1", "True", "0.125"])"},
     2.5 * 2.0 * 4 * 12 * 1024 * 1024 * 64,
     8 * 2.0 * 4 * 12 * 1024 * 64 + 4.0 * 4 * 12 * 1024,
     WorkFamily::kAttention,
     DType::kBF16},
    {"fewer key and value heads",
     "aten::_scaled_dot_product_flash_attention",
     {"[[1, 8, 32, 16], [1, 2, 64, 16], [1, 2, 64, 16], [], [], [], []]",
      R"(["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar", "Scalar", "Scalar"])", "",
      R"(["", "", "", "0.", "False", "False", "0.25"])"},
     4.0 * 8 * 32 * 64 * 16,
     2.0 * (2 * 8 * 32 * 16 + 2 * 2 * 64 * 16) + 4.0 * 8 * 32,
     WorkFamily::kAttention,
     DType::kF16},
};
const CostCase kRecurrent[] = {
    {"LSTM of two layers, time first",
     "aten::_cudnn_rnn",
     {"[[35, 20, 300], [], [], [], [2, 20, 200], [2, 20, 200], [], [], [], [], [], [], [], [], [], "
      "[]]",
      R"(["float", "TensorList", "Scalar", "", "float", "float", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "ScalarList", ""])",
      "",
      R"(["", "", "4", "", "", "", "2", "200", "0", "2", "False", "0.", "True", "False", "[]", ""])"},
     2.0 * 700 * 4 * 200 * (300 + 200) + 2.0 * 700 * 4 * 200 * (200 + 200),
     4.0 * (4 * 200 * 500 + 700 * 200 + 700 * 300 + 4 * 200 * 400 + 700 * 200 + 700 * 200),
     WorkFamily::kMatmul,
     DType::kF32},
    {"backward of a GRU in two directions, with 16-bit data",
     "aten::_cudnn_rnn_backward",
     {"[[8, 10, 64], [], [], [], [2, 8, 32], [], [], [], [], [], [], [], [], [], [], [], [], [], "
      "[], [], [], []]",
      R"(["c10::Half", "TensorList", "Scalar", "", "c10::Half", "", "", "", "", "", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "ScalarList", "", "", "ScalarList"])",
      "",
      R"(["", "", "4", "", "", "", "", "", "", "", "3", "32", "0", "1", "True", "0.", "True", "True", "[]", "", "", "[True, True, True, True]"])"},
     2 * (2 * 2.0 * 80 * 3 * 32 * (64 + 32)),
     2 * 2.0 * (2 * (3 * 32 * 96 + 80 * 32) + 80 * 64),
     WorkFamily::kMatmul,
     DType::kF16},
};
INSTANTIATE_TEST_SUITE_P(Recurrent, KnownCost, testing::ValuesIn(kRecurrent));

TEST(RecurrentTest, TheBatchIsWhereTheOperatorSays) {
  for (const CostCase& c : kRecurrent) {
    const std::optional<OperatorCall> call = ParseOperatorCall(c.op, c.texts);
    ASSERT_TRUE(call.has_value());
    EXPECT_EQ(RecurrentBatchOf(*call), c.texts.dims.starts_with("[[35") ? 20 : 8);
  }
}

INSTANTIATE_TEST_SUITE_P(Attention, KnownCost, testing::ValuesIn(kAttention));

const CostCase kMemoryBound[] = {
    {"add of two tensors",
     "aten::add",
     {"[[8, 384, 768], [8, 384, 768], []]", R"(["float", "float", "Scalar"])", "", ""},
     8.0 * 384 * 768,
     3 * 4.0 * 8 * 384 * 768,
     WorkFamily::kElementwise,
     DType::kF32},
    {"broadcast reads the row once",
     "aten::mul",
     {"[[1024, 768], [768]]", R"(["c10::Half", "c10::Half"])", "", ""},
     1024.0 * 768,
     2.0 * (2 * 1024 * 768 + 768),
     WorkFamily::kElementwise,
     DType::kF32},
    {"half and float give float",
     "aten::add",
     {"[[100], [100], []]", R"(["c10::Half", "float", "Scalar"])", "", ""},
     100,
     200 + 400 + 400,
     WorkFamily::kElementwise,
     DType::kF32},
    {"a scalar tensor does not widen the result",
     "aten::mul",
     {"[[100], []]", R"(["c10::Half", "float"])", "", ""},
     100,
     200 + 4 + 200,
     WorkFamily::kElementwise,
     DType::kF32},
    {"in place: overwrites its input",
     "aten::add_",
     {"[[10, 10], [10, 10], []]", R"(["float", "float", "Scalar"])", "", ""},
     100,
     1200,
     WorkFamily::kElementwise,
     DType::kF32},
    {"the out= tensor is not read",
     "aten::mul",
     {"[[100], [], [100]]", R"(["float", "float", "float"])", "", ""},
     100,
     400 + 4 + 400,
     WorkFamily::kElementwise,
     DType::kF32},
    {"Adam squares one gradient",
     "aten::addcmul_",
     {"[[100], [100], [100], []]", R"(["float", "float", "float", "Scalar"])",
      "[[1], [1], [1], []]", ""},
     300,
     400 + 400 + 400,
     WorkFamily::kElementwise,
     DType::kF32},
    {"a comparison writes bools and counts no FLOPs",
     "aten::eq",
     {"[[100], []]", R"(["long int", "Scalar"])", "", ""},
     0,
     900,
     WorkFamily::kElementwise,
     DType::kF32},
    {"integers divided give floats",
     "aten::div",
     {"[[100], []]", R"(["long int", "Scalar"])", "", ""},
     100,
     800 + 400,
     WorkFamily::kElementwise,
     DType::kF32},
    {"cast: reads 4 bytes, writes 2",
     "aten::copy_",
     {"[[1000], [1000], []]", R"(["c10::Half", "float", "Scalar"])", "", ""},
     0,
     6000,
     WorkFamily::kCopy,
     DType::kF32},
    {"fill writes only",
     "aten::fill_",
     {"[[1000], []]", R"(["float", "Scalar"])", "", ""},
     0,
     4000,
     WorkFamily::kFill,
     DType::kF32},
    {"dropout writes a mask and its result",
     "aten::native_dropout",
     {"[[1000], [], []]", R"(["float", "Scalar", "Scalar"])", "", ""},
     2000,
     9000,
     WorkFamily::kRandom,
     DType::kF32},
    {"where",
     "aten::where",
     {"[[4, 4], [4, 4], []]", R"(["bool", "float", "float"])", "", ""},
     0,
     16 + 64 + 4 + 64,
     WorkFamily::kElementwise,
     DType::kF32},
    {"masked fill of an expanded mask",
     "aten::masked_fill_",
     {"[[8, 4, 4], [1, 4, 4], []]", R"(["float", "bool", "Scalar"])", "", ""},
     0,
     2 * 512 + 16,
     WorkFamily::kElementwise,
     DType::kF32},
    {"relu backward",
     "aten::threshold_backward",
     {"[[1000], [1000], []]", R"(["float", "float", "Scalar"])", "", ""},
     1000,
     12000,
     WorkFamily::kElementwise,
     DType::kF32},
    {"sum over batch and space",
     "aten::sum",
     {"[[64, 128, 112, 112], [], [], []]", R"(["c10::Half", "ScalarList", "Scalar", ""])", "",
      R"(["", "[0, 2, 3]", "False", ""])"},
     64.0 * 128 * 112 * 112,
     2.0 * 64 * 128 * 112 * 112 + 2 * 128,
     WorkFamily::kReduction,
     DType::kF32},
    {"mean over all elements",
     "aten::mean",
     {"[[10, 10], []]", R"(["float", ""])", "", R"(["", ""])"},
     100,
     404,
     WorkFamily::kReduction,
     DType::kF32},
    {"8-bit floats are floats: their sum has FLOPs and no 64-bit integer type",
     "aten::sum",
     {"[[10, 10], []]", R"(["c10::Float8_e4m3fn", ""])", "", R"(["", ""])"},
     100,
     101,
     WorkFamily::kReduction,
     DType::kF32},
    {"arg-max gives indices",
     "aten::argmax",
     {"[[4, 100], [], []]", R"(["float", "Scalar", "Scalar"])", "", R"(["", "-1", "False"])"},
     400,
     1600 + 32,
     WorkFamily::kReduction,
     DType::kF32},
    {"softmax with a wider result",
     "aten::_softmax",
     {"[[4, 100], [], []]", R"(["c10::Half", "Scalar", "Scalar"])", "", R"(["", "-1", "True"])"},
     2000,
     800 + 1600,
     WorkFamily::kSoftmax,
     DType::kF32},
    {"softmax backward to half",
     "aten::_softmax_backward_data",
     {"[[4, 100], [4, 100], [], []]", R"(["float", "float", "Scalar", "Scalar"])", "",
      R"(["", "", "-1", "5"])"},
     1600,
     2 * 1600 + 800,
     WorkFamily::kSoftmax,
     DType::kF32},
    {"layer norm",
     "aten::native_layer_norm",
     {"[[4, 1024, 768], [], [768], [768], []]",
      R"(["float", "ScalarList", "float", "float", "Scalar"])", "",
      R"(["", "[768]", "", "", "1e-05"])"},
     8.0 * 4096 * 768,
     4.0 * (2 * 4096 * 768 + 2 * 768 + 2 * 4096),
     WorkFamily::kNormalization,
     DType::kF32},
    {"layer norm backward",
     "aten::native_layer_norm_backward",
     {"[[4, 8, 16], [4, 8, 16], [], [4, 8, 1], [4, 8, 1], [16], [16], []]",
      R"(["float", "float", "ScalarList", "float", "float", "float", "float", "ScalarList"])", "",
      R"(["", "", "[16]", "", "", "", "", "[True, True, True]"])"},
     13.0 * 512,
     4.0 * (2 * 512 + 2 * 32 + 2 * 16 + 512 + 2 * 16),
     WorkFamily::kNormalization,
     DType::kF32},
    {"batch norm in training",
     "aten::cudnn_batch_norm",
     {"[[64, 16, 14, 14], [16], [16], [16], [16], [], [], []]",
      R"(["c10::Half", "float", "float", "float", "float", "Scalar", "Scalar", "Scalar"])", "",
      R"(["", "", "", "", "", "True", "0.1", "1e-05"])"},
     8.0 * 64 * 16 * 196,
     2 * 2.0 * 64 * 16 * 196 + 4.0 * (4 * 16 + 4 * 16),
     WorkFamily::kNormalization,
     DType::kF32},
    {"max pooling, VGG",
     "aten::max_pool2d_with_indices",
     {"[[64, 64, 224, 224], [], [], [], [], []]",
      R"(["float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar"])", "",
      R"(["", "[2, 2]", "[2, 2]", "[0, 0]", "[1, 1]", "False"])"},
     64.0 * 64 * 112 * 112 * 4,
     64.0 * 64 * (224 * 224 * 4 + 112 * 112 * 12.0),
     WorkFamily::kPooling,
     DType::kF32},
    {"max pooling, ResNet: 112 + 2 - 3 over 2, plus 1 = 56",
     "aten::max_pool2d_with_indices",
     {"[[1, 1, 112, 112], [], [], [], [], []]",
      R"(["float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar"])", "",
      R"(["", "[3, 3]", "[2, 2]", "[1, 1]", "[1, 1]", "False"])"},
     56.0 * 56 * 9,
     112.0 * 112 * 4 + 56 * 56 * 12,
     WorkFamily::kPooling,
     DType::kF32},
    {"ceil mode rounds up, 112 / 2 - 0.5 -> 56, but no window starts in the right padding",
     "aten::max_pool2d_with_indices",
     {"[[1, 1, 112, 5], [], [], [], [], []]",
      R"(["float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar"])", "",
      R"(["", "[3, 2]", "[2, 2]", "[0, 1]", "[1]", "True"])"},
     56.0 * 3 * 6,
     112.0 * 5 * 4 + 56 * 3 * 12,
     WorkFamily::kPooling,
     DType::kF32},
    {"embedding lookup",
     "aten::index_select",
     {"[[151936, 1024], [], [8944]]", R"(["c10::BFloat16", "Scalar", "long int"])", "",
      R"(["", "0", ""])"},
     0,
     2 * 2.0 * 8944 * 1024 + 8.0 * 8944,
     WorkFamily::kIndexing,
     DType::kF32},
    {"embedding gradient writes the whole table",
     "aten::embedding_dense_backward",
     {"[[4, 1024, 768], [4, 1024], [], [], []]",
      R"(["float", "long int", "Scalar", "Scalar", "Scalar"])", "",
      R"(["", "", "50257", "-1", "False"])"},
     4096.0 * 768,
     4.0 * 4096 * 768 + 8 * 4096 + 4.0 * 50257 * 768,
     WorkFamily::kIndexing,
     DType::kF32},
    {"loss picks one value per row",
     "aten::nll_loss_forward",
     {"[[4096, 50257], [4096], [], [], []]", R"(["float", "long int", "", "Scalar", "Scalar"])", "",
      R"(["", "", "", "1", "-100"])"},
     4096,
     4.0 * 4096 + 8 * 4096 + 8,
     WorkFamily::kLoss,
     DType::kF32},
    {"loss gradient writes one value per row; another operator clears it",
     "aten::nll_loss_backward",
     {"[[], [4096, 50257], [4096], [], [], [], []]",
      R"(["float", "float", "long int", "", "Scalar", "Scalar", "float"])", "",
      R"(["", "", "", "", "1", "-100", ""])"},
     4096,
     4 + 8 * 4096 + 4 + 4.0 * 4096,
     WorkFamily::kLoss,
     DType::kF32},
};
INSTANTIATE_TEST_SUITE_P(MemoryBound, KnownCost, testing::ValuesIn(kMemoryBound));

TEST(OptimizerCost, FusedAdamMoves28BytesAParameter) {
  const auto cost = Cost(
      "aten::_fused_adamw_",
      {"[[[1000], [24]], [[1000], [24]], [[1000], [24]], [[1000], [24]], [], [[], []], [], []]",
       R"(["TensorList", "TensorList", "TensorList", "TensorList", "TensorList", "TensorList", "Scalar", "Scalar"])",
       "", ""});
  ASSERT_TRUE(cost.has_value());
  EXPECT_EQ(cost->bytes, 28.0 * 1024);
  EXPECT_TRUE(cost->assumes_fp32);
}

TEST(OptimizerCost, ForeachAddReadsTwoListsAndWritesOne) {
  const auto cost =
      Cost("aten::_foreach_add_", {"[[[128, 128], [128]], [[128, 128], [128]], []]",
                                   R"(["TensorList", "TensorList", "Scalar"])", "", ""});
  ASSERT_TRUE(cost.has_value());
  EXPECT_EQ(cost->bytes, 12.0 * (128 * 128 + 128));
  EXPECT_TRUE(cost->assumes_fp32);
}

TEST(OptimizerCost, IsUnknownWhereTheProfilerDroppedTheLists) {
  EXPECT_FALSE(
      Cost("aten::_fused_adamw_",
           {"[[], [], [], [], []]",
            R"(["TensorList", "TensorList", "TensorList", "TensorList", "Scalar"])", "", ""}));
}

TEST(OperatorCost, IsUnknownRatherThanGuessed) {
  struct Case {
    const char* name;
    const char* op;
    OperatorTexts texts;
  };
  const Case cases[] = {
      {"no formula", "aten::svd", {"[[4, 4]]", R"(["float"])", "", ""}},
      {"a parent that only calls others",
       "aten::linear",
       {"[[4, 4], [4, 4], []]", R"(["float", "float", ""])", "", ""}},
      {"inner extents differ", "aten::mm", {"[[4, 5], [6, 7]]", R"(["float", "float"])", "", ""}},
      {"ranks differ", "aten::mm", {"[[4, 5], [2, 5, 7]]", R"(["float", "float"])", "", ""}},
      {"element type not recorded", "aten::mm", {"[[4, 5], [5, 7]]", R"(["", ""])", "", ""}},
      {"shapes do not broadcast",
       "aten::add",
       {"[[4], [5], []]", R"(["float", "float", "Scalar"])", "", ""}},
      {"more tensors than the operator has",
       "aten::add",
       {"[[4], [4], [4], [4]]", R"(["float", "float", "float", "float"])", "", ""}},
      {"convolution without its stride",
       "aten::cudnn_convolution",
       {"[[1, 2, 10, 10], [4, 2, 3, 3], [], [], [], [], [], [], []]",
        R"(["float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar", "Scalar"])",
        "", ""}},
      {"kernel larger than the padded input",
       "aten::cudnn_convolution",
       {"[[1, 2, 2, 2], [4, 2, 3, 3], [], [], [], [], [], [], []]",
        R"(["float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar", "Scalar"])",
        "", R"(["", "", "[0, 0]", "[1, 1]", "[1, 1]", "1", "False", "False", "False"])"}},
      {"stride 0",
       "aten::cudnn_convolution",
       {"[[1, 2, 9, 9], [4, 2, 3, 3], [], [], [], [], [], [], []]",
        R"(["float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar", "Scalar"])",
        "", R"(["", "", "[0, 0]", "[0, 0]", "[1, 1]", "1", "False", "False", "False"])"}},
      {"attention without its causal flag",
       "aten::_scaled_dot_product_flash_attention",
       {"[[1, 8, 32, 16], [1, 8, 32, 16], [1, 8, 32, 16], [], [], [], []]",
        R"(["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar", "Scalar", "Scalar"])", "",
        ""}},
      {"causal over unequal lengths",
       "aten::_scaled_dot_product_flash_attention",
       {"[[1, 8, 1, 16], [1, 8, 32, 16], [1, 8, 32, 16], [], [], [], []]",
        R"(["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar", "Scalar", "Scalar"])", "",
        R"(["", "", "", "0.", "True", "False", "0.25"])"}},
      {"packed sequences",
       "aten::_flash_attention_forward",
       {"[[1, 64, 4, 16], [1, 64, 4, 16], [1, 64, 4, 16], [5], [5], [], [], [], [], [], [], [], "
        "[], [], []]",
        R"(["c10::Half", "c10::Half", "c10::Half", "int", "int", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "", "", "", ""])",
        "", R"(["", "", "", "", "", "64", "64", "0.", "False", "False", "0.25", "", "", "", ""])"}},
      {"more work than a double holds exactly",
       "aten::mm",
       {"[[4000000000, 4000000000], [4000000000, 4000000000]]", R"(["float", "float"])", "", ""}},
  };
  for (const Case& c : cases) EXPECT_FALSE(Cost(c.op, c.texts).has_value()) << c.name;
}

TEST(OperatorFamily, IsKnownMoreOftenThanTheCost) {
  EXPECT_EQ(FamilyOfOperator("aten::linear"), WorkFamily::kMatmul);
  EXPECT_EQ(FamilyOfOperator("aten::conv2d"), WorkFamily::kConvolution);
  EXPECT_EQ(FamilyOfOperator("aten::cat"), WorkFamily::kCopy);
  EXPECT_EQ(FamilyOfOperator("aten::relu_"), WorkFamily::kElementwise);
  EXPECT_EQ(FamilyOfOperator("c10d::allreduce_"), WorkFamily::kCommunication);
  EXPECT_EQ(FamilyOfOperator("aten::view"), WorkFamily::kUnclassified);
  EXPECT_EQ(FamilyOfOperator(""), WorkFamily::kUnclassified);
  EXPECT_EQ(FamilyOfOperator("_"), WorkFamily::kUnclassified);
}

TEST(GemmShape, IsReadWhateverTheLayoutOfTheOperands) {
  const auto call = ParseOperatorCall(
      "aten::addmm",
      {"[[7], [4, 5], [5, 7]]", R"(["float", "float", "float"])", "[[1], [1, 4], [7, 1]]", ""});
  const auto shape = GemmShapeOf(*call);
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ(shape->m, 4);
  EXPECT_EQ(shape->k, 5);
  EXPECT_EQ(shape->n, 7);
}

TEST(AttentionLengths, AreReadWhereTheOperatorKeepsThem) {
  const auto lengths = [](std::string_view op, std::string_view dims, std::string_view types) {
    const auto call = ParseOperatorCall(op, {dims, types, "", ""});
    return call ? AttentionLengthsOf(*call) : std::nullopt;
  };
  // Heads come before the length here, and after it there.
  const auto heads_first = lengths("aten::_scaled_dot_product_flash_attention",
                                   "[[1, 8, 32, 16], [1, 8, 64, 16], [1, 8, 64, 16]]",
                                   R"(["c10::Half", "c10::Half", "c10::Half"])");
  ASSERT_TRUE(heads_first.has_value());
  EXPECT_EQ(heads_first->queries, 32);
  EXPECT_EQ(heads_first->keys, 64);
  constexpr std::string_view kFour = R"(["c10::Half", "c10::Half", "c10::Half", "int"])";
  constexpr std::string_view kForward = "aten::_flash_attention_forward";
  const auto heads_last = lengths(kForward, "[[1, 32, 8, 16], [1, 64, 8, 16], [1, 64, 8, 16], []]",
                                  R"(["c10::Half", "c10::Half", "c10::Half", ""])");
  ASSERT_TRUE(heads_last.has_value());
  EXPECT_EQ(heads_last->queries, 32);
  EXPECT_EQ(heads_last->keys, 64);
  // Packed sequences, a missing dimension, and another operator.
  EXPECT_FALSE(lengths(kForward, "[[1, 32, 8, 16], [1, 64, 8, 16], [1, 64, 8, 16], [5]]", kFour));
  EXPECT_FALSE(lengths(kForward, "[[32, 8, 16], [64, 8, 16], [64, 8, 16], []]", kFour));
  EXPECT_FALSE(lengths("aten::mm", "[[1, 32, 8, 16], [1, 64, 8, 16]]", R"(["int", "int"])"));
}

TEST(ConvolutionShape, IsReadWhateverTheLayoutOfTheInput) {
  const auto call = ParseOperatorCall(
      "aten::cudnn_convolution",
      {"[[1, 2, 10, 10], [4, 2, 3, 3], [], [], [], [], [], [], []]",
       R"(["float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar", "Scalar"])",
       "[[200, 1, 20, 2], [18, 9, 3, 1], [], [], [], [], [], [], []]",
       R"(["", "", "[0, 0]", "[1, 1]", "[1, 1]", "1", "False", "False", "False"])"});
  const auto shape = ConvolutionShapeOf(*call);
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ(shape->in_channels, 2);
  EXPECT_EQ(shape->out, (std::vector<std::int64_t>{8, 8}));
}

TEST(IsFewChannelsConvolution, IsOneOfAlmostNoChannelsAGroup) {
  const auto few = [](std::int64_t channels, std::int64_t groups) {
    return IsFewChannelsConvolution(
        ParseOperatorCall(
            "aten::cudnn_convolution",
            {"[[1, " + std::to_string(channels) + ", 10, 10], [" + std::to_string(channels) + ", " +
                 std::to_string(channels / groups) + ", 3, 3], [], [], [], [], [], [], []]",
             R"(["float", "float", "ScalarList", "ScalarList", "ScalarList", )"
             R"("Scalar", "Scalar", "Scalar", "Scalar"])",
             "",
             R"(["", "", "[1, 1]", "[1, 1]", "[1, 1]", ")" + std::to_string(groups) +
                 R"(", "False", "False", "False"])"})
            .value());
  };
  EXPECT_TRUE(few(32, 32));
  EXPECT_TRUE(few(32, 8));
  EXPECT_FALSE(few(32, 4));
  EXPECT_FALSE(few(3, 1)) << "one group: the first layer of a network";
}

TEST(IsUntriedConvolution, ReadsTheFlagWhereTheOperatorHasIt) {
  // One flag of the call at a time is False. `benchmark` is the flag before `deterministic`.
  const auto untried = [](std::string_view op, std::size_t flag, std::string_view value) {
    OperatorCall call{.name = std::string(op), .args = std::vector<OperatorArg>(10)};
    for (OperatorArg& arg : call.args) arg.concrete = "True";
    call.args[flag].concrete = value;
    return IsUntriedConvolution(call);
  };
  EXPECT_TRUE(untried("aten::cudnn_convolution", 6, "False"));
  EXPECT_FALSE(untried("aten::cudnn_convolution", 6, "True"));
  EXPECT_FALSE(untried("aten::cudnn_convolution", 6, "")) << "not recorded";
  EXPECT_FALSE(untried("aten::cudnn_convolution", 7, "False")) << "deterministic";
  EXPECT_TRUE(untried("aten::cudnn_convolution_transpose", 7, "False"));
  EXPECT_TRUE(untried("aten::miopen_convolution", 7, "False"));
  EXPECT_TRUE(untried("aten::miopen_convolution_transpose", 8, "False"));
  EXPECT_FALSE(untried("aten::convolution_backward", 6, "False")) << "it does not record the flag";
  EXPECT_FALSE(untried("aten::mm", 6, "False"));
}

/// Returns a call of a random known operator with random arguments, mostly of the kinds that
/// operators accept.
OperatorCall AnyCall() {
  std::vector<std::string> names;
  for (const auto rules :
       {MatmulRules(), ConvolutionRules(), AttentionRules(), RecurrentRules(), PointwiseRules(),
        RowwiseRules(), IndexingRules(), OptimizerRules(), FamilyOnlyRules()}) {
    for (const OperatorRule& rule : rules) names.emplace_back(rule.name);
  }
  const auto extent = rc::gen::weightedOneOf<std::int64_t>(
      {{8, rc::gen::inRange<std::int64_t>(0, 9)},
       {1, rc::gen::element<std::int64_t>(1 << 30, INT64_MAX)}});
  const auto dims = rc::gen::resize(5, rc::gen::container<std::vector<std::int64_t>>(extent));
  const auto dtype = rc::gen::element(DType::kF32, DType::kF16, DType::kI64, DType::kBool,
                                      DType::kUnknown, DType::kC64);
  const auto concrete =
      rc::gen::element<std::string>("", "0", "1", "-1", "3", "True", "False", "[1, 1]", "[2]", "[]",
                                    "[0, -9]", "[True, False, True]", "9223372036854775807",
                                    "[9223372036854775807, -9223372036854775808]", "x");
  OperatorCall call;
  call.name = *rc::gen::elementOf(names);
  const int count = *rc::gen::inRange(0, 16);
  for (int i = 0; i < count; ++i) {
    OperatorArg arg;
    arg.kind = *rc::gen::element(OperatorArg::Kind::kNone, OperatorArg::Kind::kTensor,
                                 OperatorArg::Kind::kTensor, OperatorArg::Kind::kTensorList,
                                 OperatorArg::Kind::kScalar);
    const int tensors = arg.kind == OperatorArg::Kind::kTensor       ? 1
                        : arg.kind == OperatorArg::Kind::kTensorList ? *rc::gen::inRange(0, 3)
                                                                     : 0;
    for (int t = 0; t < tensors; ++t) {
      TensorArg tensor{.dims = *dims, .strides = {}, .dtype = *dtype};
      if (*rc::gen::arbitrary<bool>())
        tensor.strides.assign(tensor.dims.size(), *rc::gen::inRange<std::int64_t>(0, 3));
      arg.tensors.push_back(tensor);
    }
    arg.concrete = *concrete;
    call.args.push_back(arg);
  }
  return call;
}

RC_GTEST_PROP(OperatorCostProperty, IsFiniteAndNeverNegative, ()) {
  const OperatorCall call = AnyCall();
  const std::optional<OperatorCost> cost = CostOf(call);
  if (!cost) return;
  RC_ASSERT(std::isfinite(cost->flops) && cost->flops >= 0);
  RC_ASSERT(std::isfinite(cost->bytes) && cost->bytes >= 0);
  RC_ASSERT(cost->family == FamilyOfOperator(call.name));
}

RC_GTEST_PROP(OperatorCostProperty, MatmulFlopsAreSymmetricInMAndN, ()) {
  const auto extent = rc::gen::inRange<std::int64_t>(1, 5000);
  const std::int64_t m = *extent, k = *extent, n = *extent;
  const auto cost = [](std::int64_t rows, std::int64_t inner, std::int64_t columns) {
    OperatorCall call{.name = "aten::mm", .args = {}};
    for (const auto& dims : {std::vector{rows, inner}, std::vector{inner, columns}}) {
      call.args.push_back({.kind = OperatorArg::Kind::kTensor,
                           .tensors = {{.dims = dims, .strides = {}, .dtype = DType::kF32}},
                           .concrete = {}});
    }
    return *CostOf(call);
  };
  RC_ASSERT(cost(m, k, n).flops == cost(n, k, m).flops);
  RC_ASSERT(cost(m, k, n).bytes == cost(n, k, m).bytes);
}

}  // namespace operator_cost_test
}  // namespace headroom
