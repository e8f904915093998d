#include "analysis/tables/efficiency.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/statistics.h"
#include "base/text.h"
#include "cost/roofline.h"

namespace headroom {
namespace {

/// Returns true if the device is known to lack units that multiply matrices.
bool LacksTensorCores(const DeviceSpec* device) {
  return device != nullptr && !device->fp16_tensor_tflops && !device->bf16_tensor_tflops &&
         !device->tf32_tensor_tflops && !device->fp32_matrix_tflops && !device->int8_tensor_tops;
}

/// Returns true if the task belongs to a step whose GPU work was recorded completely.
bool InWholeStep(const StepAnalysis& steps, GpuTaskId task) {
  const std::int32_t step = steps.step_of_task[task.index()];
  return step != StepAnalysis::kNoStep && steps.steps.list[static_cast<std::size_t>(step)].Counts();
}

/// Returns true if the task is measured: it belongs to a whole step, or there are no whole steps.
bool Counts(const StepAnalysis& steps, GpuTaskId task) {
  return !steps.steps.p50 || InWholeStep(steps, task);
}

/// Computes shares of GPU time from the kernels' names.
void MeasureKernels(const TraceStore& store, NameFacts& names, const Attribution& attribution,
                    const StepAnalysis& steps, const DeviceSpec* device, DurationNs all,
                    Efficiency& out) {
  const auto& tasks = store.gpu_tasks;
  DurationNs unclassified, products, eligible, costed;
  std::map<TensorCoreUse, DurationNs> by_use;
  // Matrix-vector products read each weight once, so tensor cores make them no faster.
  std::unordered_map<StringId, bool> has_vector;
  const auto multiplies_vector = [&](StringId name) {
    const auto [known, is_new] = has_vector.try_emplace(name, false);
    if (is_new) known->second = LowerCase(store.Text(name)).find("gemv") != std::string::npos;
    return known->second;
  };
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (tasks.kind[i] != GpuTaskKind::kKernel || !Counts(steps, GpuTaskId(i))) continue;
    const DurationNs duration = tasks.duration[i];
    const KernelClass& facts = names.Kernel(tasks.name[i]);
    if (facts.family == WorkFamily::kUnclassified) unclassified += duration;
    // A kernel is eligible if its class multiplies matrices. Copies and casts around such a kernel
    // are not.
    if (!MultipliesMatrices(facts.family)) continue;
    products += duration;
    if (attribution.Of(GpuTaskId(i)).costed.valid()) costed += duration;
    if (multiplies_vector(tasks.name[i])) continue;
    eligible += duration;
    by_use[facts.tensor_cores] += duration;
  }
  out.unclassified_pct = SharePct(unclassified, all);
  if (products.ns() > 0) out.mfu_coverage_pct = SharePct(costed, products);
  if (LacksTensorCores(device)) return;
  out.tensor_core_eligible_pct = SharePct(eligible, all);
  if (eligible.ns() == 0) return;
  const DurationNs told = by_use[TensorCoreUse::kYes] + by_use[TensorCoreUse::kNo];
  out.tensor_core_unknown_pct = SharePct(by_use[TensorCoreUse::kUnknown], eligible);
  if (told.ns() > 0) out.tensor_core_used_pct = SharePct(by_use[TensorCoreUse::kYes], told);
}

/// Computes the shares of the costed work that are compute-bound and memory-bound.
void MeasureBounds(std::span<const CostedCall> work, const StepAnalysis& steps, DurationNs all,
                   Efficiency& out) {
  DurationNs costed, compute_bound, memory_bound, impossible;
  for (const CostedCall& call : work) {
    if (!Counts(steps, call.main_task)) continue;
    costed += call.time;
    // Work faster than the device's limits has wrong shapes or times, so it shows no limit.
    if (call.point.state == RooflineState::kImpossible) {
      impossible += call.time;
      continue;
    }
    if (call.point.bound == Bound::kCompute) compute_bound += call.time;
    if (call.point.bound == Bound::kMemory) memory_bound += call.time;
  }
  out.costed_pct = SharePct(costed, all);
  out.impossible_pct = SharePct(impossible, all);
  if (compute_bound.ns() + memory_bound.ns() > 0) {
    out.compute_bound_pct = SharePct(compute_bound, all);
    out.memory_bound_pct = SharePct(memory_bound, all);
  }
}

/// Steps whose GPU work was recorded completely.
struct RecordedSteps {
  std::int64_t count = 0;
  DurationNs time;
  std::set<DeviceId> devices;
};

RecordedSteps FindRecordedSteps(const TraceStore& store, const StepAnalysis& steps) {
  RecordedSteps out;
  for (const StepRow& row : steps.steps.list) {
    if (row.tasks == 0 || !row.Counts()) continue;
    ++out.count;
    out.time += row.wall;
  }
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i) {
    if (InWholeStep(steps, GpuTaskId(i))) out.devices.insert(store.DeviceOf(GpuTaskId(i)));
  }
  return out;
}

