// restructured-batchnorm: batch norms are split and fused with the layers around them, which halves
// their passes over memory. The activations after the norms run inside the fused kernels.
//
// Source: Jung et al., "Restructuring Batch Normalization to Accelerate CNN Training" (2018). The
// recipe is that of Zhu et al., "Daydream" (2020): remove the fused activations, halve the norms.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "whatif/job/operators.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

constexpr double kTraffic = 0.5;  ///< Remaining share of a norm's traffic.

/// The saving was published for other networks and GPUs.
constexpr double kRestructuredBatchnormError = 0.3;

bool IsBatchNorm(std::string_view op) { return op.find("batch_norm") != std::string_view::npos; }

bool IsActivation(std::string_view op) {
  constexpr std::array<std::string_view, 6> kNames = {
      "aten::relu",       "aten::relu_",     "aten::clamp_min",
      "aten::clamp_min_", "aten::hardtanh_", "aten::threshold_backward"};
  return std::find(kNames.begin(), kNames.end(), op) != kNames.end();
}

}  // namespace

Effect ApplyRestructuredBatchnorm(const Job& job, const Arguments& /*arguments*/, Edit& edit) {
  const std::vector<LaunchingOperator> operators = LaunchingOperators(job);
  std::vector<LaunchingOperator> gone;
  std::int64_t norms = 0;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const std::string_view name = NameOfOperator(job, operators[i].op);
    if (!IsBatchNorm(name)) continue;
    ++norms;
    for (const TaskIndex task : operators[i].tasks) edit.Scale(task, kTraffic);
    // The activation follows the norm in the forward, and precedes the norm in the backward.
    const bool backward = job.ContextOf(operators[i].tasks.front()).phase == Phase::kBackward;
    if (backward ? i == 0 : i + 1 == operators.size()) continue;
    const LaunchingOperator& beside = operators[backward ? i - 1 : i + 1];
    if (IsActivation(NameOfOperator(job, beside.op))) gone.push_back(beside);
  }
  if (norms == 0) return NotFound(job, "the job has no batch norms");
  RemoveOperators(job, gone, edit);
  Effect effect;
  effect.why = fmt::format(
      "{:.3g} batch norms per step take half their time, and {:.3g} activations are removed",
      static_cast<double>(norms) / job.graph().steps,
      static_cast<double>(gone.size()) / job.graph().steps);
  effect.gpu_error = kRestructuredBatchnormError;
  return effect;
}

}  // namespace headroom
