#include "whatif/job/autograd_pairs.h"

#include "cost/operator_args.h"

namespace headroom {

bool IsAddition(const StepOperator& op) {
  return op.name == "aten::add_" || op.name == "aten::add";
}

AutogradPairs::AutogradPairs(const StepOperators& step) : step_(step) {
  for (const std::size_t node : step.nodes) {
    const std::int64_t sequence = step.list[node].sequence;
    if (sequence == kUnknown) continue;
    pairs_.try_emplace(sequence, Pair{.creator = kNowhere, .node = node});
    for (const std::size_t child : step.list[node].children) {
      const StepOperator& op = step.list[child];
      if (IsAddition(op) && !op.tensors.empty())
        added_[sequence].insert(Elements(op.tensors.front().tensor.dims));
    }
  }
  // Wrappers around the operator have the same sequence number. The last event to begin is the
  // operator.
  for (std::size_t op = 0; op < step.list.size(); ++op) {
    const auto pair = pairs_.find(step.list[op].sequence);
    if (pair != pairs_.end() && step.list[op].node == kNowhere && op < pair->second.node)
      pair->second.creator = op;
  }
  for (const auto& [sequence, pair] : pairs_) {
    if (pair.creator != kNowhere) sequence_of_[pair.creator] = sequence;
  }
}

std::size_t AutogradPairs::CreatorOf(const StepOperator& node) const {
  const auto pair = pairs_.find(node.sequence);
  return pair == pairs_.end() ? kNowhere : pair->second.creator;
}

std::optional<std::set<double>> AutogradPairs::ReadAgainAfter(std::size_t op) const {
  for (; op != kNowhere; op = step_.list[op].parent) {
    const auto sequence = sequence_of_.find(op);
    if (sequence == sequence_of_.end()) continue;
    const auto added = added_.find(sequence->second);
    return added == added_.end() ? std::set<double>() : added->second;
  }
  return std::nullopt;
}

}  // namespace headroom
