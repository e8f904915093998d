// A calibrated job that is ready for forecasts, made the same way for every command.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "whatif/calibration/calibration_choice.h"
#include "whatif/job/job.h"

namespace headroom {

struct CalibratedJob {
  /// The slice of the trace that the job covers; null if it covers the whole trace.
  std::unique_ptr<TraceStore> slice;
  std::unique_ptr<Job> job;
  std::string calibration;  ///< For the user: a sentence with the origin of the calibration.
  /// For the user: damaged or missing parts of the recording that the job leaves out; empty if
  /// there are none.
  std::string note;
  /// kNoAnswer if too much GPU work is missing, so that forecasts must abstain.
  Status forecasts = Status::Ok();
};

/// Returns the job of the steps named in `options`, as if nothing else had been recorded. If none
/// are named, the job covers all steps, or the longest run of complete steps if some are
/// incomplete. If the replay of these steps is off by more than 1 %, the job covers the report's
/// steps instead. Fails as ChooseCalibration(), Job::Make() and Job::CalibrateTo() do.
///
/// @param measured_step_ms  true time of a step without a profiler, if the user knows it
Result<CalibratedJob> MakeCalibratedJob(const TraceStore& store, const ReferenceData& reference,
                                        const AnalysisOptions& options,
                                        const CalibrationFlags& flags,
                                        std::optional<double> measured_step_ms);

}  // namespace headroom
