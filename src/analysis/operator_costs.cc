#include "analysis/operator_costs.h"

#include <string_view>

#include "cost/operator_call.h"

namespace headroom {

std::optional<OperatorCall> ReadOperatorCall(const TraceStore& store, HostEventId op) {
  const StringId args = store.host_events.args[op.index()];
  if (!args.valid()) return std::nullopt;
  std::string_view types = store.Arg(args, "Input type");
  if (types.empty()) types = store.Arg(args, "Input Types");
  return ParseOperatorCall(store.Text(store.host_events.name[op.index()]),
                           {.dims = store.Arg(args, "Input Dims"),
                            .types = types,
                            .strides = store.Arg(args, "Input Strides"),
                            .concrete = store.Arg(args, "Concrete Inputs")});
}

const OperatorCost* OperatorCosts::Of(HostEventId op) {
  const StringId name = store_.host_events.name[op.index()];
  const StringId args = store_.host_events.args[op.index()];
  if (!args.valid()) return nullptr;
  const std::uint64_t key = std::uint64_t{name.index()} << 32 | args.index();
  const auto [it, is_new] = costs_.try_emplace(key);
  if (is_new) {
    if (const std::optional<OperatorCall> call = ReadOperatorCall(store_, op))
      it->second = CostOf(*call);
  }
  return it->second ? &*it->second : nullptr;
}

}  // namespace headroom
