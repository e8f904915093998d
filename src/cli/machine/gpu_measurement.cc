#include "cli/machine/gpu_measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/names/reference_data.h"
#include "base/atomic_file.h"
#include "cli/machine/python_program.h"
#include "cli/terminal/output.h"
#include "embedded/gpu_calibration_programs.h"
#include "kernels/device_rates.h"
#include "predict/csv_table.h"
#include "predict/gpu_calibration.h"
#include "predict/kernel_table.h"
#include "render/escape.h"
#include "render/text_page.h"

namespace headroom::cli {
namespace {

/// Measured operators of one kind and type.
struct Measured {
  int operators = 0;
  std::vector<double> log_errors;  ///< ln(measured / modelled time); empty for an unknown GPU.
};

std::string Render(const std::map<std::pair<std::string, DType>, Measured>& kinds,
                   const std::string& device, const DeviceSpec* spec, const std::string& path) {
  const Charset charset = CharsetOfEnvironment();
  TextPage page(StyleOfPage(""));
  std::vector<std::vector<Span>> rows;
  for (const auto& [kind, measured] : kinds) {
    std::vector<double> errors = measured.log_errors;
    std::string median = "-";
    if (!errors.empty()) {
      const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
      std::nth_element(errors.begin(), middle, errors.end());
      median = fmt::format("{:.2f}", std::exp(*middle));
    }
    rows.push_back({{kind.first},
                    {std::string(Name(kind.second))},
                    {fmt::format("{}", measured.operators)},
                    {median}});
  }
  page.Table({{"operator", TextColumn::Kind::kText},
              {"type", TextColumn::Kind::kText},
              {"measured"},
              {"measured / model time, median"}},
             rows);
  page.Blank();
  const std::string name = spec != nullptr ? spec->short_name : "NAME";
  page.Paragraph(
      "  ",
      fmt::format(
          "Written to {}: {}. To use it: headroom predict TRACE --gpu {} "
          "--gpu-calibration {}{}",
          Printable(path, charset), Printable(device, charset), name, Printable(path, charset),
          spec != nullptr
              ? ""
              : " --gpu-file FILE: Headroom has no data sheet of this GPU (docs/devices.md)"));
  return std::move(page).Take();
}

}  // namespace

Status MeasureGpu(const std::string& python, double seconds, const std::string& path) {
  // Checks that the file can be written before measuring for a minute.
  if (const Result<AtomicFile> place = AtomicFile::Write(path, ""); !place.ok())
    return place.status();
  const Result<TemporaryFolder> folder = TemporaryFolder::Make();
  if (!folder.ok()) return folder.status();
  const std::string measured = folder.value().path() + "/operators.csv";
  const Result<std::string> said = RunPythonProgram(python, GpuCalibrationPrograms().front(),
                                                    {measured, fmt::format("{}", seconds)},
                                                    folder.value().path(), "measure the GPU");
  if (!said.ok()) return said.status();
  const auto no_table = [&](const Status& why) {
    return Status::Environment(
        fmt::format("{} wrote no table of operators: {}", python, why.message()));
  };
  Result<std::string> text = ReadWholeText(measured);
  if (!text.ok()) return no_table(text.status());
  const Result<CsvTable> table = ParseCsv(text.value(), "its table");
  if (!table.ok()) return no_table(table.status());
  if (table.value().Column("device") && table.value().rows.empty()) {
    return Status::Usage(
        fmt::format("no operator was measured in {:g} s; give more time with --seconds", seconds));
  }
  const Result<std::vector<std::string>> devices = DevicesOf(table.value());
  if (!devices.ok()) return no_table(devices.status());
  const std::string& device = devices.value().front();
  const Result<std::vector<MeasuredOperator>> operators =
      ReadMeasuredOperators(table.value(), [&](const std::string& name) { return name == device; });
  if (!operators.ok()) return no_table(operators.status());
  const Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
  if (!reference.ok()) return reference.status();
  const Result<KernelConstants> constants = KernelConstants::LoadBuiltIn();
  if (!constants.ok()) return constants.status();
  const DeviceCatalog& catalog = reference.value()->devices();
  const DeviceSpec* spec = catalog.Find(device);
  std::optional<DeviceRates> rates;
  if (spec != nullptr) {
    Result<DeviceRates> found = RatesOf(*spec, catalog, constants.value());
    if (found.ok()) rates = std::move(found).value();
  }
  if (rates) {
    const Status usable = ReadCorrection(table.value(), device, *rates, constants.value()).status();
    if (!usable.ok()) {
      return Status::Usage(
          fmt::format("the operators that ran in {:g} s are too short, too few or unreliable ({}); "
                      "keep the GPU otherwise idle, and give more time with --seconds",
                      seconds, usable.message()));
    }
  }
  std::map<std::pair<std::string, DType>, Measured> kinds;
  std::vector<std::optional<TimedKernel>> kernels(operators.value().size());
  if (rates) kernels = TimedKernels(operators.value(), *rates, constants.value());
  for (std::size_t i = 0; i < operators.value().size(); ++i) {
    const MeasuredOperator& op = operators.value()[i];
    if (!op.on_source) continue;
    Measured& kind = kinds[{op.op, op.work.dtype}];
    ++kind.operators;
    if (kernels[i]) kind.log_errors.push_back(std::log(kernels[i]->times));
  }
  Result<AtomicFile> file = AtomicFile::Write(path, std::move(text).value());
  if (!file.ok()) return file.status();
  if (Status status = file.value().Commit(); !status.ok()) return status;
  return WriteResult(Render(kinds, device, spec, path), "");
}

}  // namespace headroom::cli
