// cuda-graph: the host launches a step with one call. Kernels keep their times and what they wait
// for on the GPU; launches and the host's work for them are gone.
#include <algorithm>
#include <vector>

#include "whatif/catalogue.h"

namespace headroom {
namespace {

/// Between nodes of a launched graph (measured on one H200: 0.2 us more than the kernels' sum).
constexpr DurationNs kNodeGap{200};

}  // namespace

Effect ApplyCudaGraph(const Job& job, const Arguments& /*arguments*/, Edit& edit) {
  const Graph& graph = job.graph();
  bool waits =
      std::any_of(edit.inserted().begin(), edit.inserted().end(),
                  [](const Edit::NewKernel& kernel) { return kernel.waiting_call != kNoTask; });
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task)
    waits |= graph.tasks[task].kind == TaskKind::kReturn && edit.Waits(task);
  if (waits) {
    return Effect::Abstain(
        "the step waits for the GPU inside (a copy to the host, .item() or a synchronization), "
        "which a capture does not allow; remove-syncs+cuda-graph tells what it would buy without");
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
