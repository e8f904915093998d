// Checks the formulas against whole models: the operators of real traces must add up to the known
// FLOPs of the model.
//
// Requires the traces in HEADROOM_DATA (see test_files.h). Prints a note and skips if they are
// missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cost/operator_cost.h"
#include "cost/test_files.h"

namespace headroom {
namespace trace_cost_test {

std::string TextOf(const nlohmann::json& args, const char* key) {
  const auto it = args.find(key);
  return it == args.end() ? std::string() : it->dump();
}

/// Returns the FLOPs of all records of the named operators.
double FlopsOf(const nlohmann::json& trace, std::initializer_list<std::string_view> operators) {
  double flops = 0;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.value("cat", "") != "cpu_op") continue;
    const std::string name = event.at("name");
    if (std::find(operators.begin(), operators.end(), name) == operators.end()) continue;
    const nlohmann::json& args = event.at("args");
    const std::string dims = TextOf(args, "Input Dims"), types = TextOf(args, "Input type");
    const std::string strides = TextOf(args, "Input Strides"),
                      concrete = TextOf(args, "Concrete Inputs");
    const auto call = ParseOperatorCall(
        name, {.dims = dims, .types = types, .strides = strides, .concrete = concrete});
    const auto cost = call ? CostOf(*call) : std::nullopt;
    EXPECT_TRUE(cost.has_value()) << name << " " << dims;
    if (cost) flops += cost->flops;
  }
  return flops;
}

struct ModelCase {
  const char* trace;
  std::vector<std::string_view> forward;  ///< Operators with weights, as the forward runs them.
  double samples;                         ///< Samples in the trace: 3 steps of a batch.
  double forward_gflop;  ///< Forward GFLOP per sample, from the model's definition.
  const char* known_from;
};

class WholeModel : public testing::TestWithParam<ModelCase> {};

TEST_P(WholeModel, AddsUpToWhatIsKnown) {
  const ModelCase& c = GetParam();
  const std::filesystem::path path = SharedDataDir() / "h200/traces" / c.trace;
  if (!std::filesystem::exists(path)) {
    std::cerr << "SKIPPED: no " << path
              << "; set HEADROOM_DATA to the folder that holds h200/traces\n";
    GTEST_SKIP() << "no trace " << path;
  }
  const nlohmann::json trace = nlohmann::json::parse(Gunzip(ReadWholeFile(path)));
  double flops = 0;
  for (const std::string_view name : c.forward) flops += FlopsOf(trace, {name});
  EXPECT_NEAR(flops / c.samples / 1e9 / c.forward_gflop, 1.0, 0.002) << c.known_from;
}

INSTANTIATE_TEST_SUITE_P(
    H200, WholeModel,
    testing::Values(ModelCase{"resnet50_fp32.json.gz",
                              {"aten::cudnn_convolution", "aten::addmm"},
                              3 * 64,
                              2 * 4.089,
                              "ResNet-50 v1.5: 4.089 GMAC per image (torchvision)"},
                    ModelCase{"vgg19_fp32.json.gz",
                              {"aten::cudnn_convolution", "aten::addmm"},
                              3 * 64,
                              2 * 19.632,
                              "VGG-19: 19.63 GMAC per image (torchvision)"},
                    ModelCase{"bert_base_fp32.json.gz",
                              {"aten::addmm"},
                              3 * 8,
                              (2.0 * 12 * 12 * 768 * 768 + 2 * 768 * 2) * 384 / 1e9,
                              "12 layers of 12 d^2 weights and a head of 2 d, 384 tokens, 2 FLOP "
                              "per weight and token"},
                    ModelCase{
                        "gpt2_fp32.json.gz",
                        {"aten::addmm"},
                        3 * 4,
                        2.0 * 12 * 12 * 768 * 768 * 1024 / 1e9,
                        "12 layers of 12 d^2 weights, 1024 tokens, 2 FLOP per weight and token"}));

}  // namespace trace_cost_test
}  // namespace headroom
