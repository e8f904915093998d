#include "cost/operator_cost.h"

#include <array>
#include <cassert>
#include <unordered_map>

#include "cost/operator_args.h"
#include "cost/operator_rules.h"

namespace headroom {
namespace {

constexpr OperatorRule Only(std::string_view name, WorkFamily family) {
  return {.name = name, .family = family};
}

/// Operators without a cost: other operators do their work, or a profile does not show their
/// traffic.
constexpr std::array kFamilyOnly = {
    Only("aten::linear", WorkFamily::kMatmul),
    Only("aten::matmul", WorkFamily::kMatmul),
    Only("aten::einsum", WorkFamily::kMatmul),
    Only("aten::conv1d", WorkFamily::kConvolution),
    Only("aten::conv2d", WorkFamily::kConvolution),
    Only("aten::conv3d", WorkFamily::kConvolution),
    Only("aten::conv_transpose2d", WorkFamily::kConvolution),
    Only("aten::convolution", WorkFamily::kConvolution),
    Only("aten::_convolution", WorkFamily::kConvolution),
    Only("aten::scaled_dot_product_attention", WorkFamily::kAttention),
    Only("aten::_scaled_dot_product_attention_math", WorkFamily::kAttention),
    Only("aten::layer_norm", WorkFamily::kNormalization),
    Only("aten::batch_norm", WorkFamily::kNormalization),
    Only("aten::_batch_norm_impl_index", WorkFamily::kNormalization),
    Only("aten::group_norm", WorkFamily::kNormalization),
    Only("aten::instance_norm", WorkFamily::kNormalization),
    Only("aten::rms_norm", WorkFamily::kNormalization),
    Only("aten::softmax", WorkFamily::kSoftmax),
    Only("aten::log_softmax", WorkFamily::kSoftmax),
    Only("aten::dropout", WorkFamily::kRandom),
    Only("aten::rand", WorkFamily::kRandom),
    Only("aten::randn", WorkFamily::kRandom),
    Only("aten::max_pool2d", WorkFamily::kPooling),
    Only("aten::adaptive_avg_pool2d", WorkFamily::kPooling),
    Only("aten::embedding", WorkFamily::kIndexing),
    Only("aten::embedding_backward", WorkFamily::kIndexing),
    Only("aten::_embedding_bag", WorkFamily::kIndexing),
    Only("aten::index", WorkFamily::kIndexing),
    Only("aten::index_put", WorkFamily::kIndexing),
    Only("aten::_index_put_impl_", WorkFamily::kIndexing),
    Only("aten::masked_select", WorkFamily::kIndexing),
    Only("aten::nonzero", WorkFamily::kIndexing),
    Only("aten::gather_backward", WorkFamily::kIndexing),
    Only("aten::cross_entropy_loss", WorkFamily::kLoss),
    Only("aten::nll_loss", WorkFamily::kLoss),
    Only("aten::nll_loss_nd", WorkFamily::kLoss),
    Only("aten::binary_cross_entropy_with_logits", WorkFamily::kLoss),
    Only("aten::norm", WorkFamily::kReduction),
    Only("aten::linalg_norm", WorkFamily::kReduction),
    Only("aten::sort", WorkFamily::kReduction),
    Only("aten::topk", WorkFamily::kReduction),
    Only("aten::cat", WorkFamily::kCopy),  // The element type of a tensor list is not recorded.
    Only("aten::stack", WorkFamily::kCopy),
    Only("aten::to", WorkFamily::kCopy),
    Only("aten::_to_copy", WorkFamily::kCopy),
    Only("aten::clone", WorkFamily::kCopy),
    Only("aten::contiguous", WorkFamily::kCopy),
    Only("aten::repeat", WorkFamily::kCopy),
    Only("aten::constant_pad_nd", WorkFamily::kCopy),
    Only("aten::zeros", WorkFamily::kFill),
    Only("aten::ones", WorkFamily::kFill),
    Only("aten::full", WorkFamily::kFill),
    Only("aten::arange", WorkFamily::kFill),
    Only("record_param_comms", WorkFamily::kCommunication),
};

using RuleMap = std::unordered_map<std::string_view, const OperatorRule*>;

const RuleMap& Rules() {
  static const RuleMap rules = [] {
    RuleMap map;
    for (const std::span<const OperatorRule> list :
         {MatmulRules(), ConvolutionRules(), AttentionRules(), RecurrentRules(), PointwiseRules(),
          RowwiseRules(), IndexingRules(), OptimizerRules(), FamilyOnlyRules()}) {
      for (const OperatorRule& rule : list) {
        [[maybe_unused]] const bool is_new = map.emplace(rule.name, &rule).second;
        assert(is_new && "two rules for one operator");
      }
    }
    return map;
  }();
  return rules;
}

}  // namespace

FoundRule FindRule(std::string_view operator_name) {
  const RuleMap& rules = Rules();
  if (const auto it = rules.find(operator_name); it != rules.end()) return {it->second, false};
  if (!operator_name.ends_with('_')) return {};
  const auto it = rules.find(operator_name.substr(0, operator_name.size() - 1));
  return it == rules.end() ? FoundRule{} : FoundRule{it->second, true};
}

std::span<const OperatorRule> FamilyOnlyRules() { return kFamilyOnly; }

std::optional<OperatorCost> CostOf(const OperatorCall& call) {
  const OperatorRule* rule = FindRule(call.name).rule;
  if (rule == nullptr || rule->formula == nullptr) return std::nullopt;
  std::optional<OperatorCost> cost = rule->formula(call, *rule);
  if (cost && !(cost->flops <= kLargestExact && cost->bytes <= kLargestExact)) return std::nullopt;
  return cost;
}

WorkFamily FamilyOfOperator(std::string_view name) {
  if (name.starts_with("c10d::") || name.starts_with("nccl:")) return WorkFamily::kCommunication;
  const OperatorRule* rule = FindRule(name).rule;
  return rule == nullptr ? WorkFamily::kUnclassified : rule->family;
}

}  // namespace headroom
