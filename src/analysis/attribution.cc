#include "analysis/attribution.h"

#include <algorithm>

#include "cost/operator_call.h"
#include "store/natural_sort.h"

namespace headroom {

NameFacts::NameFacts(const TraceStore& store, const Knowledge& knowledge)
    : store_(store), knowledge_(knowledge) {
  const std::size_t names = store.strings.size();
  roles_.resize(names);
  roles_known_.resize(names);
  kernels_.resize(names);
  kernel_known_.resize(names);
}

HostRoles NameFacts::Roles(StringId name) {
  const std::size_t index = name.index();
  if (!roles_known_[index]) {
    roles_[index] = knowledge_.host().RolesOf(store_.Text(name));
    roles_known_[index] = true;
  }
  return roles_[index];
}

const KernelClass& NameFacts::Kernel(StringId name) {
  const std::size_t index = name.index();
  if (!kernel_known_[index]) {
    kernels_[index] = knowledge_.kernels().Classify(store_.Text(name));
    kernel_known_[index] = true;
  }
  return kernels_[index];
}

std::size_t OperatorCosts::SlotOf(StringId name, StringId args) const {
  // The number of slots is a power of two.
  return (name.index() * 0x9E3779B1u ^ args.index() * 0x85EBCA77u) & (slots_.size() - 1);
}

void OperatorCosts::Grow() {
  slots_.assign(std::max<std::size_t>(slots_.size() * 2, 1024), 0);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t slot = SlotOf(entries_[i]->name, entries_[i]->args);
    while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

const OperatorCost* OperatorCosts::Of(HostEventId op) {
  const StringId name = store_.host_events.name[op.index()];
  const StringId args = store_.host_events.args[op.index()];
  if (!args.valid()) return nullptr;
  if ((entries_.size() + 1) * 2 > slots_.size()) Grow();
  std::size_t slot = SlotOf(name, args);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    const Entry& entry = *entries_[slots_[slot] - 1];
    if (entry.name == name && entry.args == args) return entry.known ? &entry.cost : nullptr;
  }
  std::string_view types = store_.Arg(args, "Input type");
  if (types.empty()) types = store_.Arg(args, "Input Types");
  const std::optional<OperatorCall> call =
      ParseOperatorCall(store_.Text(name), {.dims = store_.Arg(args, "Input Dims"),
                                            .types = types,
                                            .strides = store_.Arg(args, "Input Strides"),
                                            .concrete = store_.Arg(args, "Concrete Inputs")});
  const std::optional<OperatorCost> cost = call ? CostOf(*call) : std::nullopt;
  entries_.push_back(
      std::make_unique<Entry>(Entry{name, args, cost.has_value(), cost.value_or(OperatorCost())}));
  slots_[slot] = static_cast<std::uint32_t>(entries_.size());
  return cost ? &entries_.back()->cost : nullptr;
}

Attribution::Attribution(const TraceStore& store, NameFacts& names, OperatorCosts& costs)
    : store_(store) {
  FindThreads(names);
  IndexForwardOperators(names);
  contexts_.resize(store.host_events.rows());
  // Backward borrows the layers and lines of forward, so forward comes first.
  for (const bool autograd : {false, true}) {
    for (std::size_t t = 0; t < store.threads.rows(); ++t) {
      if (autograd_threads_[t] == autograd) AttributeThread(ThreadId(t), names, costs);
    }
  }
}

void Attribution::FindThreads(NameFacts& names) {
  const auto& events = store_.host_events;
  autograd_threads_.resize(store_.threads.rows());
  for (std::size_t t = 0; t < store_.threads.rows(); ++t) {
    bool has_backward = false;
    bool has_loop = false;
    const TraceStore::RowRange range = store_.HostEventsOf(ThreadId(t));
    for (std::uint32_t row = range.first; row < range.last && !has_loop; ++row) {
      const HostEventKind kind = events.kind[row];
      if (kind == HostEventKind::kOperator) {
        has_backward = has_backward || names.Roles(events.name[row]).Has(HostRole::kBackward);
      } else if (kind == HostEventKind::kAnnotation) {
        const HostRoles roles = names.Roles(events.name[row]);
        has_loop = roles.Has(HostRole::kOptimizer) || roles.Has(HostRole::kDataWait);
      }
    }
    for (std::size_t s = 0; s < store_.steps.rows(); ++s)
      has_loop = has_loop || store_.steps.thread[s] == ThreadId(t);
    autograd_threads_[t] = has_backward && !has_loop;
  }
}

void Attribution::IndexForwardOperators(NameFacts& names) {
  const auto& events = store_.host_events;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    // Backward operators carry the number of the thread that ran their forward; forward ones have
    // 0.
    if (events.sequence[row] < 0 || events.forward_thread[row] > 0) continue;
    if (events.kind[row] != HostEventKind::kOperator ||
        names.Roles(events.name[row]).Has(HostRole::kBackward))
      continue;
    forward_operators_.push_back({events.sequence[row], HostEventId(row)});
  }
  NaturalStableSort(forward_operators_, [](const ForwardOperator& a, const ForwardOperator& b) {
    return a.sequence < b.sequence;
  });
}

