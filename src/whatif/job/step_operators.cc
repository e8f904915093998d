#include "whatif/job/step_operators.h"

#include <algorithm>
#include <tuple>

#include "analysis/names/operator_costs.h"
#include "cost/operator_args.h"

namespace headroom {
namespace {

/// Returns the host interval of the last complete step. Without steps, covers the whole recording.
Interval SpanOf(const Job& job) {
  const std::vector<Interval>& hosts = job.steps().hosts;
  const std::vector<StepRow>& rows = job.steps().steps.list;
  for (std::size_t row = std::min(hosts.size(), rows.size()); row-- > 0;) {
    if (rows[row].Counts()) return hosts[row];
  }
  return hosts.empty() ? Interval{TimeNs(INT64_MIN), TimeNs(INT64_MAX)} : hosts.back();
}

/// Returns true if the argument has separate memory. A record without dims may be a Python number
/// or a scalar result; only a result has a floating-point type.
bool IsTensor(const TensorArg& tensor) {
  return tensor.dtype != DType::kUnknown && (!tensor.dims.empty() || IsFloating(tensor.dtype));
}

std::vector<TensorUse> TensorsOf(const OperatorCall& call) {
  std::vector<TensorUse> tensors;
  for (std::size_t a = 0; a < call.args.size(); ++a) {
    const bool in_list = call.args[a].kind == OperatorArg::Kind::kTensorList;
    for (const TensorArg& tensor : call.args[a].tensors) {
      if (in_list || IsTensor(tensor)) tensors.push_back({.argument = a, .tensor = tensor});
    }
  }
  return tensors;
}

class StepReader {
 public:
  explicit StepReader(const Job& job) : job_(job) {}

  StepOperators Read() {
    Collect();
    Nest();
    AddTasks();
    return std::move(step_);
  }

 private:
  bool IsOfStep(std::size_t row, Interval span) const {
    const auto& events = job_.store().host_events;
    const HostEventKind kind = events.kind[row];
    if (kind != HostEventKind::kOperator && kind != HostEventKind::kAnnotation) return false;
    if (events.start[row] < span.start || events.start[row] >= span.end) return false;
    const ProcessId process = job_.steps().process;
    return !process.valid() || job_.store().threads.process[events.thread[row].index()] == process;
  }

  void Collect() {
    const Interval span = SpanOf(job_);
    const auto& events = job_.store().host_events;
    for (std::size_t row = 0; row < events.rows(); ++row) {
      if (!IsOfStep(row, span)) continue;
      StepOperator& op = step_.list.emplace_back();
      op.event = HostEventId(row);
      op.name = job_.store().Text(events.name[row]);
      op.thread = events.thread[row];
      op.start = events.start[row];
      op.sequence = events.sequence[row];
      op.is_range = events.kind[row] == HostEventKind::kAnnotation;
      if (op.is_range) continue;
      op.call = ReadOperatorCall(job_.store(), op.event);
      if (op.call) op.tensors = TensorsOf(*op.call);
    }
    // Rows of a thread are in order, outer ones first.
    std::sort(step_.list.begin(), step_.list.end(),
              [](const StepOperator& a, const StepOperator& b) {
                return std::tie(a.start, a.event) < std::tie(b.start, b.event);
              });
    for (std::size_t i = 0; i < step_.list.size(); ++i)
      step_.positions.emplace(step_.list[i].event, i);
  }

  std::size_t ParentOf(std::size_t position) const {
    const auto& parents = job_.store().host_events.parent;
    for (HostEventId event = parents[step_.list[position].event.index()]; event.valid();
         event = parents[event.index()]) {
      if (const auto found = step_.positions.find(event); found != step_.positions.end())
        return found->second;
    }
    return kNowhere;
  }

  void Nest() {
    for (std::size_t i = 0; i < step_.list.size(); ++i) {
      StepOperator& op = step_.list[i];
      op.last = i;
      op.parent = ParentOf(i);
      if (op.parent != kNowhere) step_.list[op.parent].children.push_back(i);
      if (op.name.starts_with(kEvaluate)) {
        op.node = i;
        step_.nodes.push_back(i);
      } else if (op.parent != kNowhere) {
        op.node = step_.list[op.parent].node;
      }
    }
    for (std::size_t i = step_.list.size(); i-- > 0;) {
      const StepOperator& op = step_.list[i];
      if (op.parent == kNowhere) continue;
      std::size_t& last = step_.list[op.parent].last;
      last = std::max(last, op.last);
    }
    for (const std::size_t node : step_.nodes)
      step_.backward_end = std::max(step_.backward_end, step_.list[node].last + 1);
  }

  void AddTasks() {
    const std::size_t rows = job_.store().gpu_tasks.rows();
    for (std::size_t row = 0; row < rows; ++row) {
      const HostEventId op = job_.attribution().Of(GpuTaskId(row)).op;
      if (!op.valid()) continue;
      if (const auto found = step_.positions.find(op); found != step_.positions.end())
        step_.list[found->second].tasks.emplace_back(row);
    }
  }

  const Job& job_;
  StepOperators step_;
};

}  // namespace

std::string_view NameOfNode(const StepOperator& node) {
  return node.name.substr(std::min(kEvaluate.size(), node.name.size()));
}

StepOperators OperatorsOfStep(const Job& job) { return StepReader(job).Read(); }

}  // namespace headroom
