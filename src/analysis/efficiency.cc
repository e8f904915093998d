#include "analysis/efficiency.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/statistics.h"
#include "cost/roofline.h"

namespace headroom {
namespace {

bool IsTensorCoreWork(WorkFamily family) {
  return family == WorkFamily::kMatmul || family == WorkFamily::kConvolution ||
         family == WorkFamily::kAttention;
}

}  // namespace

Efficiency MeasureEfficiency(const TraceStore& store, NameFacts& names,
                             std::span<const CostedCall> work, const StepAnalysis& steps,
                             const DeviceSpec* device) {
  const auto& tasks = store.gpu_tasks;
  Efficiency out;
  if (device != nullptr) out.device_name = device->name;

  std::set<DeviceId> devices;  // That the steps use.
  DurationNs all, unclassified, eligible, on_tensor_cores;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const DurationNs duration = tasks.duration[i];
    all += duration;
    if (steps.step_of_task[i] != StepAnalysis::kNoStep)
      devices.insert(store.DeviceOf(GpuTaskId(i)));
    if (tasks.kind[i] != GpuTaskKind::kKernel) continue;
    const KernelClass& facts = names.Kernel(tasks.name[i]);
    if (facts.family == WorkFamily::kUnclassified) unclassified += duration;
    // Eligible is what multiplies matrices, by the kernel's class: copies and casts around it are
    // not.
    if (!IsTensorCoreWork(facts.family)) continue;
    eligible += duration;
    if (facts.tensor_cores == TensorCoreUse::kYes) on_tensor_cores += duration;
  }
  if (all.ns() == 0) return out;
  out.unclassified_pct = SharePct(unclassified, all);
  out.tensor_core_eligible_pct = SharePct(eligible, all);
  if (eligible.ns() > 0) out.tensor_core_used_pct = SharePct(on_tensor_cores, eligible);
  if (work.empty()) return out;

  std::map<DType, double> flops_by_type;  // In steps, of the work that peaks are stated for.
  DurationNs costed, compute_bound, memory_bound;
  for (const CostedCall& call : work) {
    costed += call.time;
    if (call.point.bound == Bound::kCompute) compute_bound += call.time;
    if (call.point.bound == Bound::kMemory) memory_bound += call.time;
    const bool in_step = call.main_task.valid() &&
                         steps.step_of_task[call.main_task.index()] != StepAnalysis::kNoStep;
    // The model's work is what MFU counts: what checkpointing computes twice counts once.
    if (in_step && !call.recomputed && IsTensorCoreWork(call.cost->family)) {
      flops_by_type[call.math_dtype] += call.cost->flops;
    }
  }
  out.costed_pct = SharePct(costed, all);
  if (compute_bound.ns() + memory_bound.ns() > 0) {
    out.compute_bound_pct = SharePct(compute_bound, all);
    out.memory_bound_pct = SharePct(memory_bound, all);
  }
  if (flops_by_type.empty()) return out;

  // The type with most FLOPs names the peak; a step that mixes types is measured against the one
  // that dominates it.
  const auto count =
      static_cast<double>(std::count_if(steps.steps.list.begin(), steps.steps.list.end(),
                                        [](const StepRow& row) { return row.tasks > 0; }));
  double flops = 0;
  for (const auto& [type, of_type] : flops_by_type) flops += of_type;
  const DType main_type =
      std::max_element(flops_by_type.begin(), flops_by_type.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; })
          ->first;
  out.flops_per_step = flops / count;
  out.math_dtype = Name(main_type);
  const Mfu mfu = ComputeMfu(flops / count, *steps.steps.p50, static_cast<int>(devices.size()),
                             main_type, device);
  out.peak_tflops = mfu.peak_tflops;
  if (mfu.state == RooflineState::kImpossible) {
    out.error =
        "the recorded shapes and times give more than 100 % of the peak; shapes, times or the "
        "device are wrong";
  } else {
    out.mfu_pct = mfu.pct;
  }
  if (mfu.peak_tflops) {
    out.mfu_formula = fmt::format(
        "{:.3f} TFLOP per step (matrix products, convolutions, attention; recorded shapes) / "
        "({:.4f} s median step x {}{:g} TFLOP/s dense {} peak of {})",
        flops / count / 1e12, static_cast<double>(steps.steps.p50->ns()) / 1e9,
        devices.size() > 1 ? fmt::format("{} GPUs x ", devices.size()) : "", *mfu.peak_tflops,
        out.math_dtype, out.device_name);
  }
  return out;
}

}  // namespace headroom
