// Element-wise operators, copies, fills and random numbers.
//
// FLOPs = flops_per_element * elements of the broadcast result. The constants count the operations
// of the textbook definition, with a transcendental function as one (first principles). Such work
// is memory-bound on every GPU in data/devices, so a factor of two in the constants changes
// nothing. Integer and boolean results, and moves, count 0 FLOPs. Bytes = every distinct input
// element + every output element.
#include <algorithm>
#include <array>

#include "cost/operator_args.h"
#include "cost/operator_rules.h"

namespace headroom {
namespace {

/// Rank of a type's category in PyTorch's type promotion: bool < integer < floating < complex.
int Category(DType dtype) {
  if (IsComplex(dtype)) return 3;
  if (IsFloating(dtype)) return 2;
  return dtype == DType::kUnknown || dtype == DType::kBool ? 0 : 1;
}

/// Returns the type to which PyTorch promotes two element types.
DType Promote(DType a, DType b) {
  if (Category(a) != Category(b)) return Category(a) > Category(b) ? a : b;
  if (BytesPerElement(a) != BytesPerElement(b))
    return BytesPerElement(a) > BytesPerElement(b) ? a : b;
  return a == b ? a : DType::kF32;  // bfloat16 with float16
}

/// Returns the promoted type of the tensors. A tensor without dims counts only if its category is
/// above that of the tensors with dims.
DType ResultType(const std::vector<const TensorArg*>& tensors) {
  DType with_dims = DType::kUnknown;
  DType without = DType::kUnknown;
  for (const TensorArg* tensor : tensors) {
    if (tensor->dtype == DType::kUnknown) return DType::kUnknown;
    DType& slot = tensor->dims.empty() ? without : with_dims;
    slot = slot == DType::kUnknown ? tensor->dtype : Promote(slot, tensor->dtype);
  }
  if (with_dims == DType::kUnknown) return without;
  return Category(without) > Category(with_dims) ? without : with_dims;
}

/// Result type of an element-wise operator, given its inputs' types.
enum class ResultKind {
  kPromoted,
  kFloating,  ///< As kPromoted, but float32 for integers.
  kBool,
};

std::optional<OperatorCost> Pointwise(const OperatorCall& call, const OperatorRule& rule,
                                      ResultKind kind) {
  std::vector<const TensorArg*> inputs = SingleTensors(call);
  const TensorArg* out = nullptr;
  if (inputs.size() == static_cast<std::size_t>(rule.tensor_inputs) + 1) {
    out = inputs.back();  // out=
    inputs.pop_back();
  }
  if (inputs.empty() || inputs.size() > static_cast<std::size_t>(rule.tensor_inputs))
    return std::nullopt;
  const std::optional<std::vector<std::int64_t>> shape = BroadcastShape(inputs);
  if (!shape) return std::nullopt;
  if (FindRule(call.name).in_place) out = inputs.front();

  Traffic traffic;
  for (const TensorArg* input : inputs) traffic.Read(*input);
  DType computed = ResultType(inputs);
  if (kind == ResultKind::kFloating && computed != DType::kUnknown && !IsFloating(computed))
    computed = DType::kF32;
  const DType stored = out != nullptr              ? out->dtype
                       : kind == ResultKind::kBool ? DType::kBool
                                                   : computed;
  traffic.Write(out != nullptr ? Elements(out->dims) : Elements(*shape), stored);
  return FinishElementCost(traffic, rule.flops_per_element * Elements(*shape), computed,
                           rule.family);
}

std::optional<OperatorCost> Arithmetic(const OperatorCall& call, const OperatorRule& rule) {
  return Pointwise(call, rule, ResultKind::kPromoted);
}

std::optional<OperatorCost> FloatingFunction(const OperatorCall& call, const OperatorRule& rule) {
  return Pointwise(call, rule, ResultKind::kFloating);
}

std::optional<OperatorCost> Comparison(const OperatorCall& call, const OperatorRule& rule) {
  return Pointwise(call, rule, ResultKind::kBool);
}

/// (self, a, b, value): self + value a b. Adam passes its gradient as both a and b, which a profile
/// does not show. Two operands of the same shape, layout and type therefore count once.
std::optional<OperatorCost> Addcmul(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* a = TensorAt(call, 1);
  const TensorArg* b = TensorAt(call, 2);
  std::optional<OperatorCost> cost = Arithmetic(call, rule);
  if (!cost || a == nullptr || b == nullptr) return cost;
  if (a->dims == b->dims && a->strides == b->strides && a->dtype == b->dtype) {
    cost->bytes -= DistinctElements(*b) * BytesPerElement(b->dtype);
  }
  return cost;
}

/// (condition, a, b): the result has the type of a and b. PyTorch may pass a or b as a number.
std::optional<OperatorCost> Where(const OperatorCall& call, const OperatorRule& rule) {
  const std::vector<const TensorArg*> inputs = SingleTensors(call);
  if (inputs.size() < 2 || inputs.size() > 3) return std::nullopt;
  const std::optional<std::vector<std::int64_t>> shape = BroadcastShape(inputs);
  if (!shape) return std::nullopt;
  Traffic traffic;
  for (const TensorArg* input : inputs) traffic.Read(*input);
  traffic.Write(Elements(*shape), ResultType({inputs.begin() + 1, inputs.end()}));
  return FinishElementCost(traffic, 0, DType::kBool, rule.family);
}

/// (self, mask, value), in place or not: the result has the type of self.
std::optional<OperatorCost> MaskedFill(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* self = TensorAt(call, 0);
  const TensorArg* mask = TensorAt(call, 1);
  if (self == nullptr || mask == nullptr) return std::nullopt;
  const std::optional<std::vector<std::int64_t>> shape = BroadcastShape({self, mask});
  if (!shape) return std::nullopt;
  Traffic traffic;
  traffic.Read(*self);
  traffic.Read(*mask);
  traffic.Write(Elements(*shape), self->dtype);
  return FinishElementCost(traffic, 0, DType::kBool, rule.family);
}

/// (self, source): reads the source, writes self.
std::optional<OperatorCost> Copy(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* self = TensorAt(call, 0);
  const TensorArg* source = TensorAt(call, 1);
  if (self == nullptr || source == nullptr) return std::nullopt;
  Traffic traffic;
  traffic.Read(*source);
  traffic.Write(Elements(self->dims), self->dtype);
  return FinishElementCost(traffic, 0, DType::kBool, rule.family);
}

/// (self, ...): writes self and reads nothing.
std::optional<OperatorCost> WriteOnly(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* self = TensorAt(call, 0);
  if (self == nullptr) return std::nullopt;
  Traffic traffic;
  traffic.Write(Elements(self->dims), self->dtype);
  return FinishElementCost(traffic, 0, DType::kBool, rule.family);
}

/// (input, p, train): writes a result like the input and a mask of bools.
std::optional<OperatorCost> Dropout(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* input = TensorAt(call, 0);
  if (input == nullptr) return std::nullopt;
  const double n = Elements(input->dims);
  Traffic traffic;
  traffic.Read(*input);
  traffic.Write(n, input->dtype);
  traffic.Write(n, DType::kBool);
  return FinishElementCost(traffic, rule.flops_per_element * n, input->dtype, rule.family);
}

constexpr OperatorRule Unary(std::string_view name, double flops) {
  return {name, WorkFamily::kElementwise, Arithmetic, flops, 1};
}
constexpr OperatorRule Function(std::string_view name, double flops, int inputs = 1) {
  return {name, WorkFamily::kElementwise, FloatingFunction, flops, inputs};
}
constexpr OperatorRule Binary(std::string_view name, double flops) {
  return {name, WorkFamily::kElementwise, Arithmetic, flops, 2};
}
constexpr OperatorRule Ternary(std::string_view name, double flops) {
  return {name, WorkFamily::kElementwise, Arithmetic, flops, 3};
}
constexpr OperatorRule Compare(std::string_view name, int inputs) {
  return {name, WorkFamily::kElementwise, Comparison, 0, inputs};
}

constexpr std::array kPointwiseRules = {
    Unary("aten::abs", 1),
    Unary("aten::neg", 1),
    Unary("aten::sign", 1),
    Function("aten::exp", 1),
    Function("aten::expm1", 2),
    Function("aten::log", 1),
    Function("aten::log2", 1),
    Function("aten::log10", 1),
    Function("aten::log1p", 2),
    Function("aten::sqrt", 1),
    Function("aten::rsqrt", 2),
    Unary("aten::square", 1),
    Function("aten::reciprocal", 1),
    Function("aten::sin", 1),
    Function("aten::cos", 1),
    Function("aten::erf", 1),
    Unary("aten::floor", 1),
    Unary("aten::ceil", 1),
    Unary("aten::round", 1),
    Unary("aten::trunc", 1),
    Unary("aten::relu", 1),
    Unary("aten::leaky_relu", 2),
    Unary("aten::elu", 3),
    Unary("aten::hardtanh", 2),
    Unary("aten::hardswish", 4),
    Unary("aten::hardsigmoid", 4),
    Unary("aten::softplus", 3),
    Unary("aten::mish", 5),
    Function("aten::tanh", 1),
    Function("aten::sigmoid", 3),  // exp, add, divide
    Function("aten::logit", 3),    // subtract, divide, log
    Unary("aten::silu", 4),        // sigmoid and a product
    Unary("aten::gelu", 5),        // 0.5 x (1 + erf(x / sqrt 2))
    Unary("aten::nan_to_num", 3),
    Unary("aten::bitwise_not", 0),
    Compare("aten::logical_not", 1),
    Compare("aten::isnan", 1),
    Compare("aten::isinf", 1),
    Compare("aten::isfinite", 1),
    Binary("aten::add", 1),
    Binary("aten::sub", 1),
    Binary("aten::rsub", 1),
    Binary("aten::mul", 1),
    Function("aten::div", 1, 2),
    Function("aten::true_divide", 1, 2),
    Binary("aten::floor_divide", 2),
    Binary("aten::remainder", 3),
    Binary("aten::fmod", 3),
    Binary("aten::pow", 1),
    Binary("aten::maximum", 1),
    Binary("aten::minimum", 1),
    Function("aten::atan2", 1, 2),
    Binary("aten::bitwise_and", 0),
    Binary("aten::bitwise_or", 0),
    Binary("aten::bitwise_xor", 0),
    Compare("aten::logical_and", 2),
    Compare("aten::logical_or", 2),
    Compare("aten::logical_xor", 2),
    Compare("aten::eq", 2),
    Compare("aten::ne", 2),
    Compare("aten::lt", 2),
    Compare("aten::le", 2),
    Compare("aten::gt", 2),
    Compare("aten::ge", 2),
    Ternary("aten::clamp", 2),
    Binary("aten::clamp_min", 1),
    Binary("aten::clamp_max", 1),
    Ternary("aten::lerp", 3),  // a + w (b - a)
    OperatorRule{"aten::addcmul", WorkFamily::kElementwise, Addcmul, 3, 3},
    Ternary("aten::addcdiv", 3),  // a + v b / c
    Binary("aten::threshold_backward", 1),
    Binary("aten::leaky_relu_backward", 2),
    Binary("aten::elu_backward", 3),
    Binary("aten::hardtanh_backward", 2),
    Binary("aten::hardswish_backward", 4),
    Binary("aten::hardsigmoid_backward", 2),
    Binary("aten::tanh_backward", 3),     // g (1 - y y)
    Binary("aten::sigmoid_backward", 3),  // g y (1 - y)
    Binary("aten::logit_backward", 3),
    Binary("aten::silu_backward", 8),   // g s (1 + x (1 - s)), s as for sigmoid
    Binary("aten::gelu_backward", 10),  // g (cdf + x pdf), both from x
    Binary("aten::softplus_backward", 4),
    OperatorRule{"aten::where", WorkFamily::kElementwise, Where},
    OperatorRule{"aten::masked_fill", WorkFamily::kElementwise, MaskedFill},
    OperatorRule{"aten::native_dropout", WorkFamily::kRandom, Dropout, 2},
    OperatorRule{"aten::_fused_dropout", WorkFamily::kRandom, Dropout, 2},
    OperatorRule{"aten::native_dropout_backward", WorkFamily::kRandom, Arithmetic, 2, 2},
    OperatorRule{"aten::bernoulli_", WorkFamily::kRandom, WriteOnly},
    OperatorRule{"aten::normal_", WorkFamily::kRandom, WriteOnly},
    OperatorRule{"aten::uniform_", WorkFamily::kRandom, WriteOnly},
    OperatorRule{"aten::random_", WorkFamily::kRandom, WriteOnly},
    OperatorRule{"aten::exponential_", WorkFamily::kRandom, WriteOnly},
    OperatorRule{"aten::copy_", WorkFamily::kCopy, Copy},
    OperatorRule{"aten::fill_", WorkFamily::kFill, WriteOnly},
    OperatorRule{"aten::zero_", WorkFamily::kFill, WriteOnly},
};

}  // namespace

std::span<const OperatorRule> PointwiseRules() { return kPointwiseRules; }

}  // namespace headroom
