#include "whatif/calibration/calibration_choice.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "base/local_state.h"
#include "base/read_file.h"
#include "store/trace_formats.h"

namespace headroom {
namespace {

/// Returns the user's calibration or that of this machine, and sets `path` to the file's path.
/// Returns nullopt if neither exists.
Result<std::optional<Calibration>> ReadOwn(const CalibrationFlags& flags,
                                           const Calibration& shipped, std::string& path) {
  path = flags.path;
  if (path.empty()) {
    if (flags.no_local_state) return std::optional<Calibration>();
    const std::optional<std::string> local = LocalStatePath(kCalibrationFile);
    if (!local) return std::optional<Calibration>();
    path = *local;
  }
  Result<std::optional<std::string>> text =
      flags.path.empty() ? ReadLocalState(path) : ReadFile(path);
  if (!text.ok()) return text.status();
  if (!text.value()) {
    if (flags.path.empty()) return std::optional<Calibration>();
    return Status::Usage(
        fmt::format("--calibration {}: no such file; `headroom calibrate --host -o {}` writes one",
                    path, path));
  }
  Result<Calibration> own = Calibration::Parse({.name = path, .content = *text.value()}, shipped);
  if (!own.ok()) return own.status();
  return std::optional<Calibration>(std::move(own).value());
}

Result<ChosenCalibration> ChooseFor(const CalibrationFlags& flags, const TraceStore& store) {
  Result<Calibration> shipped = Calibration::LoadBuiltIn();
  if (!shipped.ok()) return shipped.status();
  ChosenCalibration chosen{.calibration = shipped.value(), .from = shipped.value().about};
  std::string path;
  Result<std::optional<Calibration>> own = ReadOwn(flags, shipped.value(), path);
  if (!own.ok()) return own.status();
  if (!own.value()) return chosen;
  Calibration& mine = *own.value();
  // Measurements of one machine do not apply to another, unless the user names the file.
  if (flags.path.empty() && mine.machine != MachineOf(store)) return chosen;
  if (!flags.path.empty()) mine.machine = MachineOf(store);
  chosen.calibration = std::move(mine);
  chosen.from = fmt::format("{} ({})", path, chosen.calibration.about);
  return chosen;
}

}  // namespace

Status CheckCalibration(const CalibrationFlags& flags) {
  const Result<Calibration> shipped = Calibration::LoadBuiltIn();
  if (!shipped.ok()) return shipped.status();
  std::string path;
  return ReadOwn(flags, shipped.value(), path).status();
}

Result<ChosenCalibration> ChooseCalibration(const CalibrationFlags& flags,
                                            const TraceStore& store) {
  Result<ChosenCalibration> chosen = ChooseFor(flags, store);
  if (!chosen.ok()) return chosen;
  const std::string& format = store.metadata.recorded_as();
  if (store.metadata.is_forecast) {
    // The calibration's host costs and sustained shares still apply to work that a change adds.
    chosen.value().from =
        "none, because the trace is a forecast written by headroom: no recording cost was removed";
  } else if (format != kKinetoFormat && format != kPerfettoFormat) {
    chosen.value().from +=
        "; the recording cost of this format was not measured, and is assumed to be that of "
        "PyTorch's profiler";
  }
  return chosen;
}

}  // namespace headroom
