#include "whatif/job/gradients.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "analysis/names/operator_costs.h"
#include "kernels/tensor_core_time.h"
#include "whatif/job/operators.h"

namespace headroom {
namespace {

double BytesOf(const TensorArg& tensor) {
  return ElementsOf(tensor) * BytesPerElement(tensor.dtype);
}

/// Returns the bytes of the gradient that an operator completes; 0 if it completes none.
double AccumulatedBytes(const OperatorCall& call) {
  if (call.args.empty() || call.args[0].tensors.size() != 1) return 0;
  return BytesOf(call.args[0].tensors[0]);
}

/// Returns the bytes per element of an operator's first tensor, whose type its gradient has.
double ElementBytes(const OperatorCall& call) {
  for (const auto& arg : call.args) {
    if (arg.tensors.empty()) continue;
    const double bytes = BytesPerElement(arg.tensors.front().dtype);
    if (bytes > 0) return bytes;
  }
  return 4;
}

double WeightGradientBytes(const OperatorCall& call) {
  if (const std::optional<ConvolutionShape> shape = ConvolutionShapeOf(call)) {
    if (!shape->weight_gradient) return 0;
    double elements = static_cast<double>(shape->out_channels) *
                      static_cast<double>(shape->in_channels) / static_cast<double>(shape->groups);
    for (const std::int64_t extent : shape->kernel) elements *= static_cast<double>(extent);
    return elements * BytesPerElement(shape->dtype);
  }
  if (const std::optional<GemmShape> shape = GemmShapeOf(call)) {
    if (shape->batch != 1 || !LayoutOf(call, *shape, shape->dtype).IsOfWeightGradient()) return 0;
    return static_cast<double>(shape->m) * static_cast<double>(shape->n) *
           BytesPerElement(shape->dtype);
  }
  if (call.name.find("embedding_dense_backward") != std::string::npos && call.args.size() > 2 &&
      !call.args[0].tensors.empty() && !call.args[0].tensors[0].dims.empty()) {
    // The first argument is the gradient of the output; its last dimension is the number of
    // elements per word. The third argument is the vocabulary size.
    const TensorArg& out = call.args[0].tensors[0];
    return std::strtod(call.args[2].concrete.c_str(), nullptr) *
           static_cast<double>(out.dims.back()) * BytesPerElement(out.dtype);
  }
  return 0;
}

class GradientFinder {
 public:
  explicit GradientFinder(const Job& job) : job_(job) {
    for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
      const Task& recorded = job.graph().tasks[task];
      if (recorded.kind != TaskKind::kGpu) continue;
      const HostEventId launch = job.store().gpu_tasks.launch[recorded.row];
      if (!launch.valid()) continue;
      const auto& events = job.store().host_events;
      launches_.push_back({events.thread[launch.index()], events.start[launch.index()], task});
    }
    std::sort(launches_.begin(), launches_.end(), [](const Launch& a, const Launch& b) {
      return std::tie(a.thread, a.start, a.task) < std::tie(b.thread, b.start, b.task);
    });
  }

  std::vector<GradientStep> Find() {
    Collect([](const OperatorCall& call) {
      return call.name == kAccumulateGrad ? AccumulatedBytes(call) : 0;
    });
    if (steps_.empty()) Collect(WeightGradientBytes);
    std::vector<GradientStep> steps;
    for (auto& [row, step] : steps_) {
      std::stable_sort(step.gradients.begin(), step.gradients.end(),
                       [](const Gradient& a, const Gradient& b) { return a.ready < b.ready; });
      step.next = FirstLaunchedBehind(end_of_backward_[row], step.gradients.back().ready);
      steps.push_back(std::move(step));
    }
    return steps;
  }

 private:
  struct Launch {
    ThreadId thread;
    TimeNs start;
    TaskIndex task;
  };

