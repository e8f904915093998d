// Which calibration a command uses: the user's, that of this machine, or the shipped one.
#pragma once

#include <string>

#include "base/status.h"
#include "store/trace_store.h"
#include "whatif/calibration/calibration.h"

namespace headroom {

inline constexpr const char* kCalibrationFile = "calibration.toml";

struct CalibrationFlags {
  std::string path;             ///< --calibration; empty: not given.
  bool no_local_state = false;  ///< --no-local-state.
};

struct ChosenCalibration {
  Calibration calibration;
  /// For the user: "shipped default, ..." or the file and what it says; of a forecast's trace, that
  /// nothing was removed.
  std::string from;
};

/// The named file; else the one that `headroom calibrate --host` wrote, if the trace is of a
/// machine with the same GPUs; else the shipped one. Fails where a file cannot be read or is no
/// calibration.
Result<ChosenCalibration> ChooseCalibration(const CalibrationFlags& flags, const TraceStore& store);

/// Fails as ChooseCalibration() will, before there is a trace.
Status CheckCalibration(const CalibrationFlags& flags);

}  // namespace headroom
