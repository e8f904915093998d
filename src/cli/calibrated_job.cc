#include "cli/calibrated_job.h"

#include <fmt/format.h>

#include <utility>

#include "analysis/name_facts.h"
#include "analysis/steps.h"
#include "whatif/step_window.h"

namespace headroom::cli {
namespace {

Result<WindowJob> MakeJobOfSteps(const TraceStore& store, const Knowledge& knowledge,
                                 const AnalysisOptions& options, const Calibration& calibration) {
  NameFacts names(store, knowledge);
  const Result<StepAnalysis> found = AnalyzeSteps(store, names, options);
  if (!found.ok()) return found.status();
  const Steps& chosen = found.value().steps;
  return MakeWindowJob(store, knowledge, chosen, {.first = 0, .last = chosen.list.size() - 1},
                       calibration);
}

}  // namespace

Result<CalibratedJob> MakeCalibratedJob(const TraceStore& store, const Knowledge& knowledge,
                                        const AnalysisOptions& options,
                                        const CalibrationFlags& flags,
                                        std::optional<double> measured_step_ms) {
  const Result<ChosenCalibration> chosen = ChooseCalibration(flags, store);
  if (!chosen.ok()) return chosen.status();
  const Calibration& calibration = chosen.value().calibration;
  CalibratedJob made;
  if (options.first_step || options.last_step) {
    Result<WindowJob> window = MakeJobOfSteps(store, knowledge, options, calibration);
    if (!window.ok()) return window.status();
    made.slice = std::move(window.value().slice);
    made.job = std::move(window.value().job);
  } else {
    Result<std::unique_ptr<Job>> job = Job::Make(store, knowledge, options, calibration);
    if (!job.ok()) return job.status();
    made.job = std::move(job).value();
  }
  made.calibration = fmt::format("Calibration: {}.", chosen.value().from);
  if (!measured_step_ms) return made;
  const Result<bool> told = made.job->CalibrateTo(*measured_step_ms);
  if (!told.ok()) return told.status();
  made.calibration =
      told.value() ? fmt::format("Calibrated to the measured step of {} ms.", *measured_step_ms)
                   : fmt::format(
                         "The measured step of {} ms says nothing of the host, as the GPU paces "
                         "it. {}",
                         *measured_step_ms, made.calibration);
  return made;
}

}  // namespace headroom::cli
