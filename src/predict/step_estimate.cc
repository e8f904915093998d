#include "predict/step_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <variant>

#include "base/units.h"
#include "cost/roofline.h"
#include "kernels/kernel_model.h"
#include "kernels/recurrent_time.h"

namespace headroom {
namespace {

bool HasTensorCores(const DeviceRates& rates, DType dtype) {
  return PeakFlopsPerSecond(*rates.device, dtype, TensorCoreUse::kYes).has_value();
}

}  // namespace

KernelWork WorkOn(const ListedWork& listed, const DeviceRates& rates) {
  KernelWork work = listed.work;
  if (listed.allows_tf32 && work.dtype == DType::kF32 && rates.device->vendor == "NVIDIA" &&
      HasTensorCores(rates, DType::kTF32)) {
    work.dtype = DType::kTF32;
  } else if (IsTensorCoreType(work.dtype) && !HasTensorCores(rates, work.dtype)) {
    SetType(DType::kF32, work);
  }
  return work;
}

bool HasKernels(const KernelWork& work) {
  const auto* pointwise = std::get_if<PointwiseWork>(&work.shape);
  return pointwise == nullptr || pointwise->kernels > 0;
}

namespace {

double KernelsOf(const KernelWork& work, const DeviceRates& rates) {
  if (const auto* pointwise = std::get_if<PointwiseWork>(&work.shape)) return pointwise->kernels;
  if (const auto* recurrent = std::get_if<RecurrentWork>(&work.shape))
    return RecurrentKernels(*recurrent, work.dtype, rates);
  return 1;
}

/// Follows the host and the GPU through a step whose result the program waits for.
class StepClock {
 public:
  /// Adds `repeats` calls of an operator, each with `kernels` that the host launches in `host_ns`.
  void Add(double host_ns, double gpu_ns, double kernels, double repeats) {
    host_ += host_ns * repeats;
    host_only_ += host_ns * repeats;
    gpu_only_ += gpu_ns * repeats;
    // Either the GPU is still busy, or it waits for the last launch.
    gpu_ = std::max(gpu_ + gpu_ns * repeats, host_ + gpu_ns / std::max(1.0, kernels));
  }
  /// @param start_ns  the host's time before the first operator
  double waited_for_ns(double start_ns) const { return gpu_ + start_ns; }
  double host_ns() const { return host_only_; }
  double gpu_ns() const { return gpu_only_; }

 private:
  double host_ = 0, gpu_ = 0, host_only_ = 0, gpu_only_ = 0;
};

/// Time of one kind of work.
struct Part {
  double ms = 0, measured_ms = 0;
  std::map<double, double> by_shape = {};  ///< Milliseconds, by the nanoseconds of one kernel.

  void Add(double kernel_ns, double total_ms, double total_measured_ms) {
    ms += total_ms;
    measured_ms += total_measured_ms;
    by_shape[kernel_ns] += total_ms;
  }
  /// Returns the root of the sum of squares over shapes: `ms` if all kernels are identical. The
  /// errors of other shapes are assumed to be independent.
  double OfOneShape() const {
    double squares = 0;
    for (const auto& [ns, each] : by_shape) squares += each * each;
    return std::sqrt(squares);
  }
};
/// By WorkClass; then work whose algorithm is a guess, transposed and grouped convolutions,
/// convolutions on tensor cores, and gradients of grouped convolutions in NHWC.
using Parts = std::array<Part, kWorkClasses + 4>;
constexpr double kCompiledDoubt = 1.5;
constexpr std::size_t kGuessed = kWorkClasses, kRare = kWorkClasses + 1,
                      kTensorConvolution = kWorkClasses + 2, kGroupedGradient = kWorkClasses + 3;

/// Returns true for work whose time depends on an algorithm that the library chooses by
/// unknown rules.
bool IsGuessed(const KernelWork& work) {
  if (std::holds_alternative<RecurrentWork>(work.shape)) return true;
  const auto* shape = std::get_if<ConvolutionShape>(&work.shape);
  return shape != nullptr && shape->in.size() != 2;
}

bool IsRare(const KernelWork& work) {
  const auto* shape = std::get_if<ConvolutionShape>(&work.shape);
  return shape != nullptr && (shape->transposed || shape->groups > 1);
}

/// Returns true for the gradients of a grouped convolution in NHWC. Their time depends on the shape
/// by a rule that the measurements do not show.
bool IsGroupedGradient(const KernelWork& work) {
  const auto* shape = std::get_if<ConvolutionShape>(&work.shape);
  return shape != nullptr && shape->groups > 1 && shape->channels_last &&
         (shape->data_gradient || shape->weight_gradient);
}

std::size_t IndexOf(const KernelWork& work) {
  if (IsGroupedGradient(work)) return kGroupedGradient;
  if (IsRare(work)) return kRare;
  if (IsGuessed(work)) return kGuessed;
  const WorkClass of = ClassOf(work);
  return of == WorkClass::kConvolution && work.dtype != DType::kF32 ? kTensorConvolution
                                                                    : static_cast<std::size_t>(of);
}

/// Sets the range of a step. Assumes that the errors of kinds of work, and of the host, are
/// independent.
///
/// @param waiting_ms  time in which the GPU waits for the host
void SpreadOut(const Parts& parts, double waiting_ms, ListLaunch launch, const DeviceRates& rates,
               const KernelConstants& constants, PredictedMs& step) {
  // Which kernels a compiler generates is a guess. 80 % of the compiled modules of gpu-modern/.
  const double doubt = launch == ListLaunch::kEager ? 1 : kCompiledDoubt;
  // 80 % of the modules of gpu-modern/ with such work.
  constexpr ErrorRange kGuess = {.low = -0.6, .high = 0.6}, kRareGuess = {.low = -0.9, .high = 0.9};
  // Five image models of gpu-modern/ on an RTX 3090: 0.5 to 18 times as long, half of them 12.
  constexpr ErrorRange kGroupedGradientGuess = {.low = -0.9, .high = 2.7};
  constexpr double kTensorConvolutionDoubt = 2.4;
  // 80 % of the transformers among the image models of gpu-modern/.
  constexpr double kTensorProductDoubt = 1.8;
  double less = 0, more = 0;
  const auto add = [&](double ms, const ErrorRange& range) {
    less = std::hypot(less, ms * (1 - std::exp(range.low)));
    more = std::hypot(more, ms * (std::exp(range.high) - 1));
  };
  Part usual;  // Work of the transformers from whose steps RangeOfStep() was derived.
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (part.ms == 0) continue;
    const double evidence = part.measured_ms / part.ms;
    if (i == kGuessed || i == kRare || i == kGroupedGradient) {
      add(part.ms, i == kGuessed ? kGuess : i == kRare ? kRareGuess : kGroupedGradientGuess);
      continue;
    }
    if (i == kTensorConvolution) {
      const ErrorRange range = RangeOf(WorkClass::kConvolution, rates, evidence, constants);
      add(part.ms, range.Scaled(kTensorConvolutionDoubt * doubt));
      continue;
    }
    const auto work = static_cast<WorkClass>(i);
    const ErrorRange range = RangeOf(work, rates, evidence, constants).Scaled(doubt);
    if (work == WorkClass::kProduct || work == WorkClass::kPointwise ||
        work == WorkClass::kRowwise) {
      usual.ms += part.ms;
      usual.measured_ms += part.measured_ms;
      // RangeOfStep() is for steps of many shapes, whose errors partly cancel.
      add(part.OfOneShape(), range);
    } else {
      add(part.ms, work == WorkClass::kTensorProduct ? range.Scaled(kTensorProductDoubt) : range);
    }
  }
  if (usual.ms > 0) {
    const double evidence = usual.measured_ms / usual.ms;
    add(usual.ms, RangeOfStep(rates, evidence, constants).Scaled(doubt));
  }
  if (waiting_ms > 0) add(waiting_ms, {.low = -constants.host_error, .high = constants.host_error});
  step.low = std::max(0.0, step.mid - less);
  step.high = step.mid + more;
}

}  // namespace

