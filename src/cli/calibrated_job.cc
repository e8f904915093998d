#include "cli/calibrated_job.h"

#include <fmt/format.h>

#include <utility>

namespace headroom::cli {

Result<std::string> FinishCalibration(Job& job, const ChosenCalibration& chosen,
                                      std::optional<double> measured_step_ms) {
  std::string from = fmt::format("Calibration: {}.", chosen.from);
  if (!measured_step_ms) return from;
  const Result<bool> told = job.CalibrateTo(*measured_step_ms);
  if (!told.ok()) return told.status();
  return told.value() ? fmt::format("Calibrated to the measured step of {} ms.", *measured_step_ms)
                      : fmt::format(
                            "The measured step of {} ms says nothing of the host, as the GPU paces "
                            "it. {}",
                            *measured_step_ms, from);
}

Result<CalibratedJob> MakeCalibratedJob(const TraceStore& store, const Knowledge& knowledge,
                                        const AnalysisOptions& options,
                                        const CalibrationFlags& flags,
                                        std::optional<double> measured_step_ms) {
  const Result<ChosenCalibration> chosen = ChooseCalibration(flags, store);
  if (!chosen.ok()) return chosen.status();
  Result<std::unique_ptr<Job>> job =
      Job::Make(store, knowledge, options, chosen.value().calibration);
  if (!job.ok()) return job.status();
  Result<std::string> calibration =
      FinishCalibration(*job.value(), chosen.value(), measured_step_ms);
  if (!calibration.ok()) return calibration.status();
  return CalibratedJob{.job = std::move(job).value(),
                       .calibration = std::move(calibration).value()};
}

}  // namespace headroom::cli
