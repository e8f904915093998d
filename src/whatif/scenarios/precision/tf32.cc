// tf32: float32 matrix products and convolutions run on tensor cores, in 19 bits. Their times come
// from shapes (kernels/tensor_core_time.h) and are never longer than before. All other kernels stay
// unchanged. The library queries the driver more often before each such call, which costs host
// time.
#include <algorithm>
#include <string>

#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/precision/tensor_cores.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// Error of the kernel times, as a share (measured: totals of whole jobs within 3 %).
constexpr double kTf32Error = 0.11;

}  // namespace

Effect ApplyTf32(const Job& job, const Arguments& /*arguments*/, Edit& edit) {
  if (job.device() == nullptr) return Effect::Abstain(WhyNoDevice(job));
  if (!job.device()->tf32_tensor_tflops)
    return Effect::Abstain("this GPU has no TF32 tensor cores");
  std::int64_t elsewhere = 0, changed = 0, convolutions = 0;
  bool recurrent = false;
  for (const auto& [op, tasks] : Float32Products(job)) {
    // With autocast applied first, the product already runs in 16 bits.
    if (IsReplaced(tasks, edit) || edit.PrecisionOf(tasks.front())) {
      ++elsewhere;
      continue;
    }
    if (!MoveToTensorCores(job, op, tasks, DType::kTF32, edit)) continue;
    ++changed;
    convolutions += job.CostOf(op)->family == WorkFamily::kConvolution ? 1 : 0;
    recurrent |= IsRecurrent(NameOfOperator(job, op));
    const TaskIndex launch = job.LaunchOf(tasks.front());
    if (launch != kNoTask)
      edit.AddWorkBefore(launch, AddedHostTime(job, op, tasks.front(), DType::kTF32));
  }
  if (changed == 0 && elsewhere > 0) {
    return Effect::Nothing("another change moves the products to tensor cores");
  }
  if (changed == 0) {
    return NoProducts(job, "no matrix product or convolution of float32 would be faster in TF32");
  }
  Effect effect;
  effect.gpu_error = kTf32Error;
  effect.memory_delta_bytes = 0;
  // Another convolution kernel has another workspace, which can be gigabytes.
  effect.memory_change.tensor_core_convolutions = convolutions > 0;
  effect.validated = ValidityOn(job);
  if (recurrent) effect.HoldRecurrent();
  return effect;
}

}  // namespace headroom
