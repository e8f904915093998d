// Which operator of a step's forward made which node of its backward, by autograd's sequence
// numbers, and what the backward tells of the forward's readers.
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
    std::size_t creator = kNowhere;  ///< Of the forward; kNowhere: not in this step.
    std::size_t node = kNowhere;     ///< The first of that number.
  };
  /// By sequence number.
  const std::map<std::int64_t, Pair>& pairs() const { return pairs_; }
  /// The forward operator that made a node; kNowhere: none that is known.
  std::size_t CreatorOf(const StepOperator& node) const;

  /// Numbers of elements of the tensors that somebody reads after the operator of the autograd that
  /// is, or is around, this one; nullopt: there is none, and nobody knows.
  std::optional<std::set<double>> ReadAgainAfter(std::size_t op) const;

 private:
  const StepOperators& step_;
  std::map<std::int64_t, Pair> pairs_;
  std::unordered_map<std::size_t, std::int64_t> sequence_of_;  ///< Of creators.
  std::map<std::int64_t, std::set<double>> added_;  ///< Elements of gradients that add up.
};

/// Whether an operator adds two tensors.
bool IsAddition(const StepOperator& op);

}  // namespace headroom
