#include "answers/predict/recorded_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "analysis/verdict/remedies.h"
#include "answers/predict/changed_step.h"
#include "answers/predict/machine_steps.h"
#include "cost/device_spec.h"
#include "predict/job_memory.h"
#include "predict/job_prediction.h"
#include "predict/target_batch.h"
#include "render/number_format.h"
#include "scale/predicted_job.h"
#include "scale/recorded_collectives.h"
#include "whatif/job/gradients.h"
#include "whatif/scenarios/workload/batch_curve.h"

namespace headroom {
namespace {

/// Error that a change adds to the energy, as a share: assumes that the GPU draws as much power as
/// before while it works. A judgement.
constexpr double kChangedPowerError = 0.2;

void AddFits(const JobMemory& memory, std::span<PredictedTarget> targets) {
  std::vector<double> bytes;
  for (const PredictedTarget& target : targets)
    bytes.push_back(target.gpu_memory_bytes.value_or(0));
  const std::vector<MemoryFit> fits = FitsOf(memory, bytes);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    targets[i].memory_bytes = memory.PeakAt(1);
    if (!targets[i].gpu_memory_bytes) continue;
    targets[i].fit_confidence = fits[i].confidence;
    targets[i].fits = Decision(fits[i].confidence);
    targets[i].largest_batch = fits[i].samples;
    targets[i].largest_batch_at_best = fits[i].samples_at_best;
  }
}

/// Adds whether the changed job fits.
void AddFit(const JobMemory& memory, const ChangedStep& changed, PredictedTarget& target) {
  const std::optional<double> peak = memory.PeakAt(1);
  if (!peak || !changed.memory_delta_bytes) return;
  const auto delta = static_cast<double>(*changed.memory_delta_bytes);
  target.memory_bytes = *peak + delta;
  if (!target.gpu_memory_bytes) return;
  target.fit_confidence = ConfidenceAfter(memory, delta, *target.gpu_memory_bytes);
  target.fits = Decision(target.fit_confidence);
}

/// Returns the number of GPUs of the whole job: the largest of the GPUs that work in this trace,
/// the recorded world size, and RecordedGpus().
std::int64_t GpusOf(const Job& job) {
  // Ignores larger numbers: no job has that many GPUs, so the trace is wrong.
  constexpr std::int64_t kMax = 1'000'000;
  std::int64_t gpus = WorkingGpus(job.store(), job.steps().spans);
  for (const std::optional<std::int64_t>& told :
       {job.store().metadata.world_size, RecordedGpus(job)}) {
    if (told && *told <= kMax) gpus = std::max(gpus, *told);
  }
  return gpus;
}

/// Returns the energy of all GPUs of the job. Assumes that each GPU uses as much as the recorded
/// one.
std::optional<StepEnergy> OfAll(std::optional<StepEnergy> energy, std::int64_t gpus) {
  if (energy) energy->Times(static_cast<double>(gpus));
  return energy;
}

/// Returns the energy of one GPU in a step that waiting extends to `step_ms`: `energy` for the step
/// without the wait, plus the modelled energy of the wait.
std::optional<double> JoulesIn(double step_ms, const std::optional<StepEnergy>& energy,
                               StepActivity activity, const DeviceRates& rates,
                               const KernelConstants& constants) {
  const std::optional<StepEnergy> alone = ModelledEnergy(activity, rates, constants);
  activity.step_ms = step_ms;
  const std::optional<StepEnergy> waiting = ModelledEnergy(activity, rates, constants);
  if (!energy || !alone || !waiting) return std::nullopt;
  return energy->joules + waiting->joules - alone->joules;
}

/// Returns the activity of a changed step: its GPU works as hard as before while it works.
StepActivity ActivityAfter(StepActivity activity, double gpu_ratio, double step_ms) {
  activity.step_ms = step_ms;
  const double ratio =
      activity.busy_ms > 0 ? std::min(gpu_ratio, step_ms / activity.busy_ms) : gpu_ratio;
  activity.busy_ms *= ratio;
  activity.active_ms *= ratio;
  for (auto& phase : activity.phases) {
    phase.busy_ms *= ratio;
    phase.active_ms *= ratio;
  }
  return activity;
}

/// Returns the samples of a changed step; nullopt if their number is not whole.
std::optional<std::int64_t> Times(std::optional<std::int64_t> samples, double factor) {
  if (!samples) return samples;
  const double all = static_cast<double>(*samples) * factor;
  return all == std::floor(all) ? std::optional(static_cast<std::int64_t>(all)) : std::nullopt;
}

/// Returns true if the trace names the GPU. Otherwise the GPU was inferred from its memory and SM
/// count.
bool IsNamed(const GpuModels& models, const Job& job) {
  const DeviceSpec* const found = models.devices().Find(job.device()->short_name);
  const auto names = job.store().devices.name.values();
  return std::any_of(names.begin(), names.end(), [&](StringId name) {
    return models.devices().Find(job.store().Text(name)) == found;
  });
}

/// Widens a step that the host limits to the relative range of the recorded step, because the host
/// is the same.
PredictedMs AtLeastAsUncertain(PredictedMs step, const PredictedMs& recorded) {
  if (recorded.mid <= 0) return step;
  step.low = std::min(step.low, step.mid * recorded.low / recorded.mid);
  step.high = std::max(step.high, step.mid * recorded.high / recorded.mid);
  return step;
}

}  // namespace

