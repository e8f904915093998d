#include "predict/job_prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "analysis/names/operator_costs.h"
#include "base/units.h"
#include "render/number_format.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/workload/batch_size.h"

namespace headroom {
namespace {

/// Maximum factor between profile and model to carry over. A larger factor means that the model
/// does not apply.
constexpr double kMaxResidual = 4;
/// Maximum ratio between two algorithms of a convolution. A larger ratio means that the model does
/// not apply. The largest measured ratio is 4.5.
constexpr double kMaxOfAlgorithm = 10;
/// Minimum share of the GPU time on tensor cores that widens error ranges by kTensorCoreDoubt. The
/// models of recorded kernels on tensor cores were validated on one H200 only.
constexpr double kSomeTensorCores = 0.05;

GpuPhase PhaseOf(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return GpuPhase::kForward;
    case Phase::kBackward:
      return GpuPhase::kBackward;
    case Phase::kOptimizer:
      return GpuPhase::kOptimizer;
    default:
      return GpuPhase::kOther;
  }
}

/// Returns true if the job disabled TF32 for float32 convolutions, which PyTorch enables by default
/// on GPUs that support it. The last argument of these operators records it.
bool ForbidsTf32(const OperatorCall& call) {
  return call.name.starts_with("aten::cudnn_convolution") && !call.args.empty() &&
         call.args.back().concrete == "False";
}

bool IsBusCopy(CopyKind copy) {
  return copy == CopyKind::kHostToDevice || copy == CopyKind::kDeviceToHost;
}

std::string Text(double ms) { return FormatTime(DurationNs(std::llround(ms * kNsPerMs))); }

/// Returns what limits the step.
std::string WhatLimits(const JobPrediction& prediction) {
  const double host = prediction.host_ms, gpu = prediction.gpu_ms;
  std::string why =
      host > gpu ? fmt::format(
                       "host-bound: the host takes {} per step to launch the work, and the GPU "
                       "takes {} to run it",
                       Text(host), Text(gpu))
                 : fmt::format("the GPU takes {} per step, the host {}", Text(gpu), Text(host));
  // Neither the host nor the GPU runs ahead, for instance because the host reads each result.
  constexpr double kInTurns = 1.1;
  if (prediction.step.mid > kInTurns * std::max(host, gpu)) why += "; they wait for each other";
  return why;
}

}  // namespace

double ErrorBeyond(double of_part, double of_all) {
  return std::sqrt(std::max(0.0, of_all * of_all - of_part * of_part));
}

JobPredictor::JobPredictor(const Job& job, const DeviceRates& source,
                           const KernelConstants& constants)
    : job_(job), source_(source), constants_(constants) {
  class_of_.assign(job.graph().tasks.size(), -1);
  AddOperators();
  AddOthers();
  untried_ = std::any_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) {
    return piece.call && IsUntriedConvolution(*piece.call);
  });
  // On a GPU with TF32, the kernels show whether they use it.
  const bool shows = source.device->vendor == "NVIDIA" && source.device->tf32_tensor_tflops;
  const bool forbidden = std::any_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) {
    return piece.call && ForbidsTf32(*piece.call);
  });
  for (Piece& piece : pieces_) piece.allows_tf32 = !shows && !forbidden;
}

void JobPredictor::Add(Piece piece, TaskIndex task) {
  piece.tasks = {task};
  piece.recorded_ns = static_cast<double>(job_.corrected().duration[task]);
  class_of_[task] = static_cast<std::int8_t>(piece.work_class);
  pieces_.push_back(std::move(piece));
}

