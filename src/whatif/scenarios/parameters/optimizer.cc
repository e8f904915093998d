// fused-optimizer: one kernel per step (kind=fused) or a few over lists of parameters
// (kind=foreach) replace several kernels per parameter. The update is memory-bound. Its time
// follows from the bytes that it must move per parameter and the sustained bandwidth. If shapes or
// the GPU are unknown, the time is that of the recorded kernels without repeated traffic.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "whatif/job/optimizer_steps.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/parameters/optimizer_on_cpu.h"
#include "whatif/scenarios/parameters/optimizer_update.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {

Effect ApplyFusedOptimizer(const Job& job, const Arguments& arguments, Edit& edit) {
  const bool fused = arguments.Text("kind") == "fused";
  if (!job.HasGpuWork()) return FuseOptimizerOnCpu(job, fused, edit);
  const std::vector<OptimizerStep> steps = FindOptimizerSteps(job);
  if (const std::string why = WhyNoUpdate(job, steps); !why.empty()) return Effect::Abstain(why);
  if (UpdatesBy(job, steps.front(), "_fused_")) return Effect::Already("the optimizer is fused");
  const bool works_on_lists = UpdatesBy(job, steps.front(), "_foreach_");
  if (works_on_lists && !fused) return Effect::Already("the optimizer works on lists (foreach)");
  const UpdateAlgorithm* algorithm = AlgorithmOf(job, steps.front());
  if (algorithm == nullptr) return Effect::Abstain("only Adam, AdamW and SGD are supported");
  // A trace has no shapes for lists, but their kernels' time shows the bandwidth.
  const bool from_bytes = !works_on_lists && KnowsBandwidth(job) &&
                          std::all_of(steps.begin(), steps.end(), [&](const OptimizerStep& step) {
                            return ParameterBytes(job, step) > 0;
                          });
  const double accesses = fused ? algorithm->fused : algorithm->foreach;
  std::vector<double> kernel_ns;
  kernel_ns.reserve(steps.size());
  for (const OptimizerStep& step : steps) {
    kernel_ns.push_back(from_bytes ? UpdateNs(job, ParameterBytes(job, step) * accesses)
                                   : RecordedUpdateNs(job, step) * accesses / algorithm->foreach);
  }
  const HostCosts& costs = job.calibration().host;
  if (!UpdateInOneKernel(job, steps, kernel_ns,
                         fused ? costs.fused_optimizer : costs.foreach_optimizer, edit))
    return Effect::Abstain(std::string(kNoUpdateLaunch));
  Effect effect;
  effect.gpu_error = from_bytes || works_on_lists ? kUpdateError : kUpdateErrorWithoutShapes;
  effect.memory_delta_bytes = 0;
  effect.memory_change.fused_update = fused;
  effect.memory_change.foreach_update = !fused;
  effect.why =
      from_bytes
          ? WhatShapesMiss(job, Phase::kOptimizer, algorithm->counted, "updates of parameters")
      : works_on_lists
          ? fmt::format(
                "the recorded foreach update moves {:.0f} tensors of the parameters' size, "
                "a fused update {:.0f}",
                algorithm->foreach, algorithm->fused)
          : WhyOnlyRecordedUpdate(job);
  if (from_bytes) effect.validated = ValidityOn(job);
  return effect;
}

}  // namespace headroom
