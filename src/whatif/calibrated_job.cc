#include "whatif/calibrated_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/gpu/lost_records.h"
#include "analysis/names/name_facts.h"
#include "analysis/steps/steps.h"
#include "analysis/verdict/health.h"
#include "render/number_format.h"
#include "whatif/forecast.h"
#include "whatif/job/step_window.h"

namespace headroom {
namespace {

/// Launches without a GPU task, as a share of the GPU tasks; the limits are those of the trace's
/// health grade. Above kMaxLost, the bottleneck verdict is void. Up to kHardlyAny, no reported
/// figure changes.
constexpr double kMaxLost = 0.2, kHardlyAny = 0.001;

/// The steps that a job covers.
struct Chosen {
  Steps steps;
  /// All GPU work as one step; set only if nothing marks steps.
  std::optional<Steps> stretch;
  std::optional<StepWindow> window;  ///< nullopt if the job covers the whole recording.
  std::string note;
  Status forecasts = Status::Ok();  ///< Same as CalibratedJob::forecasts.

  /// Returns the steps whose step time forecasts use.
  const Steps& Timed() const { return stretch ? *stretch : steps; }
};

/// Returns "step 3" or "steps 3 to 7".
std::string NameSteps(const Steps& steps, const StepWindow& window) {
  const std::int64_t first = steps.list[window.first].index, last = steps.list[window.last].index;
  return first == last ? fmt::format("step {}", first) : fmt::format("steps {} to {}", first, last);
}

Result<Chosen> ChooseSteps(const TraceStore& store, const ReferenceData& reference,
                           const AnalysisOptions& options) {
  NameFacts names(store, reference);
  Result<StepAnalysis> found = AnalyzeSteps(store, names, options);
  if (!found.ok()) return found.status();
  std::optional<StepAnalysis> stretch = FindStretch(store, names, found.value());
  Chosen chosen{.steps = std::move(found).value().steps,
                .stretch = {},
                .window = {},
                .note = {},
                .forecasts = {}};
  if (stretch) chosen.stretch = std::move(stretch->steps);
  const std::vector<StepRow>& rows = chosen.steps.list;
  if (options.first_step || options.last_step) {
    chosen.window = {.first = 0, .last = rows.size() - 1};
    return chosen;
  }
  if (rows.empty()) return chosen;
  const std::optional<StepWindow> whole = ReplayedRun(store, chosen.steps);
  if (!whole) {
    chosen.forecasts = Status::NoAnswer(
        "no step has all its GPU work recorded, so a replay would be too fast; record again "
        "(headroom report shows what is missing)");
    return chosen;
  }
  const auto count = static_cast<std::size_t>(whole->steps());
  if (count == rows.size()) return chosen;
  chosen.window = whole;
  const std::optional<StepWindow> run = LongestWholeRun(chosen.steps);
  if (run->steps() > whole->steps()) {
    chosen.note = fmt::format("{} represent{} {} complete steps", Plural(whole->steps(), "step"),
                              whole->steps() == 1 ? "s" : "", run->steps());
    return chosen;
  }
  chosen.note = fmt::format(
      "{} of {} steps are left out: their work is incomplete, they differ from the others in "
      "kind or length, or they lie beyond such a step or a pause",
      rows.size() - count, rows.size());
  return chosen;
}

/// Calibrates the job to the measured step, if there is one. Returns the sentence that describes
/// the calibration to the user.
///
/// @param from  origin of the job's calibration
Result<std::string> Calibrate(const std::string& from, std::optional<double> measured_step_ms,
                              Job& job) {
  const std::string calibration = fmt::format("Calibration: {}.", from);
  if (!measured_step_ms) return calibration;
  const Result<bool> told = job.CalibrateTo(*measured_step_ms);
  if (!told.ok()) return told.status();
  if (told.value())
    return fmt::format("Calibrated to the measured step of {} ms.", *measured_step_ms);
  return fmt::format(
      "The measured step of {} ms says nothing about the host, because the job is GPU-bound. {}",
      *measured_step_ms, calibration);
}

/// The job that `headroom report` replays for the same steps.
struct ReportedJob {
  StepWindow window;
  WindowJob made;
  std::string calibration;
  MsInterval corrected;  ///< Step time without the profiler.
};

/// Returns nullopt if the report gives no forecast.
std::optional<ReportedJob> MakeReportedJob(const TraceStore& store, const ReferenceData& reference,
                                           const Steps& steps, const ChosenCalibration& chosen,
                                           std::optional<double> measured_step_ms) {
  const std::optional<StepWindow> window = ChooseWindow(store, steps);
  if (!steps.step_time || !window) return std::nullopt;
  // The report then gives no forecast either.
  if (steps.source == StepSource::kNone && window->events > kMaxWindowEvents) return std::nullopt;
  Result<WindowJob> made = MakeWindowJob(store, reference, steps, *window, chosen.calibration);
  if (!made.ok()) return std::nullopt;
  Job& job = *made.value().job;
  Result<std::string> calibration = Calibrate(chosen.from, measured_step_ms, job);
  if (!calibration.ok()) return std::nullopt;
  const Forecaster forecaster(job);
  if (!forecaster.WhyNone().empty()) return std::nullopt;
  return ReportedJob{*window, std::move(made).value(), std::move(calibration).value(),
                     forecaster.baseline().corrected};
}

/// Returns a note about launches without a GPU task. Fails with kNoAnswer if there are too many.
Result<std::string> NoteOfLostTasks(const TraceStore& store, const ReferenceData& reference) {
  NameFacts names(store, reference);
  const std::size_t lost = FindLaunchesWithoutTask(store, names).size();
  const double share = static_cast<double>(lost) /
                       static_cast<double>(std::max<std::size_t>(store.gpu_tasks.rows(), 1));
  const std::string what = fmt::format("{} without the GPU work that they launched",
                                       Plural(static_cast<std::int64_t>(lost), "call"));
  if (share > kMaxLost) {
    return Status::NoAnswer(
        fmt::format("the recording has {}, equal to {:.0f} % of its recorded GPU tasks: a replay "
                    "would be too fast; record again, with fewer steps",
                    what, 100 * share));
  }
  if (share <= kHardlyAny) return std::string();
  return fmt::format("the recording has {}: every forecast lacks that work", what);
}

/// Puts the damage before the reason for a missing answer, because the damage is the likely cause.
Status BehindDamage(const std::string& damage, const Status& why) {
  if (why.code() != StatusCode::kNoAnswer) return why;
  return Status::NoAnswer(fmt::format("{}. In the remaining data, {}", damage, why.message()));
}

Result<CalibratedJob> MakeOfWhatIsThere(const TraceStore& store, const ReferenceData& reference,
                                        const AnalysisOptions& options,
                                        const CalibrationFlags& flags,
                                        std::optional<double> measured_step_ms) {
  const Result<ChosenCalibration> chosen = ChooseCalibration(flags, store);
  if (!chosen.ok()) return chosen.status();
  const Calibration& calibration = chosen.value().calibration;
  Result<Chosen> steps = ChooseSteps(store, reference, options);
  if (!steps.ok()) return steps.status();
  CalibratedJob made;
  made.note = std::move(steps.value().note);
  if (steps.value().window) {
    Result<WindowJob> window =
        MakeWindowJob(store, reference, steps.value().steps, *steps.value().window, calibration);
    if (!window.ok()) return window.status();
    made.slice = std::move(window.value().slice);
    made.job = std::move(window.value().job);
  } else {
    Result<std::unique_ptr<Job>> job = Job::Make(store, reference, options, calibration);
    if (!job.ok()) return job.status();
    made.job = std::move(job).value();
    made.job->SetStepTime(steps.value().Timed());
  }
  made.forecasts = std::move(steps.value().forecasts);
  const Steps& timed = steps.value().Timed();
  std::optional<ReportedJob> reported =
      MakeReportedJob(store, reference, timed, chosen.value(), measured_step_ms);
  std::string remark;
  bool reported_replaces = false;
  if (reported && !options.first_step && !options.last_step) {
    Replayer replayer;
    if (const ReplayError replay = MeasureReplay(*made.job, replayer); !replay.Holds()) {
      reported_replaces = true;
      remark =
          fmt::format("forecasts use {}, as the report does: the replay of {} is off by {:+.1f} %",
                      NameSteps(timed, reported->window),
                      steps.value().window ? NameSteps(timed, *steps.value().window) : "all steps",
                      100 * replay.error);
    }
  }
  if (remark.empty() && steps.value().window && !made.note.empty())
    remark = fmt::format("forecasts use {}", NameSteps(timed, *steps.value().window));
  if (reported_replaces) {
    made.job = std::move(reported->made.job);
    made.slice = std::move(reported->made.slice);
    made.calibration = std::move(reported->calibration);
  } else {
    Result<std::string> told = Calibrate(chosen.value().from, measured_step_ms, *made.job);
    if (!told.ok()) return told.status();
    made.calibration = std::move(told).value();
  }
  if (!remark.empty()) made.note += (made.note.empty() ? "" : "; ") + remark;
  if (reported) made.job->SetStepTime(timed, reported->corrected);
  const Result<std::string> lost = NoteOfLostTasks(made.job->store(), reference);
  if (!lost.ok()) {
    if (made.forecasts.ok()) made.forecasts = lost.status();
  } else if (!lost.value().empty()) {
    made.note += (made.note.empty() ? "" : "; ") + lost.value();
  }
  return made;
}

}  // namespace

Result<CalibratedJob> MakeCalibratedJob(const TraceStore& store, const ReferenceData& reference,
                                        const AnalysisOptions& options,
                                        const CalibrationFlags& flags,
                                        std::optional<double> measured_step_ms) {
  Result<CalibratedJob> made =
      MakeOfWhatIsThere(store, reference, options, flags, measured_step_ms);
  const std::string damage = DamageOf(store);
  if (damage.empty()) return made;
  if (!made.ok()) return BehindDamage(damage, made.status());
  CalibratedJob& job = made.value();
  job.forecasts = BehindDamage(damage, job.forecasts);
  job.note = fmt::format("{}. Forecasts use the remaining data{}{}", damage,
                         job.note.empty() ? "" : "; ", job.note);
  return made;
}

}  // namespace headroom
