// Choice of a command's calibration: the user's, that of this machine, or the shipped one.
#pragma once

#include <string>

#include "base/status.h"
#include "store/trace_store.h"
#include "whatif/calibration/calibration.h"

namespace headroom {

inline constexpr const char* kCalibrationFile = "calibration.toml";

struct CalibrationFlags {
  std::string path;             ///< --calibration; empty if not given.
  bool no_local_state = false;  ///< --no-local-state.
};

struct ChosenCalibration {
  Calibration calibration;
  /// For the user: "shipped default, ...", or the file and its description. For a trace that is a
  /// forecast, a note that no recording cost was removed.
  std::string from;
};

/// Returns the named file's calibration. Without a name, returns the calibration that `headroom
/// calibrate --host` wrote if the trace's machine has the same GPUs, else the shipped one. Fails if
/// a file cannot be read or is not a calibration.
Result<ChosenCalibration> ChooseCalibration(const CalibrationFlags& flags, const TraceStore& store);

/// Fails as ChooseCalibration() would, before a trace is read.
Status CheckCalibration(const CalibrationFlags& flags);

}  // namespace headroom
