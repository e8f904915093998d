// Forecasts in a report: the step without the profiler, and what each finding's change would save.
// Both are replayed over a few steps.
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

/// Known slowdown of the job through recording.
struct HostTruth {
  Calibration calibration;
  std::string from;                        ///< For the user: the origin of the calibration.
  std::optional<double> measured_step_ms;  ///< Without a profiler; scales the host to it.
};

/// Fills `engine`, the corrected step and `throughput` of the report. Also fills `saves_ms`,
/// `saves_note` and `scenario` of the findings, and sorts these by savings. If the engine abstains,
/// it states the reason there and keeps the order. Fails with kUsage if the measured step cannot be
/// of this job.
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
