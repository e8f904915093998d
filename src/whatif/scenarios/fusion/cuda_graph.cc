// cuda-graph: the host launches a step, or each pass through a region of it, with one call. Kernels
// keep their times and their GPU dependencies. Launches and the host's work for them are removed.
// Data loaders and callbacks keep their host work.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "whatif/job/operators.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/selection.h"

namespace headroom {
namespace {

/// Gap between nodes of a launched graph (measured on one H200: 0.2 us more than the kernels' sum).
constexpr DurationNs kNodeGap{200};

/// Value of the key `region` for the whole step.
constexpr std::string_view kWholeStep = ".*";

/// Part of the reason to abstain. The caller adds the subject before it and the end of the hint
/// after it.
constexpr const char* kNoWaits =
    "waits for the GPU (a copy to the host, .item() or a synchronization), which a capture "
    "does not allow; remove-syncs+cuda-graph";

/// Finds the passes through the regions. The outermost event of a pass identifies it. The backward
/// of a pass is a separate pass, as in torch.cuda.make_graphed_callables.
class Passes {
 public:
  Passes(const Job& job, const std::string& expression) : job_(job) {
    const RE2 regex(expression, RE2::Quiet);
    const auto& events = job.store().host_events;
    pass_.resize(events.rows());
    // Parents precede their children.
    for (std::size_t row = 0; row < events.rows(); ++row) {
      const HostEventId parent = events.parent[row];
      if (parent.valid() && pass_[parent.index()].valid()) {
        pass_[row] = pass_[parent.index()];
      } else if (RE2::PartialMatch(job.store().Text(events.name[row]), regex)) {
        pass_[row] = HostEventId(row);
      }
    }
    AddBackward();
  }

  /// Returns the pass of a host event; invalid if it is outside all regions.
  HostEventId Of(HostEventId event) const {
    return event.valid() ? pass_[event.index()] : HostEventId();
  }
  std::vector<bool> Inside() const {
    std::vector<bool> inside(pass_.size());
    std::transform(pass_.begin(), pass_.end(), inside.begin(),
                   [](HostEventId pass) { return pass.valid(); });
    return inside;
  }

 private:
  /// Adds the backward nodes whose forward operators are in a pass, regardless of the nodes' names.
  /// All nodes of one pass form a pass that begins with the first of them.
  void AddBackward() {
    const auto& events = job_.store().host_events;
    const std::vector<HostEventId> matched = pass_;
    std::map<HostEventId, HostEventId> first;  // First backward node, by the pass of the forward.
    std::vector<HostEventId> of_node(events.rows());
    for (std::size_t row = 0; row < events.rows(); ++row) {
      const HostEventId parent = events.parent[row];
      const HostEventId forward = job_.attribution().Of(HostEventId(row)).forward;
      if (parent.valid() && of_node[parent.index()].valid()) {
        of_node[row] = of_node[parent.index()];
      } else if (forward.valid() && matched[forward.index()].valid() &&
                 matched[forward.index()] != matched[row]) {
        of_node[row] = first.try_emplace(matched[forward.index()], HostEventId(row)).first->second;
      }
      if (of_node[row].valid()) pass_[row] = of_node[row];
    }
  }

  const Job& job_;
  std::vector<HostEventId> pass_;
};

/// Returns true if a call inside a pass waits for the GPU.
bool WaitsInside(const Job& job, const Passes& passes, Edit& edit) {
  const Graph& graph = job.graph();
  const auto inside = [&](TaskIndex call) {
    return passes.Of(HostEventId(graph.tasks[call].row)).valid();
  };
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    if (graph.tasks[task].kind == TaskKind::kReturn && inside(task) && edit.Waits(task))
      return true;
  }
  return std::any_of(edit.inserted().begin(), edit.inserted().end(),
                     [&](const Edit::NewKernel& kernel) {
                       return kernel.waiting_call != kNoTask && inside(kernel.waiting_call);
                     });
}

/// Returns true if each step launches all its kernels with one graph.
bool IsOneGraph(const Job& job) {
  const Graph& graph = job.graph();
  std::set<TaskIndex> launches;
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    if (graph.tasks[task].kind != TaskKind::kGpu ||
        job.store().gpu_tasks.kind[graph.tasks[task].row] != GpuTaskKind::kKernel)
      continue;
    const TaskIndex launch = job.LaunchOf(task);
    if (launch == kNoTask || job.NameOf(launch).find("GraphLaunch") == std::string_view::npos)
      return false;
    launches.insert(launch);
  }
  return std::ssize(launches) == graph.steps;
}