void JobPredictor::AddOperators() {
  const auto& gpu = job_.store().gpu_tasks;
  for (LaunchingOperator& op : LaunchingOperators(job_)) {
    Piece piece{.kind = Piece::Kind::kOperator};
    double longest = -1;
    for (const TaskIndex task : op.tasks) {
      const std::uint32_t row = job_.graph().tasks[task].row;
      const KernelClass& kernel = job_.ClassOf(task);
      if (gpu.kind[row] != GpuTaskKind::kKernel || kernel.family == WorkFamily::kCommunication)
        continue;
      const auto ns = static_cast<double>(job_.corrected().duration[task]);
      piece.tasks.push_back(task);
      piece.recorded_ns += ns;
      if (ns > longest) {
        longest = ns;
        piece.longest = kernel;
      }
    }
    if (piece.tasks.empty()) continue;
    piece.call = ReadOperatorCall(job_.store(), op.op);
    piece.cost = job_.CostOf(op.op);
    const OperatorWork work = WorkOf(piece);
    const std::optional<double> ns = OperatorOnGpu(work, source_).Ns(constants_);
    if (!ns) continue;  // Falls back to single kernels, scaled by their launch shapes.
    piece.source_ns = *ns;
    piece.work_class = headroom::ClassOf(work);
    for (const TaskIndex task : piece.tasks)
      class_of_[task] = static_cast<std::int8_t>(piece.work_class);
    pieces_.push_back(std::move(piece));
  }
}

void JobPredictor::AddOthers() {
  const auto& gpu = job_.store().gpu_tasks;
  for (TaskIndex task = 0; task < class_of_.size(); ++task) {
    if (job_.graph().tasks[task].kind != TaskKind::kGpu || class_of_[task] >= 0) continue;
    const std::uint32_t row = job_.graph().tasks[task].row;
    Piece piece;
    if (gpu.kind[row] != GpuTaskKind::kKernel) {
      piece.kind = IsBusCopy(gpu.copy[row]) ? Piece::Kind::kBus : Piece::Kind::kMemory;
    } else if (job_.ClassOf(task).family == WorkFamily::kCommunication) {
      piece.kind = Piece::Kind::kCollective;
    } else if (gpu.grid_x[row] > 0 && gpu.block_x[row] > 0) {
      const auto product = [](std::int32_t x, std::int32_t y, std::int32_t z) {
        return static_cast<double>(std::max(1, x)) * std::max(1, y) * std::max(1, z);
      };
      piece.launch = {.blocks = product(gpu.grid_x[row], gpu.grid_y[row], gpu.grid_z[row]),
                      .threads = product(gpu.block_x[row], gpu.block_y[row], gpu.block_z[row]),
                      .registers = std::max(0.0, static_cast<double>(gpu.registers[row])),
                      .shared_bytes = std::max(0.0, static_cast<double>(gpu.shared_memory[row]))};
    } else {
      // Without a recorded launch shape, assumes many blocks.
      piece.launch = {.blocks = std::numeric_limits<double>::infinity(), .threads = 1};
    }
    Add(std::move(piece), task);
  }
}

double JobPredictor::ShareOf(const std::function<bool(const Piece&)>& counts) const {
  double all = 0, counted = 0;
  for (const Piece& piece : pieces_) {
    all += piece.recorded_ns;
    if (counts(piece)) counted += piece.recorded_ns;
  }
  return all > 0 ? counted / all : 0;
}

double JobPredictor::ratio_only_share() const {
  return ShareOf([](const Piece& piece) { return piece.kind == Piece::Kind::kLaunch; });
}

double JobPredictor::VectorShare(const DeviceRates& target) const {
  return ShareOf([&](const Piece& piece) {
    return HasResidualModel(piece) && !On(target, piece).on_tensor_cores();
  });
}

double JobPredictor::CollectiveShare() const {
  return ShareOf([](const Piece& piece) { return piece.kind == Piece::Kind::kCollective; });
}

double JobPredictor::TensorCoreShare(const DeviceRates& target) const {
  return ShareOf([&](const Piece& piece) { return On(target, piece).on_tensor_cores(); });
}

double JobPredictor::UnmeasuredTensorCoreShare(const DeviceRates& target, WorkClass of) const {
  return ShareOf([&](const Piece& piece) {
    constexpr double kEnough = 0.5;
    return piece.work_class == of && On(target, piece).on_tensor_cores() &&
           MeasuredOn(target, piece).evidence < kEnough;
  });
}

bool JobPredictor::HasDoubtfulAlgorithm(const Piece& piece, const DeviceRates& target) const {
  if (source_.library == target.library) return false;  // The same library makes the same choices.
  if (!untried_ && !target.untried_convolutions) return false;
  if (piece.work_class != WorkClass::kConvolution) return false;
  const OperatorOnGpu there = On(target, piece);
  return there.has_own_model() && !there.on_tensor_cores();
}