Result<DeviceRates> SourceGpuOf(const GpuModels& models, const Job& job, const std::string& trace,
                                const std::string& from) {
  if (!from.empty()) {
    // The user's --from is more reliable than a GPU that was inferred from its size.
    if (job.device() != nullptr && IsNamed(models, job) &&
        models.devices().Find(from) != models.devices().Find(job.device()->short_name)) {
      return Status::Usage(
          fmt::format("--from {}: {} states that it was recorded on {}; leave out --from", from,
                      trace, job.device()->name));
    }
    return models.RatesNamed(from);
  }
  if (job.device() != nullptr) return models.RatesOfDevice(*job.device());
  const auto& devices = job.store().devices;
  std::set<std::string> all;
  for (std::size_t row = 0; row < devices.rows(); ++row) {
    if (devices.name[row].valid()) all.emplace(job.store().Text(devices.name[row]));
  }
  // The trace may record devices without a name.
  if (all.size() == 1) {
    const DeviceSpec* device = models.devices().Find(*all.begin());
    if (device != nullptr) return models.RatesOfDevice(*device);
  }
  const std::string names = fmt::format("{}", fmt::join(all, ", "));
  return Status::NoAnswer(
      fmt::format("{}: {}; name the GPU with --from NAME, or add its data sheet with --gpu-file "
                  "FILE (docs/devices.md)",
                  trace,
                  names.empty() ? "the trace does not name its GPU"
                                : fmt::format("not recorded on exactly one known GPU: {}", names)));
}