Effect CaptureRegion(const Job& job, const std::string& expression, Edit& edit) {
  const Graph& graph = job.graph();
  const Passes passes(job, expression);
  if (WaitsInside(job, passes, edit)) {
    return Effect::Abstain(
        fmt::format("a region that matches {} {}:region={} shows the gain without such waits",
                    expression, kNoWaits, expression));
  }
  std::map<HostEventId, TaskIndex> call_of;  // The remaining call, keyed by pass.
  std::set<std::pair<HostEventId, StreamId>> begun;
  std::int64_t all = 0, captured = 0;
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    if (graph.tasks[task].kind != TaskKind::kGpu || edit.IsRemoved(task)) continue;
    const TaskIndex launch = job.LaunchOf(task);
    if (launch == kNoTask || edit.IsRemoved(launch)) continue;
    ++all;
    const HostEventId pass = passes.Of(HostEventId(graph.tasks[launch].row));
    if (!pass.valid()) continue;
    ++captured;
    call_of.try_emplace(pass, launch);
    // The first task on each stream still waits for its own launch, which the remaining call of the
    // pass replaces.
    const StreamId stream = job.store().gpu_tasks.stream[graph.tasks[task].row];
    if (!begun.emplace(pass, stream).second) edit.Detach(task, kNodeGap);
  }
  if (captured == 0) {
    return Effect::Abstain(
        fmt::format("no range, layer or operator that launches GPU work has a name that matches {}",
                    expression));
  }
  RemoveDispatch(job, passes.Inside(), edit);
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    if (graph.tasks[task].kind != TaskKind::kCall || edit.IsRemoved(task)) continue;
    const auto stays = call_of.find(passes.Of(HostEventId(graph.tasks[task].row)));
    if (stays == call_of.end()) continue;
    if (stays->second == task) {
      edit.AddWorkBefore(task, Nanoseconds(job.calibration().host.graph_launch));
    } else {
      edit.Remove(task);
    }
  }
  for (Edit::NewKernel& kernel : edit.inserted()) {
    if (passes.Of(HostEventId(graph.tasks[kernel.before_call].row)).valid())
      kernel.host_work = kernel.launch = DurationNs(0);
  }
  Effect effect;
  effect.why = fmt::format(
      "graphs, {:.3g} per step, replace {:.0f} % of the step's launches, if these can be captured",
      static_cast<double>(call_of.size()) / graph.steps,
      100.0 * static_cast<double>(captured) / static_cast<double>(all));
  effect.gpu_error = 0.03;
  return effect;
}

}  // namespace

Effect ApplyCudaGraph(const Job& job, const Arguments& arguments, Edit& edit) {
  if (arguments.Text("region") != kWholeStep)
    return CaptureRegion(job, arguments.Text("region"), edit);
  if (IsOneGraph(job)) return Effect::Already("a CUDA graph launches every kernel");
  const Graph& graph = job.graph();
  bool waits =
      std::any_of(edit.inserted().begin(), edit.inserted().end(),
                  [](const Edit::NewKernel& kernel) { return kernel.waiting_call != kNoTask; });
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task)
    waits |= graph.tasks[task].kind == TaskKind::kReturn && edit.Waits(task);
  if (waits) {
    return Effect::Abstain(fmt::format("the step {} shows the gain without such waits", kNoWaits));
  }
  // The first call of each step becomes the launch of its graph. GPU tasks follow each other. The
  // first task on each stream also follows the host, which may wait for its data loader.
  std::vector<TaskIndex> first(static_cast<std::size_t>(graph.steps), kNoTask);
  std::set<std::pair<std::int32_t, StreamId>> begun;
  std::int64_t launches = 0;
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    const Task& recorded = graph.tasks[task];
    if (recorded.kind == TaskKind::kGpu) {
      const TaskIndex launch = job.LaunchOf(task);
      if (launch == kNoTask) continue;
      ++launches;
      const StreamId stream = job.store().gpu_tasks.stream[recorded.row];
      if (!begun.emplace(recorded.step, stream).second) edit.Detach(task, kNodeGap);
    } else if (recorded.step >= 0 && recorded.step < graph.steps) {
      TaskIndex& of_step = first[static_cast<std::size_t>(recorded.step)];
      if (of_step == kNoTask) of_step = task;
    }
  }
  if (launches == 0) return Effect::Abstain("no launches were recorded");
  RemoveDispatch(job, {}, edit);
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    if (graph.tasks[task].kind == TaskKind::kCall) edit.Remove(task);
  }
  for (Edit::NewKernel& kernel : edit.inserted()) kernel.host_work = kernel.launch = DurationNs(0);
  for (const TaskIndex task : first) {
    if (task != kNoTask) edit.AddWorkBefore(task, Nanoseconds(job.calibration().host.graph_step));
  }
  Effect effect;
  effect.why = "if every operator of the step can be captured";
  effect.gpu_error = 0.03;
  effect.takes_host_work = true;
  effect.validated = ValidityOn(job);
  return effect;
}

}  // namespace headroom