Result<StepEstimate> EstimateStep(const OperatorList& list, const DeviceRates& rates,
                                  const KernelConstants& constants, const HostModel& host) {
  StepEstimate estimate;
  double busy = 0, measured = 0, on_vector_units = 0;
  Parts parts;
  StepClock clock;
  bool training = false;
  for (const ListedWork& listed : list.works) {
    const KernelWork work = WorkOn(listed, rates);
    if (!HasKernels(work)) continue;
    const std::optional<double> ns = KernelNs(work, rates, constants);
    if (!ns && work.dtype == DType::kF8)
      return Status::NoAnswer(fmt::format("{} has no tensor cores for fp8", rates.device->name));
    if (!ns) {
      return Status::NoAnswer(fmt::format("{}: no model for work of class {} in {}",
                                          rates.device->name, Name(ClassOf(work)),
                                          Name(work.dtype)));
    }
    const bool backward = listed.phase != StepPhase::kForward;
    training |= backward;
    const double kernels = KernelsOf(work, rates);
    clock.Add(HostNsOf(work, kernels, backward, list.launch, host), *ns, kernels, listed.repeats);
    const double ms = *ns * listed.repeats / kNsPerMs;
    busy += ms;
    const WorkClass of = ClassOf(work);
    if (work.dtype == DType::kF32 && (of == WorkClass::kProduct || of == WorkClass::kConvolution))
      on_vector_units += ms;
    const double evidence = ms * CorrectionOf(work, rates).evidence;
    measured += evidence;
    parts[IndexOf(work)].Add(*ns, ms, evidence);
    const double active = std::min(*ns, FullPowerNs(work, rates)) * listed.repeats / kNsPerMs;
    estimate.activity.active_ms += active;
    const GpuPhase phase = listed.phase == StepPhase::kForward  ? GpuPhase::kForward
                           : listed.phase == StepPhase::kUpdate ? GpuPhase::kOptimizer
                                                                : GpuPhase::kBackward;
    StepActivity::Part& part = estimate.activity.phases[static_cast<std::size_t>(phase)];
    part.busy_ms += ms;
    part.active_ms += active;
    estimate.phase_ms[static_cast<std::size_t>(listed.phase)] += ms;
  }
  // Training steps follow each other without a wait: the slower of the two limits the step.
  const double step_ns = training ? std::max(clock.gpu_ns(), clock.host_ns())
                                  : clock.waited_for_ns(HostStartNs(list.launch, host));
  const double step = estimate.step.mid = step_ns / kNsPerMs;
  estimate.host_ms = clock.host_ns() / kNsPerMs;
  estimate.gpu_ms = busy;
  estimate.activity.step_ms = step;
  estimate.activity.busy_ms = busy;
  estimate.measured_share = busy > 0 ? measured / busy : 0;
  estimate.vector_share = busy > 0 ? on_vector_units / busy : 0;
  SpreadOut(parts, std::max(0.0, step - busy), list.launch, rates, constants, estimate.step);
  constexpr double kMaxMs = 1e12;  // About 30 years. Times in nanoseconds overflow after 300 years.
  if (!(estimate.step.high <= kMaxMs)) {
    return Status::BadInput(fmt::format(
        "{} would take more than {:g} ms per step on {}; correct its repeats and dimensions",
        list.name.empty() ? "the list" : "'" + list.name + "'", kMaxMs, rates.device->short_name));
  }
  return estimate;
}

}  // namespace headroom
