#include "whatif/finding_forecasts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/verdict/bottleneck.h"
#include "whatif/forecast.h"
#include "whatif/job/job.h"
#include "whatif/job/step_window.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/workload/batch_curve.h"

namespace headroom {
namespace {

/// Practically infinite host speed, as a scenario.
constexpr std::string_view kHostForFree = "host-speed:factor=1000000";

// Edits that remove the cause of a finding if no scenario models a replacement. Each returns true
// if it changes anything.

bool RemoveAll(const Job& job, const std::vector<TaskIndex>& tasks, Edit& edit) {
  RemoveTasks(job, tasks, edit);
  return !tasks.empty();
}

/// Keeps the collectives but sets their durations to 0.
bool FreeCommunication(const Job& job, Edit& edit) {
  const std::vector<TaskIndex> collectives = SelectTasks(
      job, [&](TaskIndex task) { return job.ClassOf(task).family == WorkFamily::kCommunication; });
  for (const TaskIndex task : collectives) edit.SetDuration(task, DurationNs(0));
  CloseGapsDuring(job, collectives, edit);
  return !collectives.empty();
}

/// Removes copies of one direction, their calls, and the waits for them.
bool RemoveCopies(const Job& job, CopyKind direction, Edit& edit) {
  const auto& tasks = job.graph().tasks;
  const std::vector<TaskIndex> copies = SelectTasks(job, [&](TaskIndex task) {
    return job.store().gpu_tasks.copy[tasks[task].row] == direction;
  });
  std::vector<bool> called(job.store().host_events.rows());
  for (const TaskIndex copy : copies) {
    const TaskIndex call = job.LaunchOf(copy);
    if (call != kNoTask) called[tasks[call].row] = true;
  }
  for (TaskIndex task = 0; task < tasks.size(); ++task) {
    if (tasks[task].kind == TaskKind::kReturn && called[tasks[task].row]) edit.RemoveWait(task);
  }
  CloseGapsDuring(job, copies, edit);
  return RemoveAll(job, copies, edit);
}

bool RemoveCopiesIn(const Job& job, Edit& edit) {
  return RemoveCopies(job, CopyKind::kHostToDevice, edit);
}

bool RemoveCopiesOut(const Job& job, Edit& edit) {
  return RemoveCopies(job, CopyKind::kDeviceToHost, edit);
}

bool RemoveOptimizer(const Job& job, Edit& edit) {
  return RemoveAll(
      job,
      SelectTasks(job,
                  [&](TaskIndex task) { return job.ContextOf(task).phase == Phase::kOptimizer; }),
      edit);
}

bool RemoveFamily(const Job& job, WorkFamily family, Edit& edit) {
  return RemoveAll(job,
                   SelectTasks(job,
                               [&](TaskIndex task) {
                                 return job.store().gpu_tasks.kind[job.graph().tasks[task].row] ==
                                            GpuTaskKind::kKernel &&
                                        job.ClassOf(task).family == family;
                               }),
                   edit);
}

bool RemoveElementwise(const Job& job, Edit& edit) {
  return RemoveFamily(job, WorkFamily::kElementwise, edit);
}

bool RemoveDeviceCopies(const Job& job, Edit& edit) {
  return RemoveFamily(job, WorkFamily::kCopy, edit);
}

/// Keeps matrix products without tensor cores, but sets their durations to 0.
bool FreeProducts(const Job& job, Edit& edit) {
  bool any = false;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind != TaskKind::kGpu) continue;
    const KernelClass& kernel = job.ClassOf(task);
    if (!MultipliesMatrices(kernel.family) || kernel.tensor_cores == TensorCoreUse::kYes) continue;
    edit.SetDuration(task, DurationNs(0));
    any = true;
  }
  return any;
}

bool CloseGaps(const Job& job, Edit& edit) {
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind == TaskKind::kGpu) edit.CloseGap(task);
  }
  return true;
}

