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
                             const Attribution& attribution, OperatorCosts& costs,
                             const StepAnalysis& steps, const DeviceSpec* device) {
  /// The GPU work of one costed operator.
  struct Work {
    HostEventId op;
    DurationNs time, longest;
    StringId main_kernel;
    bool in_step = false;
  };
  const auto& tasks = store.gpu_tasks;
  Efficiency out;
  if (device != nullptr) out.device_name = device->name;
  if (tasks.rows() == 0) return out;

  std::vector<Work> work;
  std::vector<std::uint32_t> slot_of(store.host_events.rows());  // Position in `work` + 1.
  std::set<DeviceId> devices;                                    // That the steps use.
  DurationNs all, costed, unclassified, eligible, on_tensor_cores;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const DurationNs duration = tasks.duration[i];
    all += duration;
    const HostEventId op = attribution.Of(GpuTaskId(i)).costed;
    const bool kernel = tasks.kind[i] == GpuTaskKind::kKernel;
    if (kernel) {
      const KernelClass& facts = names.Kernel(tasks.name[i]);
      if (facts.family == WorkFamily::kUnclassified) unclassified += duration;
      // Eligible is what multiplies matrices, by the kernel's class: copies and casts around it are
      // not.
      if (IsTensorCoreWork(facts.family)) {
        eligible += duration;
        if (facts.tensor_cores == TensorCoreUse::kYes) on_tensor_cores += duration;
      }
    }
    if (!op.valid()) continue;
    costed += duration;
    std::uint32_t& slot = slot_of[op.index()];
    if (slot == 0) {
      work.push_back({.op = op, .time = {}, .longest = {}, .main_kernel = {}});
      slot = static_cast<std::uint32_t>(work.size());
    }
    Work& of_op = work[slot - 1];
    of_op.time += duration;
    if (kernel && duration >= of_op.longest) {
      of_op.longest = duration;
      of_op.main_kernel = tasks.name[i];
    }
    if (steps.step_of_task[i] == StepAnalysis::kNoStep) continue;
    of_op.in_step = true;
    devices.insert(store.DeviceOf(GpuTaskId(i)));
  }
  if (all.ns() == 0) return out;
  out.unclassified_pct = SharePct(unclassified, all);
  out.tensor_core_eligible_pct = SharePct(eligible, all);
  if (eligible.ns() > 0) out.tensor_core_used_pct = SharePct(on_tensor_cores, eligible);
  if (costed.ns() == 0) return out;
  out.costed_pct = SharePct(costed, all);

  std::map<DType, double> flops_by_type;  // In steps, of the work that peaks are stated for.
  DurationNs compute_bound, memory_bound;
  for (const Work& of_op : work) {
    const OperatorCost& cost = *costs.Of(of_op.op);
    KernelClass main;
    if (of_op.main_kernel.valid()) main = names.Kernel(of_op.main_kernel);
    const DType type = ResolveMathDType(cost.math_dtype, main);
    const RooflinePoint point = PlaceOnRoofline({.flops = cost.flops,
                                                 .bytes = cost.bytes,
                                                 .time = of_op.time,
                                                 .math_dtype = type,
                                                 .tensor_cores = main.tensor_cores},
                                                device);
    if (point.bound == Bound::kCompute) compute_bound += of_op.time;
    if (point.bound == Bound::kMemory) memory_bound += of_op.time;
    // The model's work is what MFU counts: what checkpointing computes twice counts once.
    if (of_op.in_step && IsTensorCoreWork(cost.family) && !attribution.Of(of_op.op).recomputed) {
      flops_by_type[type] += cost.flops;
    }
  }
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
