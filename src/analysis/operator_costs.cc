#include "analysis/operator_costs.h"

#include <string_view>

#include "cost/operator_call.h"

namespace headroom {

const OperatorCost* OperatorCosts::Of(HostEventId op) {
  const StringId name = store_.host_events.name[op.index()];
  const StringId args = store_.host_events.args[op.index()];
  if (!args.valid()) return nullptr;
  const std::uint64_t key = std::uint64_t{name.index()} << 32 | args.index();
  const auto [it, is_new] = costs_.try_emplace(key);
  if (is_new) {
    std::string_view types = store_.Arg(args, "Input type");
    if (types.empty()) types = store_.Arg(args, "Input Types");
    const std::optional<OperatorCall> call =
        ParseOperatorCall(store_.Text(name), {.dims = store_.Arg(args, "Input Dims"),
                                              .types = types,
                                              .strides = store_.Arg(args, "Input Strides"),
                                              .concrete = store_.Arg(args, "Concrete Inputs")});
    if (call) it->second = CostOf(*call);
  }
  return it->second ? &*it->second : nullptr;
}

}  // namespace headroom
