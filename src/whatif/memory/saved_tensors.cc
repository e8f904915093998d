#include "whatif/memory/saved_tensors.h"

#include <algorithm>
#include <array>

#include "cost/operator_args.h"

namespace headroom {
namespace {

struct Rule {
  std::string_view operation;  ///< The node's name without "Backward" and its number.
  std::array<bool, 3> arguments = {};
  bool first_result = false;
  bool other_results = false;
};

constexpr std::array<bool, 3> kFirst = {true}, kSecond = {false, true}, kFirstTwo = {true, true},
                              kLastTwo = {false, true, true}, kAll = {true, true, true};

constexpr std::array kSavingRules = {
    Rule{"Addmm", kLastTwo},
    Rule{"Baddbmm", kLastTwo},
    Rule{"Addbmm", kLastTwo},
    Rule{"Mm", kFirstTwo},
    Rule{"Bmm", kFirstTwo},
    Rule{"Linear", kFirstTwo},
    Rule{"Convolution", kFirstTwo},
    Rule{"CudnnConvolution", kFirstTwo},
    Rule{"CudnnBatchNorm", kFirst, false, true},
    Rule{"NativeBatchNorm", kFirst, false, true},
    Rule{"MiopenBatchNorm", kFirst, false, true},
    Rule{"NativeLayerNorm", kFirst, false, true},
    Rule{"NativeGroupNorm", kFirst, false, true},
    Rule{"MaxPool2DWithIndices", kFirst, false, true},
    Rule{"ScaledDotProductCudnnAttention", kAll, true, true},
    Rule{"ScaledDotProductFlashAttention", kAll, true, true},
    Rule{"ScaledDotProductEfficientAttention", kAll, true, true},
    Rule{"NativeDropout", {}, false, true},
    Rule{"MaskedFill", kSecond},
    Rule{"Gelu", kFirst},
    Rule{"Silu", kFirst},
    Rule{"LeakyRelu", kFirst},
    Rule{"Hardtanh", kFirst},
    Rule{"Hardswish", kFirst},
    Rule{"Softplus", kFirst},
    Rule{"Pow", kFirst},
    Rule{"Log", kFirst},
    Rule{"AvgPool2D", kFirst},
    Rule{"AdaptiveAvgPool2D", kFirst},
    Rule{"NllLoss", kFirst},
    Rule{"Where", kFirst},
    Rule{"Relu", {}, true},
    Rule{"Elu", {}, true},
    Rule{"Tanh", {}, true},
    Rule{"Sigmoid", {}, true},
    Rule{"Softmax", {}, true},
    Rule{"LogSoftmax", {}, true},
    Rule{"Exp", {}, true},
    Rule{"Sqrt", {}, true},
    Rule{"Rsqrt", {}, true},
};

/// Operations that save nothing, or only small tensors.
constexpr std::array<std::string_view, 28> kKeepNothing = {
    "Add",   "Sub",   "Neg",       "Mean",    "Sum",        "Embedding",      "Index",
    "View",  "T",     "Transpose", "Permute", "UnsafeView", "Expand",         "ReshapeAlias",
    "Clone", "Alias", "ToCopy",    "Split",   "Slice",      "Select",         "AsStrided",
    "Cat",   "Stack", "Squeeze",   "Unbind",  "Unsqueeze",  "SplitWithSizes", "AccumulateGrad"};

std::string_view OperationOf(std::string_view node) {
  constexpr std::string_view kScope = "torch::autograd::";
  if (node.starts_with(kScope)) node.remove_prefix(kScope.size());
  return node.substr(0, node.rfind("Backward"));
}

/// A product of a tensor and a number saves nothing. A product of two tensors saves both.
SavedTensors OfElementwiseProduct(const StepOperator& forward) {
  SavedTensors saved;
  for (const TensorUse& use : forward.tensors) {
    if (!use.tensor.dims.empty() && IsFloating(use.tensor.dtype))
      saved.arguments.push_back(use.argument);
  }
  if (saved.arguments.size() < 2) saved.arguments.clear();
  return saved;
}

}  // namespace

SavedTensors SavedBy(std::string_view node, const StepOperator& forward) {
  const std::string_view operation = OperationOf(node);
  if (operation == "Mul" || operation == "Div") return OfElementwiseProduct(forward);
  SavedTensors saved;
  const auto rule = std::find_if(kSavingRules.begin(), kSavingRules.end(),
                                 [&](const Rule& r) { return r.operation == operation; });
  if (rule != kSavingRules.end()) {
    for (std::size_t a = 0; a < rule->arguments.size(); ++a) {
      if (rule->arguments[a]) saved.arguments.push_back(a);
    }
    saved.first_result = rule->first_result;
    saved.other_results = rule->other_results;
    return saved;
  }
  if (std::find(kKeepNothing.begin(), kKeepNothing.end(), operation) != kKeepNothing.end())
    return saved;
  saved.assumed = true;
  if (!forward.tensors.empty()) saved.arguments.push_back(forward.tensors.front().argument);
  return saved;
}

}  // namespace headroom
