// attention: fused attention as kernels of another library. Rates are relative to those of
// FlashAttention-2. Recorded fused kernels change their time, except for their start; unfused
// attention is first fused. PyTorch's scaled_dot_product_attention (sdpa) uses FlashAttention-2 for
// 16-bit types without a mask.
//
// Sources: Shah et al., "FlashAttention-3" (2024), figures 5 and 6, H100: FlashAttention-3 is 1.5
// to 2.0 times as fast in the forward and 1.5 to 1.75 times in the backward, and close to cuDNN 9.
// Its instructions (wgmma, TMA) exist only in compute capability 9.0. On older GPUs, both other
// libraries have the same instructions, so their rates count as equal.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "whatif/job/attention.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/fusion/flash_attention.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// Middle of the published ranges, and half-widths that cover them.
constexpr double kHopperForward = 1.75, kHopperBackward = 1.62, kAttentionKindError = 0.2;

constexpr std::string_view kHopper = "Hopper";

/// Rates relative to FlashAttention-2 on the same GPU.
struct AttentionRates {
  double forward = 1, backward = 1;
};

AttentionRates RatesOfKind(std::string_view kind, bool on_hopper) {
  if (on_hopper && (kind == "flash3" || kind == "cudnn")) return {kHopperForward, kHopperBackward};
  return {};
}

/// Returns the library of a fused attention kernel by its name; empty if it is another one.
std::string_view KindOfKernel(std::string_view kernel) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kNames = {{
      {"Sm90", "flash3"},  // flash::FlashAttnFwdSm90, FlashAttnBwdSm90
      {"cudnn", "cudnn"},
      {"flash", "flash2"},
  }};
  for (const auto& [part, kind] : kNames) {
    if (kernel.find(part) != std::string_view::npos) return kind;
  }
  return "";
}

}  // namespace

Effect ApplyAttention(const Job& job, const Arguments& arguments, Edit& edit) {
  if (job.device() == nullptr) return Effect::Abstain(WhyNoDevice(job));
  const std::string& kind = arguments.Text("kind");
  const bool on_hopper = job.device()->architecture == kHopper;
  if (kind == "flash3" && !on_hopper) {
    return Effect::Abstain(fmt::format("flash3 requires Hopper; {} is {}", job.device()->short_name,
                                       job.device()->architecture));
  }
  const AttentionRates rates = RatesOfKind(kind, on_hopper);
  const std::vector<TaskIndex> fused = SelectTasks(job, [&](TaskIndex task) {
    return job.ClassOf(task).family == WorkFamily::kAttention && !edit.IsRemoved(task);
  });
  if (fused.empty()) {
    // The model's rates on Hopper are those of cuDNN and FlashAttention-3.
    const AttentionRates modelled = RatesOfKind("cudnn", on_hopper);
    DeviceSpec device = *job.device();
    device.sustained.attention_forward *= rates.forward / modelled.forward;
    device.sustained.attention_backward *= rates.backward / modelled.backward;
    Effect effect = FuseAttention(job, device, edit);
    if (effect.applies) {
      if (FindEagerAttention(job).front().dtype == DType::kF32)
        effect.AlsoBecause("float32 attention always uses the memory-efficient kernel");
      effect.validated = Validity::kNo;
      effect.gpu_error = std::max(effect.gpu_error, kAttentionKindError);
    }
    return effect;
  }
  const std::string_view wanted = kind == "sdpa" ? "flash2" : std::string_view(kind);
  bool all_same = true;
  for (const TaskIndex task : fused) {
    const std::string_view recorded = KindOfKernel(job.NameOf(task));
    if (recorded.empty()) {
      return Effect::Abstain(fmt::format(
          "the rate of the recorded kernel {} relative to {} is unknown", job.NameOf(task), kind));
    }
    all_same &= recorded == wanted;
  }
  if (all_same) return Effect::Already(fmt::format("attention runs as {}", wanted));
  for (const TaskIndex task : fused) {
    const AttentionRates recorded = RatesOfKind(KindOfKernel(job.NameOf(task)), on_hopper);
    const bool backward = job.ContextOf(task).phase == Phase::kBackward;
    const double ratio =
        backward ? recorded.backward / rates.backward : recorded.forward / rates.forward;
    edit.SetDuration(task, WithWork(edit.DurationOf(task), ratio));
  }
  Effect effect;
  effect.why = fmt::format("{:.3g} fused attention kernels per step run as {}",
                           static_cast<double>(fused.size()) / job.graph().steps, kind);
  effect.memory_delta_bytes = 0;
  effect.gpu_error = kAttentionKindError;
  return effect;
}

}  // namespace headroom
