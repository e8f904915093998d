// The operators of one recorded step of all threads in the order in which they began, with what
// contains what: the timeline on which the step's tensors live.
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

/// No position in a step.
inline constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

/// A tensor among an operator's arguments. Lists give one for each of their tensors, of unknown
/// type, as profilers do not record it.
struct TensorUse {
  std::size_t argument = 0;
  TensorArg tensor;
};

/// An operator, or a range that was annotated.
struct StepOperator {
  HostEventId event;
  std::string_view name;
  ThreadId thread;
  TimeNs start;
  std::int64_t sequence = kUnknown;  ///< Autograd's.
  bool is_range = false;
  std::optional<OperatorCall> call;  ///< nullopt: no shapes were recorded.
  std::vector<TensorUse> tensors;    ///< In order of the arguments.
  std::vector<GpuTaskId> tasks;      ///< That it launched, not an operator inside; by start.
  std::size_t parent = kNowhere;
  std::size_t node = kNowhere;  ///< The innermost node of the backward around it, or itself.
  std::size_t last = 0;         ///< Of all that is inside, the last to begin; else itself.
  std::vector<std::size_t> children;
};

/// One step.
struct StepOperators {
  std::vector<StepOperator> list;  ///< By start; what is around comes before what is inside.
  std::vector<std::size_t> nodes;  ///< Positions of the backward's nodes, in order.
  std::unordered_map<HostEventId, std::size_t> positions;
  std::size_t backward_end = 0;  ///< One past the last position inside a node.

  bool InForward(std::size_t op) const { return list[op].node == kNowhere && op < backward_end; }
  bool InUpdate(std::size_t op) const { return list[op].node == kNowhere && op >= backward_end; }
};

/// What the autograd engine calls the run of one node.
inline constexpr std::string_view kEvaluate = "autograd::engine::evaluate_function: ";

/// "MmBackward0" of a node's range.
std::string_view NameOfNode(const StepOperator& node);

/// The last step that lost no tasks.
StepOperators OperatorsOfStep(const Job& job);

}  // namespace headroom