/// Computes MFU over all recorded steps; each type's FLOPs count against that type's peak.
void MeasureMfu(const std::map<DType, double>& flops_by_type, const RecordedSteps& steps,
                const DeviceSpec* device, Efficiency& out) {
  constexpr double kEnoughCoveragePct = 80;
  const auto count = static_cast<double>(steps.count);
  const auto gpus = static_cast<int>(steps.devices.size());
  double flops = 0, pct = 0;
  bool known = true;
  std::string terms;
  for (const auto& [type, of_type] : flops_by_type) {
    flops += of_type;
    const Mfu mfu = ComputeMfu(of_type, steps.time, gpus, type, device);
    known = known && mfu.pct.has_value();
    if (!known) continue;
    pct += *mfu.pct;
    terms += fmt::format("{}{:.3f} TFLOP {} / {:g} TFLOP/s", terms.empty() ? "" : " + ",
                         of_type / count / 1e12, Name(type), *mfu.peak_tflops);
  }
  const DType main_type =
      std::max_element(flops_by_type.begin(), flops_by_type.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; })
          ->first;
  out.flops_per_step = flops / count;
  out.math_dtype = Name(main_type);
  out.peak_tflops = ComputeMfu(flops, steps.time, gpus, main_type, device).peak_tflops;
  if (!known) return;
  if (out.mfu_coverage_pct.value_or(0) < kEnoughCoveragePct) {
    out.error =
        "too many matrix products, convolutions or attention kernels ran without recorded shapes";
    return;
  }
  if (pct > 100) {
    out.error =
        "the recorded shapes and times give more than 100 % of the peak; shapes, times or the "
        "device are wrong";
    return;
  }
  out.mfu_pct = pct;
  out.mfu_formula = fmt::format(
      "({}) / ({:.4f} s mean step{}); FLOPs per step of matrix products, convolutions and "
      "attention, "
      "by recorded shapes; dense peaks of {}",
      terms, static_cast<double>(steps.time.ns()) / 1e9 / count,
      gpus > 1 ? fmt::format(" x {} GPUs", gpus) : "", out.device_name);
}

/// Adds the device's peaks and memory bandwidth.
void DescribeDevice(const DeviceSpec& device, Efficiency& out) {
  out.device_name = device.name;
  out.memory_bandwidth_gbs = device.memory_bandwidth_gbs;
  for (const DType type :
       {DType::kF64, DType::kF32, DType::kTF32, DType::kBF16, DType::kF16, DType::kF8}) {
    const std::optional<double> peak = PeakFlopsPerSecond(device, type, TensorCoreUse::kUnknown);
    if (peak) out.peaks.push_back({.dtype = std::string(Name(type)), .tflops = *peak / 1e12});
  }
}

}  // namespace

Efficiency MeasureEfficiency(const TraceStore& store, NameFacts& names,
                             const Attribution& attribution, std::span<const CostedCall> work,
                             const StepAnalysis& steps, const DeviceSpec* device) {
  Efficiency out;
  if (device != nullptr) DescribeDevice(*device, out);
  DurationNs all;
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i) {
    if (Counts(steps, GpuTaskId(i))) all += store.gpu_tasks.duration[i];
  }
  if (all.ns() == 0) return out;
  MeasureKernels(store, names, attribution, steps, device, all, out);
  if (work.empty()) return out;
  MeasureBounds(work, steps, all, out);

  // FLOPs in whole steps. Peaks only apply to matrix products, convolutions and attention.
  std::map<DType, double> flops_by_type;
  for (const CostedCall& call : work) {
    // MFU counts the model's work, so work that checkpointing repeats counts once.
    if (InWholeStep(steps, call.main_task) && !call.recomputed &&
        MultipliesMatrices(call.cost->family)) {
      flops_by_type[call.math_dtype] += call.cost->flops;
    }
  }
  if (!flops_by_type.empty())
    MeasureMfu(flops_by_type, FindRecordedSteps(store, steps), device, out);
  return out;
}

}  // namespace headroom
