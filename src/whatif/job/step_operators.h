// The operators of one recorded step on all threads, sorted by start, with their nesting. Lifetimes
// of the step's tensors are positions in this list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cost/operator_call.h"
#include "whatif/job/job.h"

namespace headroom {

/// Marks the absence of a position.
inline constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

/// A tensor among an operator's arguments. A list argument gives one entry per tensor, with an
/// unknown type because profilers do not record it.
struct TensorUse {
  std::size_t argument = 0;
  TensorArg tensor;
};

/// An operator or an annotated range.
struct StepOperator {
  HostEventId event;
  std::string_view name;
  ThreadId thread;
  TimeNs start;
  std::int64_t sequence = kUnknown;  ///< Autograd's sequence number.
  bool is_range = false;
  std::optional<OperatorCall> call;  ///< nullopt if no shapes were recorded.
  std::vector<TensorUse> tensors;    ///< Sorted in argument order.
  std::vector<GpuTaskId> tasks;      ///< GPU tasks that it launched directly, by start.
  std::size_t parent = kNowhere;
  std::size_t node = kNowhere;  ///< The innermost backward node around it, or the operator itself.
  /// The last nested operator to begin; the operator itself if none is nested.
  std::size_t last = 0;
  std::vector<std::size_t> children;
};

/// The operators of one step, with their nesting.
struct StepOperators {
  std::vector<StepOperator> list;  ///< Sorted by start; outer operators precede nested ones.
  std::vector<std::size_t> nodes;  ///< Positions of the backward's nodes, in order.
  std::unordered_map<HostEventId, std::size_t> positions;
  std::size_t backward_end = 0;  ///< One past the last position inside a node.

  bool InForward(std::size_t op) const { return list[op].node == kNowhere && op < backward_end; }
  bool InUpdate(std::size_t op) const { return list[op].node == kNowhere && op >= backward_end; }
};

/// Prefix of the autograd engine's range for the run of one node.
inline constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function: ";

/// Returns, for example, "MmBackward0" from a node's range.
std::string_view NameOfNode(const StepOperator& node);

/// Returns the operators of the last step without lost tasks.
StepOperators OperatorsOfStep(const Job& job);

}  // namespace headroom