/// One way to forecast the savings of a remedy. If it removes the cause instead of modelling a real
/// change, `bound` describes the removal. The savings are then an upper bound.
struct Attempt {
  Remedy remedy;
  std::string_view scenario;  ///< Empty if the attempt uses `edit`.
  bool (*edit)(const Job& job, Edit& edit) = nullptr;
  std::string_view bound;  ///< Empty if the savings are a forecast.
};

// For each remedy, the first attempt that applies counts.
constexpr std::array kAttempts = {
    Attempt{Remedy::kLaunchless, "cuda-graph", nullptr, ""},
    Attempt{Remedy::kLaunchless, "remove-syncs+cuda-graph", nullptr,
            "if no call waited for the GPU"},
    Attempt{Remedy::kLaunchless, kHostForFree, nullptr, "with an infinitely fast host"},
    Attempt{Remedy::kFastHost, kHostForFree, nullptr, "with an infinitely fast host"},
    Attempt{Remedy::kDataWait, "data-loading", nullptr, "if every batch were ready in time"},
    Attempt{Remedy::kCallbacks, "callbacks:async", nullptr,
            "if callbacks ran in parallel with the loop"},
    Attempt{Remedy::kCommunication, "", FreeCommunication, "if communication were instantaneous"},
    Attempt{Remedy::kCopiesIn, "", RemoveCopiesIn, "without copies to the GPU"},
    Attempt{Remedy::kCopiesOut, "", RemoveCopiesOut,
            "without copies to the host and waits for them"},
    Attempt{Remedy::kSyncs, "remove-syncs", nullptr, "if no call waited for the GPU"},
    Attempt{Remedy::kOptimizer, "fused-optimizer", nullptr, ""},
    Attempt{Remedy::kOptimizer, "", RemoveOptimizer, "without the optimizer's kernels"},
    Attempt{Remedy::kTensorCores, "tf32", nullptr, ""},
    Attempt{Remedy::kTensorCores, "amp:dtype=bf16", nullptr, ""},
    Attempt{Remedy::kTensorCores, "amp:dtype=fp16", nullptr, ""},
    Attempt{Remedy::kTensorCores, "", FreeProducts,
            "if matrix products without tensor cores were instantaneous"},
    Attempt{Remedy::kElementwise, "fuse-pointwise", nullptr, ""},
    Attempt{Remedy::kElementwise, "", RemoveElementwise, "without element-wise kernels"},
    Attempt{Remedy::kDeviceCopies, "channels-last", nullptr, ""},
    Attempt{Remedy::kDeviceCopies, "", RemoveDeviceCopies, "without these copies"},
    Attempt{Remedy::kKernelGaps, "", CloseGaps, "without gaps between kernels"},
    Attempt{Remedy::kQueueGaps, "", CloseGaps, "if kernels waited only for each other"},
};

/// Returns true if a remedy removes GPU tasks, so that the host need not launch them.
bool RemovesTasks(Remedy remedy) {
  return remedy == Remedy::kCopiesIn || remedy == Remedy::kCopiesOut ||
         remedy == Remedy::kOptimizer || remedy == Remedy::kElementwise ||
         remedy == Remedy::kDeviceCopies;
}