double JobPredictor::DoubtfulAlgorithmShare(const DeviceRates& target) const {
  return ShareOf([&](const Piece& piece) { return HasDoubtfulAlgorithm(piece, target); });
}

double JobPredictor::UnknownTypeShare(const DeviceRates& target) const {
  return ShareOf([&](const Piece& piece) {
    return piece.kind == Piece::Kind::kOperator && !On(target, piece).Ns(constants_);
  });
}

double JobPredictor::LostTensorCoreShare(const DeviceRates& target) const {
  return ShareOf([&](const Piece& piece) {
    OperatorWork work = WorkOf(piece);
    // Uses the operator's recorded type, without the framework's TF32 default.
    work.allows_tf32 = false;
    return OperatorOnGpu(work, source_).on_tensor_cores() &&
           !OperatorOnGpu(work, target).on_tensor_cores();
  });
}

OperatorWork JobPredictor::WorkOf(const Piece& piece) const {
  return {.call = piece.call ? &*piece.call : nullptr,
          .cost = piece.cost,
          .longest = piece.longest,
          .allows_tf32 = piece.allows_tf32};
}

double JobPredictor::FactorOf(const Piece& piece, const DeviceRates& target) const {
  switch (piece.kind) {
    case Piece::Kind::kCollective:
      return 1;
    case Piece::Kind::kLaunch:
      return WaveScaling(piece.launch, source_, target);
    case Piece::Kind::kMemory:
      return source_.bytes_per_ns / target.bytes_per_ns;
    case Piece::Kind::kBus: {
      const std::optional<double>& from = source_.device->pcie_bandwidth_gbs;
      const std::optional<double>& to = target.device->pcie_bandwidth_gbs;
      return from && to ? *from / *to : 1;
    }
    case Piece::Kind::kOperator:
      break;
  }
  const std::optional<double> there = On(target, piece).Ns(constants_);
  if (!there || piece.recorded_ns <= 0) return source_.bytes_per_ns / target.bytes_per_ns;
  const Correction measured = MeasuredOn(target, piece);
  const double weight = ResidualWeightOf(piece, target, measured.evidence);
  const double residual = std::clamp(piece.recorded_ns / piece.source_ns,
                                     HasResidualModel(piece) ? 1 / kMaxResidual : 0,
                                     HasResidualModel(piece) ? kMaxResidual : 1e9);
  return *there * std::exp(measured.log_factor) * std::pow(residual, weight) / piece.recorded_ns;
}

bool JobPredictor::HasResidualModel(const Piece& piece) {
  return piece.work_class == WorkClass::kProduct || piece.work_class == WorkClass::kConvolution;
}

double JobPredictor::ResidualWeightOf(const Piece& piece, const DeviceRates& target,
                                      double evidence) const {
  if (!HasResidualModel(piece)) return 1;
  return ResidualWeight(piece.work_class, source_, target, EvidenceFor(piece.work_class, evidence),
                        constants_);
}

double JobPredictor::EvidenceFor(WorkClass work, double evidence) const {
  // Calibration measures convolutions after trying all algorithms, unlike this job.
  return work == WorkClass::kConvolution && untried_ ? 0 : evidence;
}

ErrorRange JobPredictor::UntriedRange(const Plan& plan, const DeviceRates& target) const {
  double all = 0, least = 0, most = 0;
  for (const Piece& piece : pieces_) {
    if (piece.work_class != WorkClass::kConvolution) continue;
    double ns = 0;
    for (const TaskIndex task : piece.tasks) ns += static_cast<double>(plan.duration[task]);
    all += ns;
    double none = 1, whole = 1;
    if (HasDoubtfulAlgorithm(piece, target) && piece.recorded_ns > 0) {
      const double evidence = MeasuredOn(target, piece).evidence;
      const double weight = ResidualWeightOf(piece, target, evidence);
      const double told =
          std::clamp(piece.recorded_ns / piece.source_ns, 1 / kMaxOfAlgorithm, kMaxOfAlgorithm);
      const double carried = std::pow(std::clamp(told, 1 / kMaxResidual, kMaxResidual), weight);
      none = 1 / carried;
      whole = told / carried;
    }
    least += ns * std::min({none, whole, 1.0});
    most += ns * std::max({none, whole, 1.0});
  }
  if (all <= 0) return {};
  return {.low = std::log(least / all), .high = std::log(most / all)};
}

