// FLOPs and bytes of the operators of a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/ids.h"
#include "cost/operator_call.h"
#include "cost/operator_cost.h"
#include "store/trace_store.h"

namespace headroom {

/// Returns the shapes in an operator's record; nullopt if they are damaged or were not recorded.
std::optional<OperatorCall> ReadOperatorCall(const TraceStore& store, HostEventId op);

/// Shapes and cost of operators, computed once per distinct (name, arguments). Not thread-safe.
class OperatorCosts {
 public:
  explicit OperatorCosts(const TraceStore& store) : store_(store) {}
  /// Returns nullptr if the cost is unknown. The pointer lives as long as this object.
  const OperatorCost* Of(HostEventId op);
  /// Returns the result of ReadOperatorCall(), or nullptr if there is none. The pointer lives as
  /// long as this object.
  const OperatorCall* CallOf(HostEventId op);

 private:
  const TraceStore& store_;
  /// The key combines the ids of name and arguments. The values keep their addresses.
  std::unordered_map<std::uint64_t, std::optional<OperatorCall>> calls_;
  std::unordered_map<std::uint64_t, std::optional<OperatorCost>> costs_;
};

}  // namespace headroom