HostEventId Attribution::ForwardOperatorOf(std::int64_t sequence) const {
  // An operator notes the next number on entry, so several carry it; the one that made the node
  // entered last.
  auto it = std::upper_bound(
      forward_operators_.begin(), forward_operators_.end(), sequence,
      [](std::int64_t wanted, const ForwardOperator& f) { return wanted < f.sequence; });
  if (it == forward_operators_.begin() || (it - 1)->sequence != sequence)
    return HostEventId::None();
  return (it - 1)->op;
}

void Attribution::AttributeThread(ThreadId thread, NameFacts& names, OperatorCosts& costs) {
  const auto& events = store_.host_events;
  const bool autograd = autograd_threads_[thread.index()];
  const TraceStore::RowRange range = store_.HostEventsOf(thread);
  for (std::uint32_t row = range.first; row < range.last; ++row) {
    HostContext context;
    const HostEventId parent = events.parent[row];
    if (parent.valid()) {
      context = contexts_[parent.index()];
    } else if (autograd) {
      context.phase = Phase::kBackward;
    }
    const HostEventId self{row};
    const HostEventKind kind = events.kind[row];
    switch (kind) {
      case HostEventKind::kOperator:
      case HostEventKind::kAnnotation: {
        const HostRoles roles = names.Roles(events.name[row]);
        const bool fixed = context.phase == Phase::kOptimizer ||
                           context.phase == Phase::kDataWait || context.phase == Phase::kCallback;
        if (roles.Has(HostRole::kDataWait)) {
          context.phase = Phase::kDataWait;
        } else if (roles.Has(HostRole::kCallback)) {
          context.phase = Phase::kCallback;
        } else if (roles.Has(HostRole::kOptimizer)) {
          context.phase = Phase::kOptimizer;
        } else if (!fixed && roles.Has(HostRole::kBackward)) {
          context.phase = Phase::kBackward;
        } else if (context.phase == Phase::kOther &&
                   (kind == HostEventKind::kOperator || roles.Has(HostRole::kForward))) {
          context.phase = Phase::kForward;
        }
        if (roles.Has(HostRole::kLayerRange)) context.layer = self;
        if (kind == HostEventKind::kAnnotation) break;
        context.op = self;
        if (!context.costed.valid() && costs.Of(self) != nullptr) context.costed = self;
        if (events.sequence[row] >= 0 && context.phase == Phase::kBackward &&
            !context.forward.valid()) {
          context.forward = ForwardOperatorOf(events.sequence[row]);
          if (context.forward.valid() && context.forward.index() < contexts_.size()) {
            const HostContext& forward = contexts_[context.forward.index()];
            if (forward.layer.valid()) context.layer = forward.layer;
            if (forward.line.valid()) context.line = forward.line;
          }
        }
        break;
      }
      case HostEventKind::kPythonFrame: {
        const HostRoles roles = names.Roles(events.name[row]);
        if (roles.Has(HostRole::kModuleFrame)) {
          context.layer = self;
          if (context.phase == Phase::kOther) context.phase = Phase::kForward;
        } else if (!roles.Has(HostRole::kLibraryFrame)) {
          context.line = self;
        }
        break;
      }
      default:
        break;
    }
    contexts_[row] = context;
  }
}

}  // namespace headroom
