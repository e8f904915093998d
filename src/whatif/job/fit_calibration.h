// A machine's calibration from short training loops that ran with and without the profiler.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/trace_store.h"
#include "whatif/calibration/calibration.h"

namespace headroom {

/// One loop, profiled once more than its times tell.
struct ProfiledLoop {
  const TraceStore* trace = nullptr;  ///< Of `steps` steps, without anything before or after.
  int steps = 1;
  double plain_ms = 0, profiled_ms = 0;  ///< Of a step, medians.
};

/// What the loops tell, in nanoseconds; nullopt: not measured.
struct MeasuredCosts {
  std::optional<double> operator_record, call_record, frame_record;
  std::string machine;
  ReferenceSpeeds loop, autograd;
};

/// @param operators  a loop of host work only: what profiling adds to it, by its records
/// @param calls   the same with API calls, nullptr without a GPU: what is left by its calls
/// @param frames  the first with Python frames, nullptr where they are not recorded
/// @param names  operators whose durations tell how fast a host is
/// Fails (kEnvironment) where what profiling adds does not stand out from noise.
Result<MeasuredCosts> FitRecordingCost(const ProfiledLoop& operators, const ProfiledLoop* calls,
                                       const ProfiledLoop* frames, const ReferenceSpeeds& names);

/// A calibration file that says what was measured and nothing else.
///
/// @param about  where and when
std::string RenderCalibration(const MeasuredCosts& costs, const std::string& about);

}  // namespace headroom