Correction JobPredictor::MeasuredOn(const DeviceRates& target, const Piece& piece) const {
  const OperatorOnGpu there = On(target, piece);
  Correction measured = there.MeasuredCorrection();
  if (there.has_own_model()) {
    measured.log_factor = 0;  // Ns() includes it.
    return measured;
  }
  // The profile's deviation from the model carries over completely for such work, so the source's
  // own deviation must not count twice. The source's deviation is known if the source was measured
  // too. Otherwise it is assumed to equal the target's if both GPUs run the same kernels.
  if (source_.correction) {
    const Correction here = On(source_, piece).MeasuredCorrection();
    return {.log_factor = measured.log_factor - here.log_factor,
            .evidence = std::min(measured.evidence, here.evidence)};
  }
  return source_.library == target.library ? Correction() : measured;
}

double JobPredictor::MeasuredShare(const DeviceRates& target) const {
  double all = 0, measured = 0;
  for (const Piece& piece : pieces_) {
    all += piece.recorded_ns;
    if (piece.kind == Piece::Kind::kOperator)
      measured += piece.recorded_ns * MeasuredOn(target, piece).evidence;
  }
  return all > 0 ? measured / all : 0;
}

StepActivity JobPredictor::ActivityOf(const Plan& plan, double step_ms,
                                      const DeviceRates& target) const {
  double busy = 0, active = 0, told = 0;
  struct PhaseTime {
    double busy = 0, active = 0, told = 0;
  };
  std::array<PhaseTime, kGpuPhases> phases;
  const TraceStore& store = job_.store();
  std::set<DeviceId> devices;
  for (const Piece& piece : pieces_) {
    double ns = 0;
    for (const TaskIndex task : piece.tasks) {
      ns += static_cast<double>(plan.duration[task]);
      const GpuTaskId id(job_.graph().tasks[task].row);
      if (store.gpu_tasks.kind[id.index()] == GpuTaskKind::kKernel)
        devices.insert(store.DeviceOf(id));
    }
    busy += ns;
    PhaseTime& phase =
        phases[static_cast<std::size_t>(PhaseOf(job_.ContextOf(piece.tasks.front()).phase))];
    phase.busy += ns;
    const std::optional<double> full = On(target, piece).FullPowerNs();
    if (!full) continue;
    told += ns;
    active += std::min(ns, *full);
    phase.told += ns;
    phase.active += std::min(ns, *full);
  }
  // Time of one GPU, even if the process uses several.
  const double steps =
      plan.shape->steps * kNsPerMs * static_cast<double>(std::max<std::size_t>(1, devices.size()));
  StepActivity activity{.step_ms = step_ms};
  // Overlapping tasks on several streams count at most once.
  activity.busy_ms = std::min(step_ms, busy / steps);
  // Assumes that work of unknown cost has the same share as work of known cost.
  activity.active_ms = told > 0 ? activity.busy_ms * active / told : 0;
  // Time at full power over all phases. The known share of a phase also applies to its other work.
  double parts = 0;
  for (const PhaseTime& phase : phases)
    parts += phase.told > 0 ? phase.busy * phase.active / phase.told : 0;
  for (std::size_t i = 0; i < kGpuPhases && busy > 0; ++i) {
    const PhaseTime& phase = phases[i];
    activity.phases[i].busy_ms = activity.busy_ms * phase.busy / busy;
    if (phase.told > 0 && parts > 0) {
      activity.phases[i].active_ms =
          activity.active_ms * phase.busy * phase.active / phase.told / parts;
    }
  }
  return activity;
}

