// Matrix products. FLOPs = 2 * batch * m * n * k (first principles: k multiply-adds for each of
// batch * m * n results). By convention, adding a bias or beta * C does not count. A complex
// multiply-add is 4 real ones. Bytes = A + B + C + the addend.
#include <array>

#include "cost/operator_args.h"
#include "cost/operator_rules.h"

namespace headroom {
namespace {

/// Argument positions of a matrix product's operands.
struct Operands {
  std::size_t a = 0;
  std::size_t b = 1;
  bool has_addend = false;  ///< Argument 0 is the addend.
};

Operands OperandsOf(const OperatorRule& rule) {
  if (rule.name == "aten::addmm" || rule.name == "aten::baddbmm" || rule.name == "aten::addmv") {
    return {.a = 1, .b = 2, .has_addend = true};
  }
  return {};
}

bool IsGrouped(std::string_view name) {
  return name == "aten::_grouped_mm" || name == "aten::_scaled_grouped_mm";
}

/// Returns the shape of a grouped product. The numbers of dimensions of its operands select the
/// layout (aten/src/ATen/native/cuda/GroupedBlas.cpp). Its work equals that of one product over the
/// full ragged extent, for any division into groups.
std::optional<GemmShape> GroupedShape(const TensorArg& a, const TensorArg& b) {
  GemmShape s;
  if (a.dims.size() == 2 && b.dims.size() == 3) {  // ragged m: [m, k] x [g, k, n]
    if (a.dims[1] != b.dims[1]) return std::nullopt;
    s.m = a.dims[0], s.k = a.dims[1], s.n = b.dims[2];
  } else if (a.dims.size() == 3 && b.dims.size() == 2) {  // ragged n: [g, m, k] x [k, n]
    if (a.dims[2] != b.dims[0]) return std::nullopt;
    s.m = a.dims[1], s.k = a.dims[2], s.n = b.dims[1];
  } else if (a.dims.size() == 2 && b.dims.size() == 2) {  // ragged k: [m, k] x [k, n]
    if (a.dims[1] != b.dims[0]) return std::nullopt;
    s.m = a.dims[0], s.k = a.dims[1], s.n = b.dims[1];
  } else {
    return std::nullopt;
  }
  return s;
}

std::optional<GemmShape> PlainShape(const TensorArg& a, const TensorArg& b) {
  GemmShape s;
  if (a.dims.size() == 2 && b.dims.size() == 2) {
    if (a.dims[1] != b.dims[0]) return std::nullopt;
    s.m = a.dims[0], s.k = a.dims[1], s.n = b.dims[1];
  } else if (a.dims.size() == 3 && b.dims.size() == 3) {
    if (a.dims[0] != b.dims[0] || a.dims[2] != b.dims[1]) return std::nullopt;
    s.batch = a.dims[0], s.m = a.dims[1], s.k = a.dims[2], s.n = b.dims[2];
  } else if (a.dims.size() == 2 && b.dims.size() == 1) {
    if (a.dims[1] != b.dims[0]) return std::nullopt;
    s.m = a.dims[0], s.k = a.dims[1], s.n = 1;
  } else if (a.dims.size() == 1 && b.dims.size() == 1) {
    if (a.dims[0] != b.dims[0]) return std::nullopt;
    s.m = 1, s.k = a.dims[0], s.n = 1;
  } else {
    return std::nullopt;
  }
  return s;
}

/// Returns the number of elements of the result. A grouped product over a ragged k has one [m, n]
/// result per group; its offsets give the number of groups.
std::optional<double> OutputElements(const OperatorCall& call, const GemmShape& s,
                                     const TensorArg& a, const TensorArg& b) {
  const double one =
      static_cast<double>(s.batch) * static_cast<double>(s.m) * static_cast<double>(s.n);
  if (!IsGrouped(call.name) || a.dims.size() != 2 || b.dims.size() != 2) return one;
  // offs: argument 2 of _grouped_mm, 4 of _scaled_grouped_mm.
  const TensorArg* offsets = TensorAt(call, call.name == "aten::_grouped_mm" ? 2 : 4);
  if (offsets == nullptr || offsets->dims.size() != 1) return std::nullopt;
  return one * static_cast<double>(offsets->dims[0]);
}

/// Returns the stored type of the result.
DType OutputDType(const OperatorCall& call, DType operands) {
  if (call.name == "aten::_int_mm") return DType::kI32;
  if (call.name == "aten::_scaled_mm") {  // (self, mat2, scale_a, scale_b, bias, scale_result,
                                          // out_dtype, use_fast_accum)
    const DType given = DTypeAt(call, 6);
    return given == DType::kUnknown ? operands : given;
  }
  if (IsGrouped(call.name)) {
    // _grouped_mm(self, mat2, offs, bias, out_dtype)
    // _scaled_grouped_mm(self, mat2, scale_a, scale_b, offs, bias, scale_result, out_dtype,
    // use_fast_accum)
    // Without out_dtype, both return bfloat16 for 8-bit operands.
    const DType given = DTypeAt(call, call.name == "aten::_grouped_mm" ? 4 : 7);
    if (given != DType::kUnknown) return given;
    return operands == DType::kF8 ? DType::kBF16 : operands;
  }
  return operands;
}

std::optional<OperatorCost> MatmulCost(const OperatorCall& call, const OperatorRule& rule) {
  const std::optional<GemmShape> shape = GemmShapeOf(call);
  if (!shape) return std::nullopt;
  const Operands operands = OperandsOf(rule);
  const TensorArg& a = *TensorAt(call, operands.a);
  const TensorArg& b = *TensorAt(call, operands.b);
  const std::optional<double> out = OutputElements(call, *shape, a, b);
  if (!out) return std::nullopt;

  Traffic traffic;
  traffic.Read(a);
  traffic.Read(b);
  if (operands.has_addend && IntAt(call, 3) != 0)
    traffic.Read(TensorAt(call, 0));  // With beta = 0, the addend is not read.
  traffic.Write(*out, OutputDType(call, shape->dtype));

  const double multiply_adds = static_cast<double>(shape->batch) * static_cast<double>(shape->m) *
                               static_cast<double>(shape->n) * static_cast<double>(shape->k);
  return FinishCost(traffic, (IsComplex(shape->dtype) ? 8 : 2) * multiply_adds, shape->dtype,
                    rule.family);
}

constexpr std::array kMatmulRules = {
    OperatorRule{"aten::mm", WorkFamily::kMatmul, MatmulCost},
    OperatorRule{"aten::addmm", WorkFamily::kMatmul, MatmulCost},
    OperatorRule{"aten::bmm", WorkFamily::kMatmul, MatmulCost},
    OperatorRule{"aten::baddbmm", WorkFamily::kMatmul, MatmulCost},
    OperatorRule{"aten::mv", WorkFamily::kMatmul, MatmulCost},
    OperatorRule{"aten::addmv", WorkFamily::kMatmul, MatmulCost},
    OperatorRule{"aten::dot", WorkFamily::kMatmul, MatmulCost},
    OperatorRule{"aten::_int_mm", WorkFamily::kMatmul, MatmulCost},
    OperatorRule{"aten::_scaled_mm", WorkFamily::kMatmul, MatmulCost},
    OperatorRule{"aten::_grouped_mm", WorkFamily::kMatmul, MatmulCost},
    OperatorRule{"aten::_scaled_grouped_mm", WorkFamily::kMatmul, MatmulCost},
};

}  // namespace

std::optional<GemmShape> GemmShapeOf(const OperatorCall& call) {
  const OperatorRule* rule = FindRule(call.name).rule;
  if (rule == nullptr || rule->formula != MatmulCost) return std::nullopt;
  const Operands operands = OperandsOf(*rule);
  const TensorArg* a = TensorAt(call, operands.a);
  const TensorArg* b = TensorAt(call, operands.b);
  if (a == nullptr || b == nullptr) return std::nullopt;
  const bool grouped = IsGrouped(call.name) && !(a->dims.size() == 3 && b->dims.size() == 3);
  std::optional<GemmShape> shape = grouped ? GroupedShape(*a, *b) : PlainShape(*a, *b);
  if (!shape) return std::nullopt;
  shape->dtype = a->dtype;
  return shape;
}

std::span<const OperatorRule> MatmulRules() { return kMatmulRules; }

}  // namespace headroom
