#include "whatif/calibration_choice.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/local_state.h"
#include "base/read_file.h"

namespace headroom {
namespace {

Result<ChosenCalibration> ChooseFor(const CalibrationFlags& flags, const TraceStore& store) {
  Result<Calibration> shipped = Calibration::LoadBuiltIn();
  if (!shipped.ok()) return shipped.status();
  ChosenCalibration chosen{.calibration = shipped.value(), .from = shipped.value().about};
  std::string path = flags.path;
  if (path.empty()) {
    if (flags.no_local_state) return chosen;
    const std::optional<std::string> local = LocalStatePath(kCalibrationFile);
    if (!local) return chosen;
    path = *local;
  }
  Result<std::optional<std::string>> text = ReadFile(path);
  if (!text.ok()) return text.status();
  if (!text.value()) {
    if (flags.path.empty()) return chosen;
    return Status::Usage(
        fmt::format("--calibration {}: no such file; `headroom calibrate --host -o {}` writes one",
                    path, path));
  }
  Result<Calibration> mine =
      Calibration::Parse({.name = path, .content = *text.value()}, shipped.value());
  if (!mine.ok()) return mine.status();
  // What was measured on one machine says nothing of another, unless the user says so.
  if (flags.path.empty() && mine.value().machine != MachineOf(store)) return chosen;
  if (!flags.path.empty()) mine.value().machine = MachineOf(store);
  chosen.calibration = std::move(mine).value();
  chosen.from = fmt::format("{} ({})", path, chosen.calibration.about);
  return chosen;
}

}  // namespace

Result<ChosenCalibration> ChooseCalibration(const CalibrationFlags& flags,
                                            const TraceStore& store) {
  Result<ChosenCalibration> chosen = ChooseFor(flags, store);
  // Its host costs and sustained shares still hold for what a change adds.
  if (chosen.ok() && store.metadata.is_forecast)
    chosen.value().from =
        "none, as the trace is a forecast written by headroom: nothing was removed";
  return chosen;
}

}  // namespace headroom