/// Forecasts the savings of a finding with one attempt. Returns false if the attempt does not
/// apply.
///
/// @param step_ms  the recorded mean step, the upper bound of all savings
Result<bool> Try(const Attempt& attempt, const Job& job, Forecaster& forecaster, double step_ms,
                 Finding& finding) {
  Edit edit(job.graph(), job.corrected());
  double error = 0;
  if (attempt.edit != nullptr) {
    if (!attempt.edit(job, edit)) return false;
  } else {
    Result<std::vector<ScenarioCall>> calls = ParseScenario(attempt.scenario);
    if (!calls.ok()) return calls.status();
    const Effect effect = ApplyAll(job, calls.value(), edit);
    if (!effect.applies) return false;
    error = effect.gpu_error;
  }
  const std::optional<EditedPlan> edited = edit.TryFinish();
  if (!edited) return false;  // Without these tasks, the recorded order contradicts itself.
  MsInterval saves = forecaster.SavesOf(*edited, error);
  const double unbounded = saves.mid;
  // A window's step may be longer than the mean step to which the finding refers. A change may make
  // the step longer, but removing idle time cannot.
  const bool of_idle = finding.idle || !attempt.bound.empty();
  const double least = of_idle ? 0 : -std::numeric_limits<double>::infinity();
  const double most = finding.idle ? finding.idle->ms() : std::max(step_ms, 0.0);
  for (double* const value : {&saves.low, &saves.mid, &saves.high})
    *value = std::clamp(*value, least, most);
  // The interval of an upper bound starts at 0.
  if (!attempt.bound.empty()) saves.low = 0;
  finding.saves_ms = saves;
  // `whatif` shows the scenario's full savings. A finding whose savings are capped therefore names
  // no scenario.
  constexpr double kNearly = 0.95;
  const bool holds_less = saves.mid < kNearly * unbounded;
  const bool is_slower = unbounded < least;  // `whatif` shows the loss; the finding saves 0.
  // An infinitely fast host is a bound, not a change to make.
  if (attempt.edit == nullptr && !holds_less && !is_slower && attempt.scenario != kHostForFree)
    finding.scenario = attempt.scenario;
  finding.saves_note = attempt.bound.empty() ? fmt::format("forecast of {}", attempt.scenario)
                                             : fmt::format("at most: {}", attempt.bound);
  if (holds_less) finding.saves_note += "; capped at the finding's time";
  constexpr double kRounding = 1.01;
  const double holds = finding.share_pct.value_or(100) / 100 * step_ms;
  if (RemovesTasks(finding.remedy) && saves.mid > holds * kRounding)
    finding.saves_note += "; more than the finding's time, because the host also finishes earlier";
  return true;
}

/// Steps with excess time are not among the replayed steps, so the saving is the recorded excess.
void TellExcess(const TraceReport& report, Finding& finding) {
  if (finding.beside_steps) {
    finding.saves_note = "nothing: the step time excludes these steps";
    return;
  }
  const double excess = *finding.share_pct / 100 * report.breakdown->wall.ms();
  finding.saves_ms = MsInterval{0, excess, excess};
  finding.saves_note =
      "at most: if these steps took the median time; averaged over all steps, not replayed";
}

/// The replay has no operators in this time, so the saving is at most the recorded time.
void TellOwnTime(const TraceReport& report, Finding& finding) {
  if (finding.place.empty()) {
    finding.saves_note = "unknown: no region shows what takes this time";
    return;
  }
  const double time = *finding.share_pct / 100 * report.breakdown->wall.ms();
  finding.saves_ms = MsInterval{0, time, time};
  finding.saves_note = "at most: without this time; not replayed";
}

/// Lowers the confidence of a verdict if removing its cause saves almost nothing.
void DoubtVerdict(TraceReport& report) {
  if (report.findings.empty() || report.bottleneck.confidence.empty()) return;
  const Finding& first = report.findings.front();
  if (!ActsOn(report.bottleneck.verdict, first) || !first.saves_ms || !first.share_pct ||
      !first.saves_note.starts_with("at most"))
    return;
  constexpr double kNothing = 0.1;
  if (first.saves_ms->high >= kNothing * *first.share_pct / 100 * report.breakdown->wall.ms())
    return;
  report.bottleneck.LowerConfidence("a replay without the cause takes just as long");
  report.bottleneck.evidence.emplace_back(
      "a replay without the cause takes just as long: something else also limits the step");
}

