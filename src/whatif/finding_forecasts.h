// Forecasts in a report: the step without the profiler, and what each finding's change would save.
// Replays the longest run of complete steps, or only a few steps if that run holds too many events.
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

/// Calibration of the host's time, and the measured step if the user gave one.
struct HostTruth {
  Calibration calibration;
  std::string from;  ///< For the user: the origin of the calibration.
  /// Step without a profiler, to which the host's time is scaled; nullopt if not given.
  std::optional<double> measured_step_ms;
};

/// Fills `engine`, the corrected step and `throughput` of the report. Also fills `saves_ms`,
/// `saves_note` and `scenario` of the findings, and sorts these by savings. If the engine abstains,
/// it states the reason in `engine` and keeps the findings' order. Fails with kUsage if this job
/// cannot have the measured step time.
///
/// @param report  analysis of `store`, to which the forecasts are added
Status ForecastFindings(const TraceStore& store, const ReferenceData& reference,
                        const HostTruth& truth, TraceReport& report);

/// The same with the calibration that the flags choose. Fails as ChooseCalibration() does.
///
/// @param measured_step_ms  HostTruth::measured_step_ms
Status ForecastFindings(const TraceStore& store, const ReferenceData& reference,
                        const CalibrationFlags& calibration, std::optional<double> measured_step_ms,
                        TraceReport& report);

}  // namespace headroom