Plan JobPredictor::Stretched(const Plan& plan, std::optional<WorkClass> work_class, double gpu,
                             double host) const {
  Plan out = plan;
  const PlanShape& shape = *plan.shape;
  const auto times = [](std::int64_t& value, double factor) {
    value = std::llround(static_cast<double>(value) * factor);
  };
  for (std::size_t task = 0; task < out.tasks(); ++task) {
    if (class_of_[task] >= 0) {
      if (!work_class || class_of_[task] == static_cast<std::int8_t>(*work_class))
        times(out.duration[task], gpu);
      continue;
    }
    if (host == 1) continue;
    times(out.duration[task], host);
    // The first edge of a host task leads from the work before it.
    const std::uint32_t track = shape.edge_begin[task];
    if (track < shape.edge_begin[task + 1]) times(out.lag[track], host);
  }
  return out;
}

std::array<ErrorRange, kWorkClasses> JobPredictor::ErrorsOf(const Plan& plan,
                                                            const DeviceRates& target) const {
  std::array<double, kWorkClasses> time{}, measured{};
  for (const Piece& piece : pieces_) {
    const auto index = static_cast<std::size_t>(piece.work_class);
    time[index] += piece.recorded_ns;
    if (piece.kind == Piece::Kind::kOperator)
      measured[index] += piece.recorded_ns * MeasuredOn(target, piece).evidence;
  }
  DeviceRates plain = target;
  plain.untried_convolutions = false;
  DeviceRates wide = plain;
  wide.error_scale *= kTensorCoreDoubt;
  std::array<ErrorRange, kWorkClasses> errors;
  for (std::size_t i = 0; i < kWorkClasses; ++i) {
    const auto of = static_cast<WorkClass>(i);
    const double evidence = EvidenceFor(of, time[i] > 0 ? measured[i] / time[i] : 0);
    const bool on_tensor_cores =
        of == WorkClass::kProduct || of == WorkClass::kConvolution || of == WorkClass::kOther;
    const bool doubtful = on_tensor_cores && TensorCoreShare(target) > kSomeTensorCores;
    errors[i] = RangeOf(of, doubtful ? wide : plain, evidence, constants_);
  }
  ErrorRange& convolutions = errors[static_cast<std::size_t>(WorkClass::kConvolution)];
  convolutions = WithAlgorithms(plan, target, convolutions);
  return errors;
}

bool JobPredictor::RunsInTf32ByDefault(const Piece& piece, const DeviceRates& target) const {
  if (!piece.allows_tf32 || piece.work_class != WorkClass::kConvolution) return false;
  OperatorWork in_float32 = WorkOf(piece);
  in_float32.allows_tf32 = false;
  return On(target, piece).on_tensor_cores() &&
         !OperatorOnGpu(in_float32, target).on_tensor_cores();
}

double JobPredictor::Float32OverDefault(const Plan& plan, const DeviceRates& target) const {
  double all = 0, in_float32 = 0;
  for (const Piece& piece : pieces_) {
    if (piece.work_class != WorkClass::kConvolution) continue;
    double ns = 0;
    for (const TaskIndex task : piece.tasks) ns += static_cast<double>(plan.duration[task]);
    all += ns;
    double ratio = 1;
    if (RunsInTf32ByDefault(piece, target)) {
      Piece plain = piece;
      plain.allows_tf32 = false;
      ratio = FactorOf(plain, target) / FactorOf(piece, target);
    }
    in_float32 += ns * ratio;
  }
  return all > 0 ? in_float32 / all : 1;
}

ErrorRange JobPredictor::WithAlgorithms(const Plan& plan, const DeviceRates& target,
                                        ErrorRange range) const {
  if (const double longer = Float32OverDefault(plan, target); longer > 1) {
    const ErrorRange in_float32 = RangeOf(WorkClass::kConvolution, target, 0, constants_);
    range.high = std::max(range.high, std::log(longer) + in_float32.high);
  }
  if (untried_) {
    const ErrorRange untried = UntriedRange(plan, target);
    range.low += untried.low;
    range.high += untried.high;
  }
  const double convolutions =
      ShareOf([](const Piece& piece) { return piece.work_class == WorkClass::kConvolution; });
  if (!target.untried_convolutions || DoubtfulAlgorithmShare(target) <= convolutions / 2)
    return range;
  return range.Joined(RangeOf(WorkClass::kConvolution, target, 0, constants_));
}