Status ForecastEach(const Job& job, Forecaster& forecaster, TraceReport& report) {
  for (Finding& finding : report.findings) {
    if (finding.remedy == Remedy::kNone) {
      TellExcess(report, finding);
      continue;
    }
    if (finding.remedy == Remedy::kOwnTime) {
      TellOwnTime(report, finding);
      continue;
    }
    if (finding.remedy == Remedy::kRecordMore) {
      finding.saves_note = "unknown: the stall may be an artifact of the recording";
      continue;
    }
    for (const Attempt& attempt : kAttempts) {
      if (attempt.remedy != finding.remedy) continue;
      const Result<bool> told = Try(attempt, job, forecaster, report.breakdown->wall.ms(), finding);
      if (!told.ok()) return told.status();
      if (told.value()) break;
    }
    if (!finding.saves_ms)
      finding.saves_note = "unknown: this finding does not occur in the replayed steps";
  }
  // Compares whole nanoseconds, so findings with equal savings stay sorted by their time.
  const auto rank = [](const Finding& finding) -> std::int64_t {
    if (finding.saves_ms) return -std::llround(finding.saves_ms->mid * 1e6);
    return finding.beside_steps ? -finding.beside_steps->ns() : INT64_MAX;
  };
  std::ranges::stable_sort(report.findings, {}, rank);
  PutVerdictFirst(report.bottleneck.verdict, report.findings);
  DoubtVerdict(report);
  return Status::Ok();
}

void Abstain(std::string why, TraceReport& report) {
  if (!report.engine) report.engine.emplace();
  for (Finding& finding : report.findings) finding.saves_note = "unknown: " + why;
  report.engine->error = std::move(why);
}

void CorrectMedian(const Baseline& baseline, Steps& steps) {
  // Rounding may make the corrected step slightly longer than the traced step.
  const double kept = std::min(1.0, baseline.corrected.mid / baseline.traced_step_ms);
  steps.corrected_p50 = DurationNs(std::llround(static_cast<double>(steps.p50->ns()) * kept));
  steps.profiler_overhead_pct = 100 * (1 - kept);
}

/// Returns the number of micro-batches per step, counted as forward passes followed by a backward
/// pass. Returns 1 if the forward passes differ in their number of GPU tasks, as with two networks.
std::int64_t PassesPerStep(const Job& job) {
  const auto& tasks = job.store().gpu_tasks;
  std::vector<std::int64_t> forward;  // GPU tasks of each pass.
  Phase before = Phase::kOther;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const Phase phase = job.attribution().Of(GpuTaskId(i)).phase;
    if (phase != Phase::kForward && phase != Phase::kBackward) continue;
    if (phase == Phase::kForward) {
      if (before != Phase::kForward) forward.push_back(0);
      ++forward.back();
    }
    before = phase;
  }
  const auto passes = std::ssize(forward), steps = std::ssize(job.steps().hosts);
  const bool are_alike =
      std::adjacent_find(forward.begin(), forward.end(), std::not_equal_to<>()) == forward.end();
  return are_alike && steps > 0 && passes % steps == 0 ? std::max<std::int64_t>(passes / steps, 1)
                                                       : 1;
}

/// Returns the number of batches per step: more than one if gradients accumulate. Returns 1 if
/// unknown.
std::int64_t BatchesPerStep(const Job& job) {
  const TraceStore& store = job.store();
  const std::vector<Interval>& steps = job.steps().hosts;
  if (steps.empty()) return 1;
  std::int64_t fetches = 0;
  const auto& events = store.host_events;
  const auto waits = [&](HostEventId event) {
    return job.attribution().Of(event).phase == Phase::kDataWait;
  };
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventId event(row), parent = events.parent[row];
    // Counts only the outermost range: a range from the data loader may be nested in a range from
    // the program.
    if (events.kind[row] == HostEventKind::kAnnotation && waits(event) &&
        (!parent.valid() || !waits(parent)) && events.start[row] >= steps.front().start &&
        events.start[row] < steps.back().end)
      ++fetches;
  }
  if (fetches == 0) return PassesPerStep(job);
  const auto count = static_cast<std::int64_t>(steps.size());
  return fetches % count == 0 ? std::max<std::int64_t>(fetches / count, 1) : 1;
}

