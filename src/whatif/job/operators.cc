#include "whatif/job/operators.h"

#include <algorithm>
#include <unordered_map>

namespace headroom {

std::vector<LaunchingOperator> LaunchingOperators(const Job& job) {
  std::vector<LaunchingOperator> operators;
  std::unordered_map<HostEventId, std::size_t> index;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind != TaskKind::kGpu) continue;
    const HostContext& context = job.ContextOf(task);
    const HostEventId op = context.costed.valid() ? context.costed : context.op;
    if (!op.valid()) continue;
    const auto [it, is_new] = index.try_emplace(op, operators.size());
    if (is_new) operators.push_back({.op = op, .tasks = {}});
    operators[it->second].tasks.push_back(task);
  }
  // Sorts by launch, because tasks of several streams may overtake each other.
  const auto& start = job.store().host_events.start;
  std::stable_sort(operators.begin(), operators.end(),
                   [&](const LaunchingOperator& a, const LaunchingOperator& b) {
                     return start[a.op.index()] < start[b.op.index()];
                   });
  return operators;
}

std::string_view NameOfOperator(const Job& job, HostEventId op) {
  return op.valid() ? job.store().Text(job.store().host_events.name[op.index()])
                    : std::string_view();
}

double ElementsOf(const TensorArg& tensor) {
  double elements = 1;
  for (const std::int64_t extent : tensor.dims) elements *= static_cast<double>(extent);
  return elements;
}

const TensorArg* FirstTensor(const OperatorCall& call) {
  for (const OperatorArg& arg : call.args) {
    if (arg.kind == OperatorArg::Kind::kTensor && !arg.tensors.empty()) return &arg.tensors[0];
  }
  return nullptr;
}

double LargestElements(const OperatorCall& call) {
  double largest = 0;
  for (const OperatorArg& arg : call.args) {
    for (const TensorArg& tensor : arg.tensors) largest = std::max(largest, ElementsOf(tensor));
  }
  return largest;
}

HostEventId OutermostOperator(const Job& job, HostEventId op) {
  const auto& events = job.store().host_events;
  for (HostEventId parent = events.parent[op.index()];
       parent.valid() && NameOfOperator(job, parent).starts_with("aten::");
       parent = events.parent[op.index()]) {
    op = parent;
  }
  return op;
}

HostEventId NumberedOperator(const Job& job, HostEventId op) {
  const auto& events = job.store().host_events;
  while (op.valid() && events.sequence[op.index()] == kUnknown) op = events.parent[op.index()];
  return op;
}

std::uint32_t EndRow(const Job& job, HostEventId event) {
  const auto& events = job.store().host_events;
  const std::uint32_t last = job.store().HostEventsOf(events.thread[event.index()]).last;
  const TimeNs end = job.store().HostEnd(event);
  auto row = static_cast<std::uint32_t>(event.index()) + 1;
  while (row < last && events.start[row] < end) ++row;
  return row;
}

}  // namespace headroom
