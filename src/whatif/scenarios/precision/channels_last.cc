// channels-last: activations have the layout that tensor cores read (NHWC), so that no convolution
// reorders its operands. Float32 convolutions without tensor cores gain nothing from it.
#include "analysis/names/operator_costs.h"
#include "kernels/tensor_core_time.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/precision/tensor_cores.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

constexpr double kChannelsLastError = 0.14;

/// Returns true for cuDNN's kernels that reorder a convolution's operands.
bool Reorders(std::string_view kernel) {
  return kernel.find("nchwToNhwc") != std::string_view::npos ||
         kernel.find("nhwcToNchw") != std::string_view::npos;
}

/// Returns the channels-last time of a convolution that another scenario moved to tensor cores.
std::optional<DurationNs> TimeInChannelsLast(const Job& job, HostEventId op, Precision precision) {
  const OperatorCall* call = job.CallOf(op);
  const std::optional<ConvolutionShape> shape = call ? ConvolutionShapeOf(*call) : std::nullopt;
  if (!shape || job.device() == nullptr) return std::nullopt;
  return TensorCoreConvolutionTime(*shape, TypeOf(precision), *job.device(),
                                   ActivationOrder::kChannelsLast);
}

}  // namespace

Effect ApplyChannelsLast(const Job& job, const Arguments& /*arguments*/, Edit& edit) {
  std::int64_t convolutions = 0, changed = 0;
  bool any_on_tensor_cores = false;
  for (const LaunchingOperator& op : LaunchingOperators(job)) {
    const OperatorCost* cost = job.CostOf(op.op);
    if (cost == nullptr || cost->family != WorkFamily::kConvolution) continue;
    ++convolutions;
    std::vector<TaskIndex> left, reorders;
    bool on_tensor_cores = false;
    for (const TaskIndex task : op.tasks) {
      on_tensor_cores |= job.ClassOf(task).tensor_cores == TensorCoreUse::kYes;
      if (!edit.IsRemoved(task)) (Reorders(job.NameOf(task)) ? reorders : left).push_back(task);
    }
    const TaskIndex first = op.tasks.front();
    any_on_tensor_cores |= on_tensor_cores || edit.PrecisionOf(first).has_value();
    if (const std::optional<Precision> precision = edit.PrecisionOf(first); precision) {
      const std::optional<DurationNs> time = TimeInChannelsLast(job, op.op, *precision);
      if (left.empty() || !time) continue;
      ReplaceTasks(job, left, *time, edit);
      // The host's additional work on tensor cores was mainly the launch of the reordering.
      if (const TaskIndex launch = job.LaunchOf(first); launch != kNoTask) {
        edit.AddWorkBefore(launch,
                           DurationNs(0) - AddedHostTime(job, op.op, first, TypeOf(*precision)));
      }
    } else if (!on_tensor_cores || reorders.empty()) {
      continue;
    }
    RemoveTasks(job, reorders, edit);
    ++changed;
  }
  if (changed == 0) {
    if (convolutions == 0) {
      return NotFound(job, "the job has no convolutions",
                      {"convolutions", [&](const LaunchingOperator& op) {
                         return IsOfFamily(job, op, WorkFamily::kConvolution);
                       }});
    }
    if (any_on_tensor_cores) {
      return Effect::Already(
          "the convolutions run on tensor cores without reordering their operands");
    }
    return Effect::Nothing(
        "no convolution reorders its operands. channels-last helps only on tensor cores: try "
        "amp+channels-last or tf32+channels-last");
  }
  Effect effect;
  effect.gpu_error = kChannelsLastError;
  effect.memory_delta_bytes = 0;
  effect.memory_change.channels_last = true;
  effect.validated = ValidityOn(job);
  return effect;
}

}  // namespace headroom