/// Fills recorded samples per second if operator shapes show the batch size.
void TellThroughput(const Job& job, TraceReport& report) {
  std::optional<std::int64_t> samples = SamplesPerStep(job);
  // If the optimizer updates only once in several steps, uses the mean over all steps. The step
  // time excludes the first step, which changes the share of steps with an update.
  const std::optional<DurationNs> step =
      report.steps.optimizer_every ? report.steps.mean : report.steps.step_time;
  if (samples && report.steps.source != StepSource::kNone) *samples *= BatchesPerStep(job);
  // A batch size of one cannot be distinguished from a scalar.
  if (!samples || *samples <= 1 || !step || step->ns() <= 0) return;
  report.throughput = Throughput{
      .samples_per_s = static_cast<double>(*samples) * 1e9 / static_cast<double>(step->ns()),
      .batch_size = *samples,
      .source = "the batch size from operator shapes, and the recorded step time"};
}

/// Returns a job that covers the whole recording, without a slice.
Result<WindowJob> MakeWholeJob(const TraceStore& store, const ReferenceData& reference,
                               const Calibration& calibration) {
  Result<std::unique_ptr<Job>> job = Job::Make(store, reference, AnalysisOptions(), calibration);
  if (!job.ok()) return job.status();
  return WindowJob{.slice = nullptr, .job = std::move(job).value()};
}

/// Returns the job that `headroom whatif` replays, with the step time `corrected`. It covers `run`,
/// or the whole recording if that has no steps. Returns no job if `run` holds too many events, or
/// if the replay is off.
WindowJob MakeJobOfRun(const TraceStore& store, const ReferenceData& reference,
                       const HostTruth& truth, const Steps& steps,
                       const std::optional<StepWindow>& run, bool has_steps,
                       const MsInterval& corrected) {
  if (!run || CountEvents(store, steps, *run) > kMaxRunEvents) return {};
  Result<WindowJob> made = has_steps
                               ? MakeWindowJob(store, reference, steps, *run, truth.calibration)
                               : MakeWholeJob(store, reference, truth.calibration);
  if (!made.ok()) return {};
  Job& job = *made.value().job;
  if (!has_steps) job.SetStepTime(steps);
  if (truth.measured_step_ms && !job.CalibrateTo(*truth.measured_step_ms).ok()) return {};
  Replayer replayer;
  if (!MeasureReplay(job, replayer).Holds()) return {};
  job.SetStepTime(steps, corrected);
  return std::move(made).value();
}