Status AddRecordedStep(const Job& job, const Baseline& baseline, const GpuModels& models,
                       const DeviceRates& source, std::span<const DeviceRates> targets,
                       const RecordedStepQuestion& question, bool whole_job,
                       std::span<const PlannedMachine> machines, PredictReport& report) {
  JobPredictor predictor(job, source, models.constants());
  const std::int64_t gpus = GpusOf(job);
  const PredictedMs step = {baseline.corrected.low, baseline.corrected.mid,
                            baseline.corrected.high};
  report.source_gpu = source.device->short_name;
  const std::optional<StepEnergy> modelled =
      ModelledEnergy(predictor.Predict(source, 1).activity, source, models.constants());
  std::optional<StepEnergy> measured = MeasuredEnergy(job.store(), job.steps().spans);
  std::optional<double> measured_over_model;
  if (measured && modelled) {
    measured->PartsLike(*modelled);
    measured_over_model = MeasuredOverModel(*measured, *modelled);
  }
  // Without step marks the whole recording is one step, so its samples are not samples per step.
  const bool has_steps = job.steps().steps.source != StepSource::kNone;
  const std::optional<std::int64_t> samples =
      has_steps ? SamplesPerStep(job) : std::optional<std::int64_t>();
  if ((whole_job || question.batch_curve) && !has_steps) {
    return Status::NoAnswer(
        fmt::format("{}: has no marked steps, which --total-steps and --batch-curve require; {}",
                    question.trace, HowToTellSteps(job.store().metadata.recorded_as())));
  }
  if (question.batch_curve && !samples) {
    return Status::NoAnswer(fmt::format(
        "{}: --batch-curve: the samples per step are unknown, because no forward operator has "
        "shapes; record them: {}",
        question.trace, RemedyOf(ImportIssue::kNoShapes, job.store().metadata.recorded_as())));
  }
  PredictBaseline base = {.trace = question.trace,
                          .gpu = source.device->short_name,
                          .step = step,
                          .host_ms = baseline.host_limit_ms,
                          .gpu_ms = baseline.gpu_limit_ms,
                          .gpus = gpus,
                          .energy = OfAll(measured ? measured : modelled, gpus),
                          .samples = samples,
                          .steps_note = baseline.steps_note,
                          .ratio_only_share = predictor.ratio_only_share()};
  const JobMemory memory = MemoryOf(job, question.timeline);
  if (memory.model) {
    base.memory = memory;
  } else {
    base.no_memory = memory.no_model;
    if (memory.recorded_bytes)
      base.no_memory += fmt::format("; {} were recorded", FormatBytes(*memory.recorded_bytes));
  }
  report.baselines.push_back(std::move(base));
  const std::size_t first = report.targets.size();
  const std::size_t group = report.baselines.size() - 1;
  const std::vector<GradientStep> gradients = FindGradients(job);
  const double gradient_bytes = gradients.empty() ? 0 : gradients.front().Bytes();
  for (const DeviceRates& target : targets) {
    const bool same = target.device->short_name == source.device->short_name;
    if (question.only_current && !same && !IsCurrentGpu(target.device->short_name)) continue;
    const JobPrediction prediction = predictor.Predict(target, question.host_factor);
    // Same GPU and host: uses the job as recorded, with the range of its baseline.
    const bool as_recorded = same && question.host_factor == 1;
    bool host_bound = prediction.host_ms > prediction.gpu_ms;
    const PredictedMs unchanged = as_recorded  ? step
                                  : host_bound ? AtLeastAsUncertain(prediction.step, step)
                                               : prediction.step;
    PredictedMs taken = unchanged;
    StepActivity activity = prediction.activity;
    std::string why = prediction.why;
    ChangedStep changed;
    if (!question.change.empty()) {
      changed = as_recorded ? StepAfter(question.change, job, unchanged)
                            : StepAfter(question.change,
                                        *predictor.JobOn(target, question.host_factor), unchanged);
      if (!changed.applies) {
        report.abstained.push_back(
            {.trace = question.trace, .why = changed.why, .gpu = target.device->short_name});
        continue;
      }
      taken = changed.step;
      why = changed.why;
      host_bound = changed.host_ms > changed.gpu_ms;
      activity = ActivityAfter(activity, changed.gpu_ms / prediction.gpu_ms, taken.mid);
    }
    std::optional<StepEnergy> energy =
        as_recorded && measured && question.change.empty()
            ? measured
            : EnergyOn(target, activity, taken, models.constants(), measured_over_model);
    if (energy && !question.change.empty())
      energy->error = std::hypot(energy->error, kChangedPowerError);
    if (energy && energy->carried) {
      why += fmt::format(
          "; energy is the model's value multiplied by {:.2f}, the ratio of measured to modelled "
          "energy on {}",
          *energy->carried, source.device->short_name);
    }
    std::string doubt = same ? "" : models.WhyExtrapolated(target, predictor.VectorShare(target));
    if (!prediction.doubt.empty()) doubt += (doubt.empty() ? "" : "; ") + prediction.doubt;
    report.targets.push_back(
        {.group = group,
         .workload = question.workload,
         .gpu = target.device->short_name,
         .full_name = target.device->name,
         .step = taken,
         .unchanged = question.change.empty() ? std::nullopt : std::optional(unchanged),
         .speedup = taken.mid > 0 ? std::optional(step.mid / taken.mid) : std::nullopt,
         .gpu_memory_bytes = target.device->UsableBytes(),
         .gpus = gpus,
         .energy = OfAll(energy, gpus),
         .samples = Times(samples, changed.samples),
         .measured_operators = target.correction ? target.correction->size() : 0,
         .measured_share = prediction.measured_share,
         .limited_by = host_bound ? "host" : "gpu",
         .why = std::move(why),
         .doubt = std::move(doubt)});
    if (!question.change.empty()) AddFit(memory, changed, report.targets.back());
    if (gpus == 1 && question.change.empty()) {
      // DDP's buckets also hold all gradients, in addition to the job's own memory.
      const double needed = memory.PeakAt(1).value_or(0) + gradient_bytes;
      if (needed > target.device->UsableBytes().value_or(needed)) {
        for (const PlannedMachine& machine : machines)
          report.targets.back().machines.push_back(
              {.price = machine.price,
               .step = {},
               .no_answer = "the gradient buckets, as large as the gradients, do not fit in GPU "
                            "memory next to the job"});
      } else {
        PredictedJob several(job, predictor, target, question.host_factor, taken);
        AddMachineSteps(
            several, machines,
            [&](double step_ms) {
              return JoulesIn(step_ms, energy, prediction.activity, target, models.constants());
            },
            report.targets.back());
      }
    }
    if (question.batch_curve) {
      report.targets.back().batch_curve =
          CurveOnTarget(predictor, job, target, question.host_factor, taken, memory,
                        target.device->UsableBytes());
    }
  }
  if (question.change.empty()) AddFits(memory, std::span(report.targets).subspan(first));
  return Status::Ok();
}

std::optional<StepEnergy> EnergyOn(const DeviceRates& rates, const StepActivity& activity,
                                   const PredictedMs& step, const KernelConstants& constants,
                                   std::optional<double> measured_over_model) {
  std::optional<StepEnergy> energy = ModelledEnergy(activity, rates, constants);
  if (energy && measured_over_model)
    energy = Carried(*energy, *measured_over_model, activity.step_ms, *rates.device);
  if (!energy || step.mid <= 0) return energy;
  // A longer step uses more energy, so the range of the step's time adds to the error.
  const double of_time = std::max(step.high / step.mid - 1, 1 - step.low / step.mid);
  energy->error = std::hypot(energy->error, of_time);
  return energy;
}

}  // namespace headroom
