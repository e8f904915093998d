#include "whatif/memory/saved_tensors.h"

#include <algorithm>
#include <array>
#include <optional>

#include "cost/operator_args.h"
#include "whatif/job/autograd_pairs.h"
#include "whatif/memory/operator_results.h"

namespace headroom {
namespace {

using Arguments = std::array<bool, 6>;

struct Rule {
  std::string_view operation;  ///< The node's name without "Backward" and its number.
  Arguments arguments = {};
  bool first_result = false;
  bool other_results = false;
};

constexpr Arguments kFirst = {true}, kSecond = {false, true}, kFirstTwo = {true, true},
                    kLastTwo = {false, true, true}, kAll = {true, true, true},
                    kRecurrent = {true, false, false, true, true, true};

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
    Rule{"Elu", kFirst},
    Rule{"Tanh", {}, true},
    Rule{"Sigmoid", {}, true},
    Rule{"CudnnRnn", kRecurrent, true, true},
    Rule{"Hardsigmoid", kFirst},
    Rule{"Mish", kFirst},
    Rule{"Abs", kFirst},
    Rule{"Clamp", kFirst},
    Rule{"ClampMin", kFirst},
    Rule{"ClampMax", kFirst},
    Rule{"Sin", kFirst},
    Rule{"Cos", kFirst},
    Rule{"MseLoss", kFirstTwo},
    Rule{"SmoothL1Loss", kFirstTwo},
    Rule{"BinaryCrossEntropyWithLogits", kFirstTwo},
    Rule{"NllLoss2D", kFirstTwo},
    Rule{"FusedRmsNorm", kFirst, false, true},
    Rule{"ConvDepthwise2D", kFirstTwo},
    Rule{"Reciprocal", {}, true},
    Rule{"SafeSoftmax", {}, true},
    Rule{"Softmax", {}, true},
    Rule{"LogSoftmax", {}, true},
    Rule{"Exp", {}, true},
    Rule{"Sqrt", {}, true},
    Rule{"Rsqrt", {}, true},
};

/// Operations that save nothing, or only small tensors.
constexpr std::array<std::string_view, 34> kKeepNothing = {
    "Add",   "Sub",   "Neg",       "Mean",    "Sum",        "Embedding",      "Index",
    "View",  "T",     "Transpose", "Permute", "UnsafeView", "Expand",         "ReshapeAlias",
    "Clone", "Alias", "ToCopy",    "Split",   "Slice",      "Select",         "AsStrided",
    "Cat",   "Stack", "Squeeze",   "Unbind",  "Unsqueeze",  "SplitWithSizes", "AccumulateGrad",
    "Rsub",  "Roll",  "Repeat",    "Flip",    "Unfold",     "ConstantPadNd"};

std::string_view OperationOf(std::string_view node) {
  constexpr std::string_view kScope = "torch::autograd::";
  if (node.starts_with(kScope)) node.remove_prefix(kScope.size());
  return node.substr(0, node.rfind("Backward"));
}

/// Returns the tensors that the operators inside a node read in addition to the incoming gradients.
/// One argument of an operator without a gradient may be a previous result. Returns nullopt if no
/// operator inside has recorded shapes.
std::optional<std::vector<TensorArg>> ReadInside(const StepOperators& step, std::size_t node) {
  std::vector<TensorArg> gradients, made, read;
  bool seen = false;
  // Removes a tensor of the same size from the list. Returns false if there is none.
  const auto take = [](std::vector<TensorArg>& tensors, const TensorArg& tensor) {
    const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const TensorArg& other) {
      return Elements(other.dims) == Elements(tensor.dims);
    });
    if (found == tensors.end()) return false;
    tensors.erase(found);
    return true;
  };
  for (std::size_t i = node + 1; i <= step.list[node].last; ++i) {
    const StepOperator& op = step.list[i];
    // The function's event, directly in the node, has the gradients as its arguments. If it was not
    // recorded, the operator's first argument is the gradient.
    if (i == node + 1) {
      for (const TensorUse& use : op.tensors) {
        if (op.tasks.empty() || gradients.empty()) gradients.push_back(use.tensor);
      }
    }
    if (op.tasks.empty() || op.node != node || !op.call || IsAddition(op)) continue;
    seen = true;
    std::vector<TensorArg> incoming = gradients, previous = made, others;
    for (const TensorUse& use : op.tensors) {
      if (!take(incoming, use.tensor)) others.push_back(use.tensor);
    }
    if (others.size() == op.tensors.size()) {
      const auto result = std::find_if(others.begin(), others.end(), [&](const TensorArg& tensor) {
        return take(previous, tensor);
      });
      if (result != others.end()) others.erase(result);
    }
    read.insert(read.end(), others.begin(), others.end());
    if (const auto results = ResultsOf(step, i))
      made.insert(made.end(), results->begin(), results->end());
  }
  if (!seen) return std::nullopt;
  return read;
}

/// Finds the tensors that a node reads among the operator's arguments, or else among its results.
SavedTensors SavedForReads(const std::vector<TensorArg>& reads, const StepOperator& forward,
                           const std::vector<TensorArg>& results) {
  SavedTensors saved;
  for (const TensorArg& read : reads) {
    const auto is_read = [&](const TensorArg& tensor) {
      return Elements(tensor.dims) == Elements(read.dims) &&
             (tensor.dtype == read.dtype || tensor.dtype == DType::kUnknown);
    };
    // The last of equal arguments: a mask or a factor usually follows the tensor.
    const auto argument =
        std::find_if(forward.tensors.rbegin(), forward.tensors.rend(), [&](const TensorUse& use) {
          return is_read(use.tensor) && std::find(saved.arguments.begin(), saved.arguments.end(),
                                                  use.argument) == saved.arguments.end();
        });
    if (argument != forward.tensors.rend()) {
      saved.arguments.push_back(argument->argument);
      continue;
    }
    const auto result = std::find_if(results.begin(), results.end(), is_read);
    if (result == results.end()) continue;
    (result == results.begin() ? saved.first_result : saved.other_results) = true;
  }
  return saved;
}

}  // namespace

SavedTensors SavedBy(const StepOperators& step, std::size_t node, const StepOperator& forward,
                     const std::vector<TensorArg>& results) {
  const std::string_view operation = OperationOf(NameOfNode(step.list[node]));
  // A product keeps a factor only if the gradient of the other one is needed.
  if (operation == "Mul" || operation == "Div")
    return SavedForReads(ReadInside(step, node).value_or(std::vector<TensorArg>()), forward, {});
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
  if (const std::optional<std::vector<TensorArg>> reads = ReadInside(step, node))
    return SavedForReads(*reads, forward, results);
  saved.assumed = true;
  if (!forward.tensors.empty()) saved.arguments.push_back(forward.tensors.front().argument);
  return saved;
}

}  // namespace headroom