  /// Collects gradients. `bytes_of` returns the gradient's size for each operator in a step.
  template <typename BytesOf>
  void Collect(BytesOf bytes_of) {
    const auto& events = job_.store().host_events;
    for (std::size_t row = 0; row < events.rows(); ++row) {
      const HostEventId op(row);
      if (events.kind[row] != HostEventKind::kOperator) continue;
      if (job_.attribution().Of(op).phase != Phase::kBackward) continue;
      const TimeNs end = job_.store().HostEnd(op);
      const TaskIndex ready = LastLaunchedBefore(events.thread[row], end);
      if (ready == kNoTask || !IsWithin(events.start[row], job_.graph().tasks[ready].step))
        continue;
      const OperatorCall* call = job_.CallOf(op);
      const double bytes = call ? bytes_of(*call) : 0;
      if (bytes == 0) continue;
      const std::int32_t step = job_.graph().tasks[ready].step;
      steps_[step].gradients.push_back({.bytes = bytes,
                                        .element_bytes = ElementBytes(*call),
                                        .ready = ready,
                                        .forward = FirstOfForward(ready),
                                        .op = op});
      TimeNs& last = end_of_backward_.try_emplace(step, end).first->second;
      last = std::max(last, end);
    }
  }

  bool IsWithin(TimeNs when, std::int32_t step) const {
    const std::vector<Interval>& hosts = job_.steps().hosts;
    if (hosts.empty()) return true;
    if (step < 0 || static_cast<std::size_t>(step) >= hosts.size()) return false;
    const Interval& host = hosts[static_cast<std::size_t>(step)];
    return when >= host.start && when < host.end;
  }

  TaskIndex LastLaunchedBefore(ThreadId thread, TimeNs when) const {
    const auto behind =
        std::lower_bound(launches_.begin(), launches_.end(), std::tuple(thread, when),
                         [](const Launch& launch, const auto& key) {
                           return std::tuple(launch.thread, launch.start) < key;
                         });
    if (behind == launches_.begin() || (behind - 1)->thread != thread) return kNoTask;
    return (behind - 1)->task;
  }

  /// Returns the forward operator of a backward task. A task that accumulates a gradient has none,
  /// so it gets that of the previous launch on its thread.
  HostEventId ForwardOf(TaskIndex backward) const {
    constexpr int kMaxAdded = 2;  // A copy may also make the gradient contiguous.
    const HostEventId launch = job_.store().gpu_tasks.launch[job_.graph().tasks[backward].row];
    const auto& events = job_.store().host_events;
    auto at =
        std::lower_bound(launches_.begin(), launches_.end(),
                         std::tuple(events.thread[launch.index()], events.start[launch.index()]),
                         [](const Launch& entry, const auto& key) {
                           return std::tuple(entry.thread, entry.start) < key;
                         });
    for (int added = 0; added <= kMaxAdded; ++added, --at) {
      const HostEventId forward = job_.ContextOf(at->task).forward;
      if (forward.valid()) return forward;
      if (at == launches_.begin() || (at - 1)->thread != at->thread) break;
    }
    return {};
  }

  /// Returns the first GPU task that a backward task's forward operator launched.
  TaskIndex FirstOfForward(TaskIndex backward) const {
    const HostEventId forward = ForwardOf(backward);
    if (!forward.valid()) return kNoTask;
    const ThreadId thread = job_.store().host_events.thread[forward.index()];
    const TimeNs start = job_.store().host_events.start[forward.index()];
    const auto first =
        std::lower_bound(launches_.begin(), launches_.end(), std::tuple(thread, start),
                         [](const Launch& launch, const auto& key) {
                           return std::tuple(launch.thread, launch.start) < key;
                         });
    if (first == launches_.end() || first->thread != thread ||
        first->start >= job_.store().HostEnd(forward))
      return kNoTask;
    return first->task;
  }

  /// Returns the first GPU task that was launched at `when` or later; kNoTask if no task was.
  /// Searches after `ready` in the graph's order, so that the result may wait for `ready`.
  TaskIndex FirstLaunchedBehind(TimeNs when, TaskIndex ready) const {
    const auto& events = job_.store().host_events;
    for (TaskIndex task = ready + 1; task < job_.graph().tasks.size(); ++task) {
      const Task& recorded = job_.graph().tasks[task];
      if (recorded.kind != TaskKind::kGpu) continue;
      const HostEventId launch = job_.store().gpu_tasks.launch[recorded.row];
      if (launch.valid() && events.start[launch.index()] >= when) return task;
    }
    return kNoTask;
  }

  const Job& job_;
  std::vector<Launch> launches_;  ///< Sorted by thread and time.
  std::map<std::int32_t, GradientStep> steps_;
  std::map<std::int32_t, TimeNs> end_of_backward_;
};

}  // namespace

std::vector<GradientStep> FindGradients(const Job& job) { return GradientFinder(job).Find(); }

}  // namespace headroom
