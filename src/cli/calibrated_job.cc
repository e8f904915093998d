#include "cli/calibrated_job.h"

#include <fmt/format.h>

#include <utility>

namespace headroom::cli {

Result<CalibratedJob> MakeCalibratedJob(const TraceStore& store, const Knowledge& knowledge,
                                        const AnalysisOptions& options,
                                        const CalibrationFlags& flags,
                                        std::optional<double> measured_step_ms) {
  const Result<ChosenCalibration> chosen = ChooseCalibration(flags, store);
  if (!chosen.ok()) return chosen.status();
  Result<std::unique_ptr<Job>> job =
      Job::Make(store, knowledge, options, chosen.value().calibration);
  if (!job.ok()) return job.status();
  CalibratedJob made{.job = std::move(job).value(),
                     .calibration = fmt::format("Calibration: {}.", chosen.value().from)};
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
