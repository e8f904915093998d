// compile: torch.compile on the forward and the backward. Memory-bound kernels between products,
// convolutions and attention become one kernel each (scenarios/fusion/fusion.h). The host calls
// kernels and libraries without PyTorch's dispatcher, and first checks that the assumptions of the
// compiled code hold. mode=reduce-overhead also launches each of the two as one CUDA graph. Assumes
// that nothing breaks the graph and that shapes stay, and leaves out the time to compile.
// compile_on_cpu.h has jobs without GPU work.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/fusion/compile_on_cpu.h"
#include "whatif/scenarios/fusion/fusion.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// Half-width of the changed kernel times: the generated kernels are a guess.
constexpr double kCompileError = 0.3;

/// Share of the host's work and calls per remaining kernel: 0.7 of eager for generated kernels and
/// 0.8 for libraries, in the medians of the small modules of gpu-modern/ (predict/host_model.cc).
constexpr double kCompiledHost = 0.75;

/// Checks before the forward, in calls of an elementwise operator (the same source).
constexpr double kChecks = 4;

bool IsCompiledAlready(const Job& job) {
  return HasAny(job, [&](const LaunchingOperator& op) {
    return job.ClassOf(op.tasks.front()).family == WorkFamily::kFused;
  });
}

/// Returns the first call of the forward in each step.
std::vector<TaskIndex> FirstCalls(const Job& job) {
  std::vector<TaskIndex> first;
  std::int32_t step = -1;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    const Task& recorded = job.graph().tasks[task];
    if (recorded.kind != TaskKind::kGpu || job.ContextOf(task).phase != Phase::kForward) continue;
    const TaskIndex launch = job.LaunchOf(task);
    if (launch == kNoTask || recorded.step == step) continue;
    step = recorded.step;
    first.push_back(launch);
  }
  return first;
}

/// Returns true if a call waits for the GPU between the first launch of the forward and the last of
/// the backward in a step.
bool WaitsWithin(const Job& job, const std::vector<TaskIndex>& first, const Edit& edit) {
  std::vector<TaskIndex> last(first.size(), 0);
  std::size_t step = 0;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind != TaskKind::kGpu || job.LaunchOf(task) == kNoTask) continue;
    const Phase phase = job.ContextOf(task).phase;
    if (phase != Phase::kBackward) continue;
    while (step + 1 < first.size() && job.LaunchOf(task) > first[step + 1]) ++step;
    last[step] = std::max(last[step], job.LaunchOf(task));
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    for (TaskIndex task = first[i]; task < last[i]; ++task) {
      if (job.graph().tasks[task].kind == TaskKind::kReturn && edit.Waits(task)) return true;
    }
  }
  return false;
}

}  // namespace

Effect ApplyCompile(const Job& job, const Arguments& arguments, Edit& edit) {
  if (!job.HasGpuWork()) return CompileOnCpu(job, edit);
  if (IsCompiledAlready(job)) return Effect::Already("the job is compiled");
  const std::vector<TaskIndex> first = FirstCalls(job);
  if (first.empty()) {
    return Effect::Abstain(
        WhyNotFound(job, "no operator of the forward launches GPU work: nothing to compile"));
  }
  const bool graphs = arguments.Text("mode") == "reduce-overhead";
  const std::int64_t chains = FuseChains(job, /*reductions=*/true, edit);
  Effect effect;
  effect.why = fmt::format("{:.3g} chains per step become one kernel each",
                           static_cast<double>(chains) / job.graph().steps);
  effect.gpu_error = kCompileError;
  const std::vector<bool> compiled = SelectHost(job, [&](HostEventId event) {
    const Phase phase = job.attribution().Of(event).phase;
    return phase == Phase::kForward || phase == Phase::kBackward;
  });
  const HostCosts& costs = job.calibration().host;
  if (graphs) {
    if (WaitsWithin(job, first, edit)) {
      return Effect::Abstain(
          "the forward or the backward waits for the GPU (a copy to the host, .item() or a "
          "synchronization), which a CUDA graph does not allow");
    }
    RemoveDispatch(job, compiled, edit);
    for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
      const Task& recorded = job.graph().tasks[task];
      if (recorded.kind == TaskKind::kCall && compiled[recorded.row]) edit.Scale(task, 0);
    }
    effect.AlsoBecause("one CUDA graph for the forward and one for the backward");
  } else {
    ScaleHost(job, compiled, kCompiledHost, edit);
  }
  // The second graph is that of the backward.
  const double launches = graphs ? 2 * costs.graph_launch : 0;
  for (const TaskIndex call : first) {
    edit.AddWorkBefore(call,
                       Nanoseconds(kChecks * (costs.cast_work + costs.cast_launch) + launches));
  }
  effect.AlsoBecause("without graph breaks and recompilation");
  return effect;
}

}  // namespace headroom
