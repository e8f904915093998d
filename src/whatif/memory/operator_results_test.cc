#include "whatif/memory/operator_results.h"

#include <gtest/gtest.h>

#include <string>

namespace headroom {
namespace operator_results_test {

using Dims = std::vector<std::int64_t>;

/// A step of one operator.
StepOperators One(std::string_view name, const OperatorTexts& texts) {
  StepOperators step;
  StepOperator& op = step.list.emplace_back();
  op.name = name;
  op.call = ParseOperatorCall(name, texts);
  EXPECT_TRUE(op.call.has_value());
  for (std::size_t a = 0; op.call && a < op.call->args.size(); ++a) {
    for (const TensorArg& tensor : op.call->args[a].tensors)
      op.tensors.push_back({.argument = a, .tensor = tensor});
  }
  return step;
}

/// Returns, for example, "8x4 f32, 8 i64" or "in place".
std::string Results(std::string_view name, const OperatorTexts& texts) {
  const auto results = ResultsOf(One(name, texts), 0);
  if (!results) return "in place";
  std::string text;
  for (const TensorArg& result : *results) {
    text += text.empty() ? "" : ", ";
    for (std::size_t i = 0; i < result.dims.size(); ++i)
      text += (i > 0 ? "x" : "") + std::to_string(result.dims[i]);
    text += (result.dims.empty() ? "" : " ") + std::string(Name(result.dtype));
  }
  return text;
}

TEST(OperatorResultsTest, Products) {
  EXPECT_EQ(Results("aten::mm", {"[[8, 4], [4, 2]]", R"(["float", "float"])", "", ""}), "8x2 fp32");
  EXPECT_EQ(Results("aten::addmm",
                    {"[[2], [8, 4], [4, 2]]", R"(["float", "c10::Half", "c10::Half"])", "", ""}),
            "8x2 fp16");
}

TEST(OperatorResultsTest, Convolutions) {
  const OperatorTexts backward = {
      "[[8, 16, 6, 6], [8, 3, 8, 8], [16, 3, 3, 3], [], [], [], [], [], [], [], []]",
      R"(["float", "float", "float", "ScalarList", "", "", "", "", "", "", ""])", "",
      R"(["", "", "", "[0]", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1", )"
      R"("[False, True, True]"])"};
  EXPECT_EQ(Results("aten::convolution_backward", backward), "16x3x3x3 fp32, 16 fp32");
}

TEST(OperatorResultsTest, NormsReturnTheirStatisticsInFloat32) {
  EXPECT_EQ(Results("aten::native_layer_norm",
                    {"[[8, 4, 16], [], [16], [16], []]",
                     R"(["c10::Half", "ScalarList", "float", "float", "Scalar"])", "", ""}),
            "8x4x16 fp16, 8x4 fp32, 8x4 fp32");
}

TEST(OperatorResultsTest, Pooling) {
  EXPECT_EQ(
      Results("aten::max_pool2d_with_indices",
              {"[[2, 3, 7, 7], [], [], [], [], []]",
               R"(["float", "ScalarList", "ScalarList", "ScalarList", "ScalarList", "Scalar"])", "",
               R"(["", "[3, 3]", "[2, 2]", "[0, 0]", "[1, 1]", "False"])"}),
      "2x3x3x3 fp32, 2x3x3x3 int64");
}

TEST(OperatorResultsTest, Reductions) {
  const std::string_view types = R"(["float", "ScalarList", "Scalar"])";
  EXPECT_EQ(Results("aten::sum", {"[[8, 4, 2], [], []]", types, "", R"(["", "[0, -1]", "True"])"}),
            "1x4x1 fp32");
  EXPECT_EQ(Results("aten::sum", {"[[8, 4, 2], [], []]", types, "", R"(["", "[1]", "False"])"}),
            "8x2 fp32");
  EXPECT_EQ(Results("aten::sum", {"[[8, 4, 2], []]", R"(["float", ""])", "", R"(["", ""])"}),
            "fp32");
}

TEST(OperatorResultsTest, ElementsBroadcastInTheWidestType) {
  EXPECT_EQ(Results("aten::add",
                    {"[[8, 1], [4], []]", R"(["c10::BFloat16", "float", "Scalar"])", "", ""}),
            "8x4 fp32");
  EXPECT_EQ(Results("aten::eq", {"[[8, 4], []]", R"(["float", "Scalar"])", "", ""}), "8x4 bool");
  EXPECT_EQ(Results("aten::_softmax", {"[[8, 4], [], []]", R"(["c10::Half", "Scalar", "Scalar"])",
                                       "", R"(["", "-1", "True"])"}),
            "8x4 fp32");
  EXPECT_EQ(Results("aten::add_", {"[[8], [8], []]", R"(["float", "float", "Scalar"])", "", ""}),
            "in place");
}

TEST(OperatorResultsTest, Lookups) {
  EXPECT_EQ(Results("aten::embedding", {"[[100, 16], [2, 8]]", R"(["float", "long int"])", "", ""}),
            "2x8x16 fp32");
  EXPECT_EQ(Results("aten::embedding_dense_backward",
                    {"[[2, 8, 16], [2, 8], [], [], []]",
                     R"(["float", "long int", "Scalar", "Scalar", "Scalar"])", "",
                     R"(["", "", "100", "-1", "False"])"}),
            "100x16 fp32");
}

TEST(OperatorResultsTest, RandomNumbersFillNewMemory) {
  EXPECT_EQ(Results("aten::normal_", {"[[8, 4], []]", R"(["float", "Scalar"])", "", ""}),
            "8x4 fp32");
}

// An LSTM of 64 sequences of 50 with 1,024 states. Its reserve is 50 * 64 * 1024 * 5 floats for
// four gates and a cell, and 256 bytes (recorded on an H200).
TEST(OperatorResultsTest, RecurrentLayersReturnTheReserveThatTheBackwardReads) {
  const std::string rest = "[], [], [], [], [], [], [], [], [], []";
  const auto types = [](int scalars, const std::string& last) {
    std::string text = R"(["float", "TensorList", "Scalar", "float", "float", "float")";
    for (int i = 0; i < scalars; ++i) text += R"(, "Scalar")";
    return text + last + "]";
  };
  const std::string weights =
      "[[64, 50, 2048], [[4096, 2048], [4096, 1024]], [], [12591104], "
      "[1, 64, 1024], [1, 64, 1024], ";
  const std::string forward_dims = weights + rest + "]", forward_types = types(10, "");
  StepOperators step = One(
      "aten::_cudnn_rnn",
      {forward_dims, forward_types, "",
       R"(["", "", "4", "", "", "", "2", "1024", "0", "1", "True", "0.", "True", "True", "[]", ""])"});
  const std::string backward_dims = weights + "[65536256]]",
                    backward_types = types(0, R"(, "unsigned char")");
  const StepOperators backward =
      One("aten::_cudnn_rnn_backward", {backward_dims, backward_types, "", ""});
  step.list.front().sequence = 7;
  StepOperator& node = step.list.emplace_back();
  node.sequence = 7;
  node.last = 2;
  step.nodes = {1};
  step.list.push_back(backward.list.front());
  const auto results = ResultsOf(step, 0);
  ASSERT_TRUE(results && results->size() == 2);
  EXPECT_EQ((*results)[0].dims, (Dims{64, 50, 2 * 1024}));
  EXPECT_EQ((*results)[1].dims, (Dims{50 * 64 * 1024 * 5 * 4 + 256}));
  const auto gradients = ResultsOf(step, 2);
  ASSERT_TRUE(gradients && gradients->size() == 2);
  EXPECT_EQ((*gradients)[0].dims, (Dims{64, 50, 2048}));
  EXPECT_EQ((*gradients)[1].dims, (Dims{12591104}));
}

}  // namespace operator_results_test
}  // namespace headroom