Plan JobPredictor::PlanOn(const DeviceRates& target, double host_factor) const {
  Plan plan = Stretched(job_.corrected(), std::nullopt, 1, 1 / host_factor);
  if (IsSource(target)) return plan;
  for (const Piece& piece : pieces_) {
    const double factor = FactorOf(piece, target);
    for (const TaskIndex task : piece.tasks) {
      plan.duration[task] = std::llround(static_cast<double>(plan.duration[task]) * factor);
    }
  }
  return plan;
}

PredictedMs JobPredictor::StepAtBatch(const DeviceRates& target, double host_factor,
                                      double batch_ratio, const PredictedMs& recorded) {
  if (batch_ratio == 1 || recorded.mid <= 0) return recorded;
  const Plan plan = PlanOn(target, host_factor);
  Edit edit(job_.graph(), plan);
  const DoubtfulAtBatch doubtful = ScaleToBatch(job_, target.device, batch_ratio, edit);
  const double error = ErrorAtBatch(doubtful, batch_ratio);
  PredictedMs step;
  step.mid = StepMs(edit.Finish().plan);
  step.low = step.mid * (1 - std::min(1.0, std::hypot(1 - recorded.low / recorded.mid, error)));
  step.high = step.mid * (1 + std::hypot(recorded.high / recorded.mid - 1, error));
  return step;
}

Result<PredictedMs> JobPredictor::StepWith(const DeviceRates& target, double host_factor,
                                           const PredictedMs& unchanged,
                                           const std::function<Effect(Edit& edit)>& change) {
  if (unchanged.mid <= 0) return Status::NoAnswer("the step has a duration of 0");
  const Plan plan = PlanOn(target, host_factor);
  Edit edit(job_.graph(), plan);
  const Effect effect = change(edit);
  if (!effect.applies) return Status::NoAnswer(effect.why);
  // The change's new kernels have times of the recorded machine.
  const auto there = [&](DurationNs on_host) {
    return DurationNs(std::llround(static_cast<double>(on_host.ns()) / host_factor));
  };
  for (Edit::NewKernel& copy : edit.inserted()) {
    copy.duration = WithWork(copy.duration, source_.bytes_per_ns / target.bytes_per_ns);
    copy.host_work = there(copy.host_work);
    copy.launch = there(copy.launch);
  }
  const EditedPlan edited = edit.Finish();
  // The host's error and that of transfers add up where the step waits for both.
  const PlanShape& shape = *edited.plan.shape;
  const auto step_ms = [&](const Plan& unstretched, double host, double transfers) {
    Plan out = unstretched;
    const auto times = [](std::int64_t& value, double factor) {
      value = std::llround(static_cast<double>(value) * factor);
    };
    const PlanShape& of = *out.shape;
    for (TaskIndex task = 0; task < out.tasks(); ++task) {
      if (&of == &shape && edited.OnChannel(task)) {
        times(out.duration[task], transfers);
      } else if (of.gpu[task] == 0) {
        times(out.duration[task], host);
        const std::uint32_t track = of.edge_begin[task];
        if (track < of.edge_begin[task + 1]) times(out.lag[track], host);
      }
    }
    return StepMs(out);
  };
  const double host = job_.host_error(), transfers = effect.transfer_error;
  const double before = StepMs(plan);
  PredictedMs step;
  step.mid = StepMs(edited.plan);
  // `unchanged` has the host's error, too, and others beyond it.
  const double low = ErrorBeyond(1 - step_ms(plan, 1 - host, 1) / before,
                                 1 - unchanged.low / unchanged.mid),
               high = ErrorBeyond(step_ms(plan, 1 + host, 1) / before - 1,
                                  unchanged.high / unchanged.mid - 1);
  const double less = 1 - step_ms(edited.plan, 1 - host, 1 - transfers) / step.mid,
               more = step_ms(edited.plan, 1 + host, 1 + transfers) / step.mid - 1;
  step.low = step.mid * (1 - std::min(1.0, std::hypot(low, less)));
  step.high = step.mid * (1 + std::hypot(high, more));
  return step;
}

