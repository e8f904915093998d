// A job that is ready for forecasts, as every command makes it: calibrated, and told by what.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "whatif/calibration/calibration_choice.h"
#include "whatif/job/job.h"

namespace headroom {

struct CalibratedJob {
  std::unique_ptr<TraceStore> slice;  ///< Of which the job is; null: of the whole trace.
  std::unique_ptr<Job> job;
  std::string calibration;  ///< For the user: where the cost of recording comes from.
  std::string note;  ///< What is damaged or missing of the recording, and was left out; or empty.
  /// kNoAnswer where so much of the GPU work is missing that forecasts must abstain.
  Status forecasts = Status::Ok();
};

/// Returns the job of the steps that `options` name, as if nothing else had been recorded. If they
/// name none, it is of all steps, or of the longest run of whole steps if some are not whole. It is
/// then of the report's steps instead if the replay is off by more than 1 %. Fails as
/// ChooseCalibration(), Job::Make() and Job::CalibrateTo() do.
///
/// @param measured_step_ms  true time of a step without a profiler, if the user knows it
Result<CalibratedJob> MakeCalibratedJob(const TraceStore& store, const ReferenceData& reference,
                                        const AnalysisOptions& options,
                                        const CalibrationFlags& flags,
                                        std::optional<double> measured_step_ms);

}  // namespace headroom
