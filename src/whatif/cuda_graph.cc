// cuda-graph: the host launches a step, or each pass through a region of it, with one call. Kernels
// keep their times and what they wait for on the GPU; launches and the host's work for them are
// gone.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "whatif/catalogue.h"
#include "whatif/operators.h"
#include "whatif/selection.h"

namespace headroom {
namespace {

/// Between nodes of a launched graph (measured on one H200: 0.2 us more than the kernels' sum).
constexpr DurationNs kNodeGap{200};

/// Of the key `region`: all.
constexpr std::string_view kWholeStep = ".*";

std::int64_t CountOfLaunches(const Job& job) {
  return static_cast<std::int64_t>(
      SelectTasks(job, [&](TaskIndex task) { return job.LaunchOf(task) != kNoTask; }).size());
}

constexpr const char* kNoWaits =
    "waits for the GPU inside (a copy to the host, .item() or a synchronization), which a capture "
    "does not allow; remove-syncs+cuda-graph tells what it would buy without";

/// Passes through the regions: by row of the store's host events, the outermost event of the pass
/// that it is in. The backward of a pass is one of its own, as torch.cuda.make_graphed_callables
/// captures it.
class Passes {
 public:
  Passes(const Job& job, const std::string& expression) : job_(job) {
    const RE2 regex(expression, RE2::Quiet);
    const auto& events = job.store().host_events;
    pass_.resize(events.rows());
    // Parents come before what they contain.
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

  /// Of a host event; none: outside all regions.
  HostEventId Of(HostEventId event) const {
    return event.valid() ? pass_[event.index()] : HostEventId();
  }
  HostEventId OfTask(TaskIndex gpu_task) const {
    const TaskIndex launch = job_.LaunchOf(gpu_task);
    return launch == kNoTask ? HostEventId() : Of(HostEventId(job_.graph().tasks[launch].row));
  }
  std::vector<bool> Inside() const {
    std::vector<bool> inside(pass_.size());
    std::transform(pass_.begin(), pass_.end(), inside.begin(),
                   [](HostEventId pass) { return pass.valid(); });
    return inside;
  }

 private:
  /// The nodes of autograd whose forward operators are in a pass. All of one pass count as a pass
  /// that begins with the first of them.
  void AddBackward() {
    const auto& events = job_.store().host_events;
    std::map<HostEventId, HostEventId> first;  // Node, by the pass of the forward.
    std::vector<HostEventId> of_node(events.rows());
    for (std::size_t row = 0; row < events.rows(); ++row) {
      const HostEventId parent = events.parent[row];
      const HostEventId forward = Of(job_.attribution().Of(HostEventId(row)).forward);
      if (pass_[row].valid()) continue;
      if (parent.valid() && of_node[parent.index()].valid()) {
        of_node[row] = of_node[parent.index()];
      } else if (forward.valid()) {
        of_node[row] = first.try_emplace(forward, HostEventId(row)).first->second;
      }
    }
    for (std::size_t row = 0; row < events.rows(); ++row) {
      if (of_node[row].valid()) pass_[row] = of_node[row];
    }
  }

  const Job& job_;
  std::vector<HostEventId> pass_;
};

Effect CaptureRegion(const Job& job, const std::string& expression, Edit& edit) {
  const Graph& graph = job.graph();
  const Passes passes(job, expression);
  std::map<HostEventId, TaskIndex> launch;  // The call that stays, by pass.
  std::int64_t launches = 0;
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    const HostEventId event(graph.tasks[task].kind == TaskKind::kGpu ? 0 : graph.tasks[task].row);
    if (graph.tasks[task].kind == TaskKind::kReturn && passes.Of(event).valid() && edit.Waits(task))
      return Effect::Abstain(fmt::format("a region that matches {} {}", expression, kNoWaits));
    if (graph.tasks[task].kind != TaskKind::kGpu || !passes.OfTask(task).valid()) continue;
    ++launches;
    const bool is_first = launch.try_emplace(passes.OfTask(task), job.LaunchOf(task)).second;
    if (!is_first) edit.Detach(task, kNodeGap);
  }
  if (launches == 0) {
    return Effect::Abstain(
        fmt::format("no range, layer or operator that launches GPU work has a name that matches {}",
                    expression));
  }
  const std::vector<bool> inside = passes.Inside();
  ScaleHostWork(job, inside, 0, edit);
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    if (graph.tasks[task].kind != TaskKind::kCall) continue;
    const HostEventId pass = passes.Of(HostEventId(graph.tasks[task].row));
    if (!pass.valid()) continue;
    const auto stays = launch.find(pass);
    if (stays != launch.end() && stays->second == task) {
      edit.AddWorkBefore(task, Nanoseconds(job.calibration().host.graph_step));
    } else {
      edit.Remove(task);
    }
  }
  for (Edit::NewKernel& kernel : edit.inserted()) {
    if (!passes.OfTask(edit.InFrontOf(kernel.number)).valid()) continue;
    kernel.host_work = kernel.launch = DurationNs(0);
  }
  Effect effect;
  effect.why = fmt::format(
      "{:.3g} graphs a step hold {:.0f} % of its launches, if they can be "
      "captured",
      static_cast<double>(launch.size()) / graph.steps,
      100.0 * static_cast<double>(launches) / static_cast<double>(CountOfLaunches(job)));
  effect.gpu_error = 0.03;
  return effect;
}

}  // namespace

Effect ApplyCudaGraph(const Job& job, const Arguments& arguments, Edit& edit) {
  if (arguments.Text("region") != kWholeStep)
    return CaptureRegion(job, arguments.Text("region"), edit);
  const Graph& graph = job.graph();
  bool waits =
      std::any_of(edit.inserted().begin(), edit.inserted().end(),
                  [](const Edit::NewKernel& kernel) { return kernel.waiting_call != kNoTask; });
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task)
    waits |= graph.tasks[task].kind == TaskKind::kReturn && edit.Waits(task);
  if (waits) {
    return Effect::Abstain(fmt::format("the step {}", kNoWaits));
  }
  // The first call of each step becomes the launch of its graph.
  std::vector<TaskIndex> first(static_cast<std::size_t>(graph.steps), kNoTask);
  std::int64_t launches = 0;
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    const Task& recorded = graph.tasks[task];
    if (recorded.kind == TaskKind::kGpu) {
      // The first of each step still follows the launch.
      const TaskIndex launch = job.LaunchOf(task);
      if (launch == kNoTask) continue;
      ++launches;
      edit.Detach(task, kNodeGap);
    } else if (recorded.step >= 0 && recorded.step < graph.steps) {
      TaskIndex& of_step = first[static_cast<std::size_t>(recorded.step)];
      if (of_step == kNoTask) of_step = task;
    }
  }
  if (launches == 0) return Effect::Abstain("no launches were recorded");
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    if (graph.tasks[task].kind != TaskKind::kCall) continue;
    edit.ScaleWorkBefore(task, 0);
    edit.Remove(task);
  }
  for (Edit::NewKernel& kernel : edit.inserted()) kernel.host_work = kernel.launch = DurationNs(0);
  for (const TaskIndex task : first) {
    if (task != kNoTask) edit.AddWorkBefore(task, Nanoseconds(job.calibration().host.graph_step));
  }
  Effect effect;
  effect.why = "if every operator of the step can be captured";
  effect.gpu_error = 0.03;
  effect.validated = ValidityOn(job);
  return effect;
}

}  // namespace headroom
