// flash-attention: one fused kernel per pass replaces products, mask, softmax and dropout. The
// scores are never written to memory; that traffic is most of the cost of unfused attention. The
// products run at the fused kernel's rate; in float32, that is the rate without tensor cores.
#include "whatif/scenarios/fusion/flash_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "whatif/job/attention.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

constexpr double kFlashAttentionError = 0.12;
/// Error without dropout. The fused kernel's rate is then a published figure.
constexpr double kPublishedError = 0.25;

/// One kernel that replaces several.
struct FusedKernel {
  TaskIndex task = kNoTask, launch = kNoTask;
  DurationNs launch_duration{}, host_work{};
};

bool IsFusedAlready(const Job& job) {
  const std::vector<LaunchingOperator> operators = LaunchingOperators(job);
  return std::any_of(operators.begin(), operators.end(), [&](const LaunchingOperator& op) {
    return FamilyOfOperator(NameOfOperator(job, op.op)) == WorkFamily::kAttention;
  });
}

}  // namespace

Effect ApplyFlashAttention(const Job& job, const Arguments& /*arguments*/, Edit& edit) {
  if (job.device() == nullptr) return Effect::Abstain(WhyNoDevice(job));
  return FuseAttention(job, *job.device(), edit);
}

Effect FuseAttention(const Job& job, const DeviceSpec& device, Edit& edit) {
  const std::vector<EagerAttention> found = FindEagerAttention(job);
  std::vector<bool> gone_events(job.store().host_events.rows());
  std::vector<TaskIndex> gone;
  std::vector<FusedKernel> kernels;
  const HostCosts& costs = job.calibration().host;
  std::int64_t fused = 0;
  bool dropout = true;
  const auto fuse = [&](const EagerAttention& attention, bool backward) {
    const std::vector<TaskIndex>& tasks = backward ? attention.backward : attention.forward;
    const auto time_as = [&](DType dtype) {
      return FusedAttentionTime(attention.shape, backward, dtype, device);
    };
    const TaskIndex task = tasks.front();
    edit.ReplaceWork(task, *time_as(attention.dtype), time_as(DType::kBF16));
    const TaskIndex launch = job.LaunchOf(task);
    kernels.push_back(
        {.task = task,
         .launch = launch,
         .launch_duration = edit.DurationOf(launch),
         .host_work = Nanoseconds(backward ? costs.backward_attention : costs.forward_attention)});
    gone.insert(gone.end(), tasks.begin() + 1, tasks.end());
  };
  for (const EagerAttention& attention : found) {
    const bool known =
        FusedAttentionTime(attention.shape, false, attention.dtype, device).has_value();
    const auto launched = [&](const std::vector<TaskIndex>& tasks) {
      return tasks.empty() || job.LaunchOf(tasks.front()) != kNoTask;
    };
    if (!known || !launched(attention.forward) || !launched(attention.backward)) continue;
    ++fused;
    fuse(attention, false);
    if (!attention.backward.empty()) fuse(attention, true);
    for (const HostEventId event : attention.host_events) gone_events[event.index()] = true;
    dropout &= attention.shape.dropout;
  }
  if (kernels.empty()) {
    if (found.empty() && IsFusedAlready(job)) return Effect::Already("the attention is fused");
    if (found.empty()) {
      return NotFound(job,
                      "the job has no unfused attention (two batched products around a softmax)",
                      {"batched products", [&](const LaunchingOperator& op) {
                         return NameOfOperator(job, op.op).find("bmm") != std::string_view::npos;
                       }});
    }
    return Effect::Abstain(
        "the time of a fused kernel is unknown for these types and sizes on this GPU");
  }
  ScaleHost(job, SelectHost(job, [&](HostEventId event) { return gone_events[event.index()]; }), 0,
            edit);
  RemoveTasks(job, gone, edit);
  for (const FusedKernel& kernel : kernels) {
    edit.SetDuration(kernel.launch, kernel.launch_duration);
    edit.AddWorkBefore(kernel.launch, kernel.host_work);
  }
  Effect effect;
  effect.why =
      fmt::format("{:.3g} attention operations per step each become one fused kernel per pass",
                  static_cast<double>(fused) / job.graph().steps);
  effect.memory_delta_bytes = 0;
  effect.memory_change.fused_attention = true;
  effect.gpu_error = dropout ? kFlashAttentionError : kPublishedError;
  effect.validated = dropout ? ValidityOn(job) : Validity::kOutOfRange;
  return effect;
}

}  // namespace headroom
