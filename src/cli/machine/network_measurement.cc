#include "cli/machine/network_measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/units.h"
#include "cli/machine/python_program.h"
#include "cli/terminal/output.h"
#include "embedded/network_calibration_programs.h"
#include "network/network_fit.h"
#include "render/escape.h"
#include "render/number_format.h"
#include "render/text_page.h"

namespace headroom::cli {
namespace {

Result<std::vector<MeasuredAllReduce>> ReadAllReduces(const std::string& printed) {
  const nlohmann::json said = nlohmann::json::parse(LastLine(printed), nullptr, false);
  std::vector<MeasuredAllReduce> measured;
  if (said.is_object() && said.contains("all_reduces") && said["all_reduces"].is_array()) {
    measured.reserve(said["all_reduces"].size());
    for (const nlohmann::json& one : said["all_reduces"])
      measured.push_back({one.value("bytes", 0.0), one.value("ms", 0.0)});
  }
  if (measured.empty()) return Status::Environment("the all-reduces printed no result");
  return measured;
}

std::string Render(const std::vector<MeasuredAllReduce>& measured, const NetworkFit& fit,
                   const std::string& path) {
  const Charset charset = CharsetOfEnvironment();
  TextPage page(StyleOfPage(""));
  std::vector<std::vector<Span>> rows;
  rows.reserve(measured.size());
  for (const MeasuredAllReduce& one : measured)
    rows.push_back({{FormatBytes(one.bytes)}, {fmt::format("{:.3f} ms", one.ms)}});
  page.Table({{"all-reduce of"}, {"takes"}}, rows);
  page.Blank();
  constexpr double kBitsPerByte = 8, kPercent = 100;
  page.Paragraph(
      "  ", fmt::format("With {:.3g} Gbit/s of payload and {:.3g} us per message, the model is "
                        "within {:.0f} % of these times on average, within {:.0f} % at worst.",
                        kBitsPerByte * fit.link.bytes_per_ns,
                        static_cast<double>(fit.link.latency.ns()) / kNsPerUs,
                        kPercent * fit.mean_error, kPercent * fit.worst_error));
  page.Paragraph("  ", fmt::format("Written to {}: headroom scale TRACE --cluster {}",
                                   Printable(path, charset), Printable(path, charset)));
  return std::move(page).Take();
}

}  // namespace

Status MeasureNetwork(const NetworkMeasurement& measurement) {
  const bool writes = measurement.rank == 0;
  if (writes) {
    // Checks that the file can be written before measuring.
    if (const Result<AtomicFile> place = AtomicFile::Write(measurement.path, ""); !place.ok())
      return place.status();
  }
  const Result<TemporaryFolder> folder = TemporaryFolder::Make();
  if (!folder.ok()) return folder.status();
  const Result<std::string> printed =
      RunPythonProgram(measurement.python, NetworkCalibrationPrograms().front(),
                       {measurement.master, fmt::format("{}", measurement.rank),
                        fmt::format("{}", measurement.world), measurement.backend,
                        fmt::format("{}", measurement.seconds)},
                       folder.value().path(), "measure the network");
  if (!printed.ok()) return printed.status();
  if (!writes) return Status::Ok();
  const Result<std::vector<MeasuredAllReduce>> measured = ReadAllReduces(printed.value());
  if (!measured.ok()) return measured.status();
  const Result<NetworkFit> fit = FitNetwork(measured.value(), measurement.world);
  if (!fit.ok()) return fit.status();
  const std::string source =
      fmt::format("headroom calibrate --network: all-reduces of {} between {} machines",
                  measurement.backend, measurement.world);
  Result<AtomicFile> file =
      AtomicFile::Write(measurement.path, RenderCluster("measured", fit.value(), source));
  if (!file.ok()) return file.status();
  if (Status status = file.value().Commit(); !status.ok()) return status;
  return WriteResult(Render(measured.value(), fit.value(), measurement.path), "");
}

}  // namespace headroom::cli
