// The engine's part of a report: the step without the profiler, and what each finding's change
// would save, replayed over a few steps.
#pragma once

#include <optional>
#include <string>

#include "analysis/names/reference_data.h"
#include "analysis/values/report.h"
#include "base/status.h"
#include "store/trace_store.h"
#include "whatif/calibration/calibration.h"
#include "whatif/calibration/calibration_choice.h"

namespace headroom {

/// How much the recording slowed the job down, as far as is known.
struct HostTruth {
  Calibration calibration;
  std::string from;                        ///< For the user.
  std::optional<double> measured_step_ms;  ///< Without a profiler; scales the host to it.
};

/// Fills what the engine knows of a report: `engine`, the corrected step, `throughput`, and
/// `saves_ms`, `saves_note` and `scenario` of the findings, which are then ordered by what they
/// save. Where it abstains, it says why there, and the order stays. Fails (kUsage) where the
/// measured step is not of this job.
///
/// @param report  of `store`
Status ForecastFindings(const TraceStore& store, const ReferenceData& reference,
                        const HostTruth& truth, TraceReport& report);

/// The same with the calibration that the flags choose. Fails as ChooseCalibration() does.
///
/// @param measured_step_ms  HostTruth::measured_step_ms
Status ForecastFindings(const TraceStore& store, const ReferenceData& reference,
                        const CalibrationFlags& calibration, std::optional<double> measured_step_ms,
                        TraceReport& report);

}  // namespace headroom
