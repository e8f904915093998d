// Fits a machine's calibration to short training loops that ran with and without the profiler.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/trace_store.h"
#include "whatif/calibration/calibration.h"

namespace headroom {

/// One loop, with an additional profiled run for its trace.
struct ProfiledLoop {
  const TraceStore* trace = nullptr;  ///< Contains exactly `steps` steps.
  int steps = 1;
  double plain_ms = 0, profiled_ms = 0;  ///< Median times per step.
};

/// Results of the loops, in nanoseconds; nullopt if not measured.
struct MeasuredCosts {
  std::optional<double> operator_record, call_record, frame_record;
  std::string machine;
  ReferenceSpeeds loop, autograd;
};

/// Returns the costs per record: the time that profiling adds, divided by the number of records.
/// Fails with kEnvironment if the added time is within the noise.
///
/// @param operators  a loop of host work only; gives the cost per operator
/// @param calls  the same loop with API calls; nullptr without a GPU; its remaining time gives the
/// cost per call
/// @param frames  the loop of `operators` with Python frames recorded; nullptr if they are not
/// recorded
/// @param names  operators whose durations measure the host's speed
Result<MeasuredCosts> FitRecordingCost(const ProfiledLoop& operators, const ProfiledLoop* calls,
                                       const ProfiledLoop* frames, const ReferenceSpeeds& names);

/// Returns a calibration file with only the measured values.
///
/// @param about  place and time of the measurement
std::string RenderCalibration(const MeasuredCosts& costs, const std::string& about);

}  // namespace headroom
