// Fused attention. For b sequences, h query heads, lengths q and k, head sizes d (query, key) and e
// (value):
//   forward FLOPs  = 2 b h q k (d + e)      two products: Q K^T and P V
//   backward FLOPs = 2 b h q k (3 d + 2 e)  five products: Q K^T recomputed, dV = P^T dO,
//   dP = dO V^T, dQ = dS K, dK = dS^T Q
// A causal mask skips half of the products, which halves both FLOP counts. With d = e the forward
// is 4 b h q k d and the backward 2.5 times that (Dao, "FlashAttention-2", 2023, section 4.1). That
// paper and this file leave out softmax.
//
// Two cases have no cost: a sliding window, and a causal mask over unequal lengths, which libraries
// align at either end.
//
// Bytes: the forward moves Q, K, V, bias, O and one float32 per row. The backward moves the same
// tensors and dO, and writes dQ, dK and dV.
#include <array>

#include "cost/operator_args.h"
#include "cost/operator_rules.h"

namespace headroom {
namespace {

/// Argument positions of an attention operator.
struct AttentionLayout {
  std::string_view name;
  bool backward = false;
  bool heads_first = true;  ///< [batch, heads, length, size], else [batch, length, heads, size].
  std::size_t query = 0;    ///< Key and value are the next two arguments.
  std::size_t causal = 0;   ///< A bool, or the mask type of the memory-efficient kernel (0 = none).
  /// Cumulative lengths of packed sequences; 0: the operator has none.
  std::size_t cumulative = 0;
  std::size_t bias = 0;  ///< Attention bias; 0: the operator has none.
  /// Extent of a sliding window to the left; 0: the operator has none. The next argument is the
  /// extent to the right.
  std::size_t window = 0;
};

// Argument positions from aten/src/ATen/native/native_functions.yaml (PyTorch 2.3 to 2.7).
// flash_attn: from its flash_attn_interface.py (2.7).
constexpr std::array kAttentionLayouts = {
    AttentionLayout{"aten::_scaled_dot_product_flash_attention", false, true, 0, 4, 0, 0},
    AttentionLayout{"aten::_scaled_dot_product_efficient_attention", false, true, 0, 6, 0, 3},
    AttentionLayout{"aten::_scaled_dot_product_cudnn_attention", false, true, 0, 6, 0, 3},
    AttentionLayout{"aten::_flash_attention_forward", false, false, 0, 8, 3, 0, 11},
    AttentionLayout{"aten::_efficient_attention_forward", false, false, 0, 9, 4, 3},
    AttentionLayout{"aten::_cudnn_attention_forward", false, true, 0, 10, 4, 3},
    AttentionLayout{"flash_attn::_flash_attn_forward", false, false, 0, 5, 0, 0, 6},
    AttentionLayout{"aten::_scaled_dot_product_flash_attention_backward", true, true, 1, 11, 6, 0},
    AttentionLayout{"aten::_scaled_dot_product_efficient_attention_backward", true, true, 1, 11, 0,
                    4},
    AttentionLayout{"aten::_scaled_dot_product_cudnn_attention_backward", true, true, 1, 14, 9, 8},
    AttentionLayout{"aten::_flash_attention_backward", true, false, 1, 11, 6, 0, 15},
    AttentionLayout{"aten::_efficient_attention_backward", true, false, 1, 14, 6, 4},
    AttentionLayout{"aten::_cudnn_attention_backward", true, true, 1, 14, 9, 8},
    AttentionLayout{"flash_attn::_flash_attn_backward", true, false, 1, 11, 0, 0, 12},
};

const AttentionLayout* AttentionLayoutOf(std::string_view name) {
  for (const AttentionLayout& layout : kAttentionLayouts) {
    if (layout.name == name) return &layout;
  }
  return nullptr;
}

/// Returns nullopt if the argument was not recorded. Mask types other than 0 are causal.
std::optional<bool> IsCausal(const OperatorCall& call, const AttentionLayout& layout) {
  if (const std::optional<bool> flag = BoolAt(call, layout.causal)) return flag;
  if (const std::optional<std::int64_t> type = IntAt(call, layout.causal)) return *type != 0;
  return std::nullopt;
}

/// Returns true if several sequences of different lengths share one dimension.
bool IsPacked(const OperatorCall& call, const AttentionLayout& layout) {
  const TensorArg* packed = layout.cumulative == 0 ? nullptr : TensorAt(call, layout.cumulative);
  return packed != nullptr && Elements(packed->dims) > 0;
}

std::optional<OperatorCost> AttentionCost(const OperatorCall& call, const OperatorRule& rule) {
  const AttentionLayout* layout = AttentionLayoutOf(call.name);
  if (layout == nullptr) return std::nullopt;
  const TensorArg* query = TensorAt(call, layout->query);
  const TensorArg* key = TensorAt(call, layout->query + 1);
  const TensorArg* value = TensorAt(call, layout->query + 2);
  const std::optional<bool> causal = IsCausal(call, *layout);
  if (query == nullptr || key == nullptr || value == nullptr || !causal) return std::nullopt;
  if (query->dims.size() != 4 || key->dims.size() != 4 || value->dims.size() != 4)
    return std::nullopt;
  // The products of packed sequences depend on lengths that are not recorded.
  if (IsPacked(call, *layout)) return std::nullopt;
  if (layout->window != 0 && (IntAt(call, layout->window).value_or(-1) >= 0 ||
                              IntAt(call, layout->window + 1).value_or(-1) >= 0)) {
    return std::nullopt;  // The kernel determines how much work a sliding window skips.
  }

  const std::size_t heads_at = layout->heads_first ? 1 : 2;
  const std::size_t length_at = layout->heads_first ? 2 : 1;
  const double batch = static_cast<double>(query->dims[0]);
  const double heads = static_cast<double>(query->dims[heads_at]);
  const double q = static_cast<double>(query->dims[length_at]);
  const double k = static_cast<double>(key->dims[length_at]);
  const double d = static_cast<double>(query->dims[3]);
  const double e = static_cast<double>(value->dims[3]);
  if (key->dims[0] != query->dims[0] || key->dims[3] != query->dims[3] ||
      value->dims[0] != query->dims[0] || value->dims[length_at] != key->dims[length_at]) {
    return std::nullopt;
  }
  if (*causal && q != k) return std::nullopt;

  Traffic traffic;
  traffic.Read(*query);
  traffic.Read(*key);
  traffic.Read(*value);
  if (layout->bias != 0) traffic.Read(TensorAt(call, layout->bias));
  const double rows = batch * heads * q;
  traffic.Write(rows * e, query->dtype);  // O: the forward writes it, the backward reads it
  traffic.Write(rows, DType::kF32);       // log of the softmax sums: as O
  if (layout->backward) {
    traffic.Read(rows * e, query->dtype);  // dO
    traffic.Write(Elements(query->dims), query->dtype);
    traffic.Write(Elements(key->dims), key->dtype);
    traffic.Write(Elements(value->dims), value->dtype);
  }

  const double products = layout->backward ? 3 * d + 2 * e : d + e;
  return FinishCost(traffic, 2 * rows * k * products * (*causal ? 0.5 : 1.0), query->dtype,
                    rule.family);
}

constexpr auto kAttentionRules = [] {
  std::array<OperatorRule, kAttentionLayouts.size()> rules{};
  for (std::size_t i = 0; i < rules.size(); ++i) {
    rules[i] = {.name = kAttentionLayouts[i].name,
                .family = WorkFamily::kAttention,
                .formula = AttentionCost};
  }
  return rules;
}();

}  // namespace

std::span<const OperatorRule> AttentionRules() { return kAttentionRules; }

std::optional<AttentionLengths> AttentionLengthsOf(const OperatorCall& call) {
  const AttentionLayout* layout = AttentionLayoutOf(call.name);
  if (layout == nullptr || IsPacked(call, *layout)) return std::nullopt;
  const TensorArg* query = TensorAt(call, layout->query);
  const TensorArg* key = TensorAt(call, layout->query + 1);
  if (query == nullptr || key == nullptr || query->dims.size() != 4 || key->dims.size() != 4)
    return std::nullopt;
  const std::size_t at = layout->heads_first ? 2 : 1;
  return AttentionLengths{.queries = query->dims[at], .keys = key->dims[at]};
}

}  // namespace headroom
