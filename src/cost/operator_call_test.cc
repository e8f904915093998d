#include "cost/operator_call.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "cost/operator_cost.h"

namespace headroom {
namespace operator_call_test {

using Dims = std::vector<std::int64_t>;

TEST(OperatorCall, ReadsTensorsScalarsAndNone) {
  const auto call = ParseOperatorCall(
      "aten::addmm", {.dims = "[[768], [8, 384], [384, 768], [], [], []]",
                      .types = R"(["float", "c10::Half", "c10::Half", "Scalar", "", "float"])",
                      .strides = "[[1], [384, 1], [1, 384], [], [], []]",
                      .concrete = R"(["", "", "", "1", "", ""])"});
  ASSERT_TRUE(call.has_value());
  EXPECT_EQ(call->name, "aten::addmm");
  ASSERT_EQ(call->args.size(), 6u);
  EXPECT_EQ(call->args[1].kind, OperatorArg::Kind::kTensor);
  EXPECT_EQ(call->args[1].tensors[0].dims, (Dims{8, 384}));
  EXPECT_EQ(call->args[2].tensors[0].strides, (Dims{1, 384}));
  EXPECT_EQ(call->args[1].tensors[0].dtype, DType::kF16);
  EXPECT_EQ(call->args[3].kind, OperatorArg::Kind::kScalar);
  EXPECT_EQ(call->args[3].concrete, "1");
  EXPECT_EQ(call->args[4].kind, OperatorArg::Kind::kNone);
  EXPECT_EQ(call->args[5].kind, OperatorArg::Kind::kTensor)
      << "no dims and an element type: a scalar tensor";
  EXPECT_TRUE(call->args[5].tensors[0].dims.empty());
}

TEST(OperatorCall, ReadsTensorLists) {
  const auto call = ParseOperatorCall(
      "aten::_foreach_add_", {.dims = "[[[128, 128], [128]], [[1], []], [], []]",
                              .types = R"(["TensorList", "TensorList", "TensorList", "Scalar"])",
                              .strides = "[[[128, 1], [1]], [[1], []], [], []]",
                              .concrete = ""});
  ASSERT_TRUE(call.has_value());
  EXPECT_EQ(call->args[0].kind, OperatorArg::Kind::kTensorList);
  EXPECT_EQ(call->args[0].tensors[0].dims, (Dims{128, 128}));
  EXPECT_EQ(call->args[0].tensors[0].strides, (Dims{128, 1}));
  EXPECT_EQ(call->args[1].tensors.size(), 2u);
  EXPECT_EQ(call->args[2].kind, OperatorArg::Kind::kTensorList)
      << "a list that the profiler dropped";
  EXPECT_TRUE(call->args[2].tensors.empty());
}

TEST(OperatorCall, TakesAnyJsonSpacing) {
  EXPECT_TRUE(ParseOperatorCall("x", {.dims = " [ [ 1 ,2 ]\n,[] ] ",
                                      .types = "[\"float\" ,\t\"\"]",
                                      .strides = "",
                                      .concrete = ""}));
}

TEST(OperatorCall, TakesDamagedSideTextsAsNotRecorded) {
  for (const char* damaged : {"", "[", "[[1]]", "null", "[[1], [2], [3]]", "[[-1, 1], []]"}) {
    const auto call = ParseOperatorCall("x", {.dims = "[[8, 4], []]",
                                              .types = R"(["float", "Scalar"])",
                                              .strides = damaged,
                                              .concrete = damaged});
    ASSERT_TRUE(call.has_value()) << damaged;
    EXPECT_TRUE(call->args[0].tensors[0].strides.empty()) << damaged;
  }
}

TEST(OperatorCall, RefusesWhatIsNoRecord) {
  struct Case {
    const char* name;
    std::string dims;
    std::string types;
  };
  const std::string deep(100000, '[');
  const Case cases[] = {
      {"nothing recorded", "", ""},
      {"types missing", "[[1]]", ""},
      {"lengths differ", "[[1], [2]]", R"(["float"])"},
      {"truncated", "[[1, 2", R"(["float"])"},
      {"text after the list", "[[1]] x", R"(["float"])"},
      {"not a list", "{\"a\": 1}", R"(["float"])"},
      {"negative extent", "[[-4]]", R"(["float"])"},
      {"fractional extent", "[[1.5]]", R"(["float"])"},
      {"extent over 64 bits", "[[99999999999999999999]]", R"(["float"])"},
      {"text for an extent", "[[\"4\"]]", R"(["float"])"},
      {"nested too deep", deep, R"(["float"])"},
      {"mixed list", "[[[1], 2]]", R"(["TensorList"])"},
      {"one tensor instead of the declared list", "[[1, 2]]", R"(["TensorList"])"},
      {"too large", "[[" + std::string(2 << 20, '1') + "]]", R"(["float"])"},
  };
  for (const Case& c : cases) {
    EXPECT_FALSE(ParseOperatorCall(
        "aten::mm", {.dims = c.dims, .types = c.types, .strides = "", .concrete = ""}))
        << c.name;
  }
}

/// Random string made of pieces of real ones, so that damaged input passes the first checks.
std::string NearlyAList() {
  const auto piece = rc::gen::element<std::string>(
      "[", "]", "[]", ", ", ",", "1", "8", "384", "-1", "1e9", "\"\"", "\"float\"", "\"c10::Half\"",
      "\"TensorList\"", "\"Scalar\"", "\"[1, 1]\"", "\"True\"", "\\", "\"", " ",
      "9223372036854775807");
  std::string text = "[";
  for (const std::string& p : *rc::gen::container<std::vector<std::string>>(piece)) text += p;
  return text + "]";
}

RC_GTEST_PROP(OperatorCallProperty, AnyTextIsReadOrRefused, ()) {
  const std::string dims = NearlyAList(), types = NearlyAList(), strides = NearlyAList(),
                    concrete = NearlyAList();
  const std::string name = *rc::gen::element<std::string>(
      "aten::mm", "aten::convolution_backward", "aten::add_", "aten::_fused_adamw_",
      "aten::max_pool2d_with_indices", "aten::_flash_attention_forward");
  const auto call = ParseOperatorCall(
      name, {.dims = dims, .types = types, .strides = strides, .concrete = concrete});
  if (!call) return;
  if (const auto cost = CostOf(*call)) RC_ASSERT(cost->flops >= 0 && cost->bytes >= 0);
}

RC_GTEST_PROP(OperatorCallProperty, AnyBytesAreReadOrRefused,
              (const std::string& dims, const std::string& types)) {
  (void)ParseOperatorCall("aten::mm",
                          {.dims = dims, .types = types, .strides = dims, .concrete = types});
}

}  // namespace operator_call_test
}  // namespace headroom