JobPrediction JobPredictor::Predict(const DeviceRates& target, double host_factor) {
  const bool same = IsSource(target);
  const Plan plan = PlanOn(target, host_factor);
  JobPrediction prediction;
  double& mid = prediction.step.mid;
  mid = StepMs(plan);
  prediction.activity = ActivityOf(plan, mid, target);
  prediction.host_ms = StepMs(Stretched(plan, std::nullopt, 0, 1));
  prediction.gpu_ms = StepMs(Stretched(plan, std::nullopt, 1, 0));

  // Assumes that errors of work classes are independent of each other and of the host's error.
  double less = 0, more = 0;
  const auto widen = [&](const Plan& fast, const Plan& slow) {
    less = std::hypot(less, std::max(0.0, mid - StepMs(fast)));
    more = std::hypot(more, std::max(0.0, StepMs(slow) - mid));
  };
  const double host = job_.host_error();
  widen(Stretched(plan, std::nullopt, 1, 1 - host), Stretched(plan, std::nullopt, 1, 1 + host));
  // On the recorded GPU, the error is that of forecasts (docs/engine.md).
  constexpr double kRecorded = 0.01;
  if (same) {
    widen(Stretched(plan, std::nullopt, 1 - kRecorded, 1),
          Stretched(plan, std::nullopt, 1 + kRecorded, 1));
  }
  const std::array<ErrorRange, kWorkClasses> errors = ErrorsOf(plan, target);
  constexpr double kSome = 0.05, kMuch = 0.2;
  prediction.measured_share = same ? 0 : MeasuredShare(target);
  if (!same && UnmeasuredTensorCoreShare(target, WorkClass::kConvolution) > kSomeTensorCores)
    prediction.doubt = "convolutions on tensor cores were validated against one H200 only";
  if (const double by_ratio = ratio_only_share(); !same && by_ratio > kMuch) {
    prediction.doubt += fmt::format("{}{:.0f} % of the GPU time is in kernels without shapes",
                                    prediction.doubt.empty() ? "" : "; ", 100 * by_ratio);
  }
  if (const double untried = DoubtfulAlgorithmShare(target); untried > kSome) {
    prediction.doubt += fmt::format(
        "{}the algorithms of convolutions, {:.0f} % of the GPU time, are unknown on that GPU",
        prediction.doubt.empty() ? "" : "; ", 100 * untried);
  }
  const double by_default =
      ShareOf([&](const Piece& piece) { return !same && RunsInTf32ByDefault(piece, target); });
  if (by_default > kSome) {
    prediction.doubt += fmt::format(
        "{}convolutions in float32, {:.0f} % of the GPU time, run in TF32 on that GPU unless "
        "torch.backends.cudnn.allow_tf32 is off; the range covers both",
        prediction.doubt.empty() ? "" : "; ", 100 * by_default);
  }
  if (const double exchanged = CollectiveShare(); !same && exchanged > kSome) {
    prediction.doubt +=
        fmt::format("{}communication between GPUs, {:.0f} % of the GPU time, is as recorded",
                    prediction.doubt.empty() ? "" : "; ", 100 * exchanged);
  }
  if (const double unknown = same ? 0 : UnknownTypeShare(target); unknown > kSome) {
    prediction.doubt += fmt::format(
        "{}{:.0f} % of the GPU time is in types without a data-sheet peak and is assumed to be "
        "memory-bound",
        prediction.doubt.empty() ? "" : "; ", 100 * unknown);
  }
  if (const double lost = same ? 0 : LostTensorCoreShare(target); lost > kSome) {
    prediction.doubt += fmt::format(
        "{}{:.0f} % of the GPU time is on tensor cores, which that GPU lacks for these types; "
        "float32 is assumed",
        prediction.doubt.empty() ? "" : "; ", 100 * lost);
  }
  for (std::size_t i = 0; i < kWorkClasses && !same; ++i) {
    const auto work_class = static_cast<WorkClass>(i);
    const bool present = std::find(class_of_.begin(), class_of_.end(),
                                   static_cast<std::int8_t>(i)) != class_of_.end();
    if (!present) continue;
    widen(Stretched(plan, work_class, std::exp(errors[i].low), 1),
          Stretched(plan, work_class, std::exp(errors[i].high), 1));
  }
  prediction.step.low = mid - less;
  prediction.step.high = mid + more;
  prediction.why = WhatLimits(prediction);
  return prediction;
}

}  // namespace headroom
