// Matches each node of a step's backward with the forward operator that made it, by autograd's
// sequence numbers. The backward also shows which outputs of the forward are read again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "whatif/job/step_operators.h"

namespace headroom {

class AutogradPairs {
 public:
  explicit AutogradPairs(const StepOperators& step);

  struct Pair {
    /// Operator of the forward; kNowhere if it is not in this step.
    std::size_t creator = kNowhere;
    std::size_t node = kNowhere;  ///< The first node with that number.
  };
  /// Keyed by sequence number.
  const std::map<std::int64_t, Pair>& pairs() const { return pairs_; }
  /// Returns the forward operator that made a node; kNowhere if unknown.
  std::size_t CreatorOf(const StepOperator& node) const;

  /// Returns the element counts of the inputs of `op` that later operators also read. `op` may have
  /// made a backward node itself, or be nested in an operator that did. Otherwise returns nullopt,
  /// because the readers are unknown.
  std::optional<std::set<double>> ReadAgainAfter(std::size_t op) const;

 private:
  const StepOperators& step_;
  std::map<std::int64_t, Pair> pairs_;
  std::unordered_map<std::size_t, std::int64_t> sequence_of_;  ///< Sequence numbers of creators.
  /// Element counts of accumulated gradients, by sequence number.
  std::map<std::int64_t, std::set<double>> added_;
};

/// Returns true if an operator adds two tensors.
bool IsAddition(const StepOperator& op);

}  // namespace headroom