Status ForecastAll(const TraceStore& store, const ReferenceData& reference, const HostTruth& truth,
                   TraceReport& report) {
  // Without steps, the stretch is replayed as one step.
  Steps stretch;
  if (report.stretch) {
    stretch.list.push_back(*report.stretch);
    stretch.p50 = stretch.step_time = report.stretch->wall;
  }
  const Steps& steps = report.stretch ? stretch : report.steps;
  const std::optional<StepWindow> window = ChooseWindow(store, steps);
  if (!window) return Status::Ok();
  EngineSummary& engine = report.engine.emplace();
  engine.first_step = steps.list[window->first].index;
  engine.last_step = steps.list[window->last].index;
  engine.steps = window->steps();
  engine.of_stretch = report.stretch.has_value();
  engine.events = window->events;
  engine.calibration = truth.from;
  if (report.stretch && window->events > kMaxWindowEvents) {
    Abstain(fmt::format(
                "the recording has no steps, and its {} events are too many to replay as one step",
                window->events),
            report);
    return Status::Ok();
  }
  Result<WindowJob> made = MakeWindowJob(store, reference, steps, *window, truth.calibration);
  if (!made.ok()) {
    Abstain(made.status().message(), report);
    return Status::Ok();
  }
  Job& job = *made.value().job;
  if (!report.stretch) TellThroughput(job, report);
  if (truth.measured_step_ms) {
    const Result<bool> told = job.CalibrateTo(*truth.measured_step_ms);
    if (!told.ok()) return told.status();
    if (told.value()) {
      engine.calibration = fmt::format("the measured step of {} ms", *truth.measured_step_ms);
    }
  }
  Forecaster forecaster(job);
  const Baseline& baseline = forecaster.baseline();
  engine.replay_error_pct = baseline.replay_error_pct;
  if (std::string why = forecaster.WhyNone(); !why.empty()) {
    Abstain(std::move(why), report);
    return Status::Ok();
  }
  engine.corrected_step_ms = baseline.corrected;
  if (!report.stretch) CorrectMedian(baseline, report.steps);
  const std::optional<StepWindow> run = ReplayedRun(store, steps);
  WindowJob all =
      MakeJobOfRun(store, reference, truth, steps, run, !report.stretch, baseline.corrected);
  if (all.job == nullptr) return ForecastEach(job, forecaster, report);
  engine.first_step = steps.list[run->first].index;
  engine.last_step = steps.list[run->last].index;
  engine.steps = run->steps();
  engine.events = CountEvents(store, steps, *run);
  Forecaster of_all(*all.job);
  engine.replay_error_pct = of_all.baseline().replay_error_pct;
  return ForecastEach(*all.job, of_all, report);
}

}  // namespace

namespace {

/// Aborts a debug build if a report contradicts itself. invariants_test.cc and
/// tests/integration/test_invariants.py also test the invariants of any trace.
void AssertInvariants([[maybe_unused]] const TraceReport& report) {
#ifndef NDEBUG
  constexpr double kRounding = 1 + 1e-9;
  const auto is_ordered = [](const MsInterval& interval) {
    return interval.low <= interval.mid && interval.mid <= interval.high;
  };
  if (report.breakdown) assert(report.breakdown->step.Sum() == report.breakdown->wall);
  if (report.engine && report.engine->corrected_step_ms && report.steps.step_time) {
    const MsInterval& corrected = *report.engine->corrected_step_ms;
    assert(is_ordered(corrected) && 0 <= corrected.low);
    assert(corrected.mid <= report.steps.step_time->ms() * kRounding);
  }
  for (const Finding& finding : report.findings) {
    assert(!finding.share_pct ||
           (0 <= *finding.share_pct && *finding.share_pct <= 100 * kRounding));
    if (!finding.saves_ms) continue;
    assert(is_ordered(*finding.saves_ms));
    if (finding.idle)
      assert(0 <= finding.saves_ms->low &&
             finding.saves_ms->high <= finding.idle->ms() * kRounding);
  }
#endif
}

}  // namespace

Status ForecastFindings(const TraceStore& store, const ReferenceData& reference,
                        const HostTruth& truth, TraceReport& report) {
  // The report is valid without forecasts, so a failed forecast must not discard it.
  try {
    Status status = ForecastAll(store, reference, truth, report);
    AssertInvariants(report);
    return status;
  } catch (const std::bad_alloc&) {
    Abstain("out of memory", report);
  } catch (const std::exception& error) {
    Abstain(fmt::format("internal error: {}", error.what()), report);
  }
  return Status::Ok();
}

Status ForecastFindings(const TraceStore& store, const ReferenceData& reference,
                        const CalibrationFlags& calibration, std::optional<double> measured_step_ms,
                        TraceReport& report) {
  Result<ChosenCalibration> chosen = ChooseCalibration(calibration, store);
  if (!chosen.ok()) return chosen.status();
  const HostTruth truth = {.calibration = std::move(chosen.value().calibration),
                           .from = std::move(chosen.value().from),
                           .measured_step_ms = measured_step_ms};
  return ForecastFindings(store, reference, truth, report);
}

}  // namespace headroom
