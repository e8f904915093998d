#include "analysis/names/operator_costs.h"

#include <string_view>

#include "cost/operator_call.h"
#include "store/kineto_args.h"

namespace headroom {

std::optional<OperatorCall> ReadOperatorCall(const TraceStore& store, HostEventId op) {
  const StringId args = store.host_events.args[op.index()];
  if (!args.valid()) return std::nullopt;
  std::string_view types = store.Arg(args, kInputTypesArg);
  if (types.empty()) types = store.Arg(args, kOldInputTypesArg);
  return ParseOperatorCall(store.Text(store.host_events.name[op.index()]),
                           {.dims = store.Arg(args, kInputDimsArg),
                            .types = types,
                            .strides = store.Arg(args, kInputStridesArg),
                            .concrete = store.Arg(args, kConcreteInputsArg)});
}

namespace {

std::uint64_t KeyOf(const TraceStore& store, HostEventId op) {
  return std::uint64_t{store.host_events.name[op.index()].index()} << 32 |
         store.host_events.args[op.index()].index();
}

}  // namespace

const OperatorCall* OperatorCosts::CallOf(HostEventId op) {
  if (!store_.host_events.args[op.index()].valid()) return nullptr;
  const auto [it, is_new] = calls_.try_emplace(KeyOf(store_, op));
  if (is_new) it->second = ReadOperatorCall(store_, op);
  return it->second ? &*it->second : nullptr;
}

const OperatorCost* OperatorCosts::Of(HostEventId op) {
  if (!store_.host_events.args[op.index()].valid()) return nullptr;
  const auto [it, is_new] = costs_.try_emplace(KeyOf(store_, op));
  if (is_new) {
    if (const std::optional<OperatorCall> call = ReadOperatorCall(store_, op))
      it->second = CostOf(*call);
  }
  return it->second ? &*it->second : nullptr;
}

}  // namespace headroom
