#include "capture/metrics/host/pressure.h"

#include <fmt/format.h>
#include <unistd.h>

#include "capture/metrics/board/fields.h"

namespace headroom {

PressureTotals ParsePressure(std::string_view text) {
  PressureTotals totals;
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    Fields fields(line);
    const std::string_view kind = fields.Next();
    for (std::string_view word = fields.Next(); !word.empty(); word = fields.Next()) {
      constexpr std::string_view kTotal = "total=";
      if (!word.starts_with(kTotal)) continue;
      const std::optional<std::uint64_t> total = ParseNumber(word.substr(kTotal.size()));
      if (kind == "some") totals.some = total;
      if (kind == "full") totals.full = total;
    }
  }
  return totals;
}

PressureSource::PressureSource(const std::string& prefix, const std::string& suffix,
                               MetricScope scope, MetricBoard& board) {
  for (const std::string resource : {"cpu", "io", "memory"}) {
    const std::string path = fmt::format("{}{}{}", prefix, resource, suffix);
    if (access(path.c_str(), R_OK) != 0) continue;
    const auto add = [&](const std::string& kind, const std::string& state) {
      const std::string group = scope == MetricScope::kCgroup ? "cgroup_" : "";
      constexpr double kMicrosecond = 1e-6;
      return board.AddRate(
          {.name = fmt::format("{}{}_pressure_{}_pct", group, resource, kind),
           .unit = "%",
           .scope = scope,
           .counter = fmt::format("{}pressure_{}_{}_seconds", group, resource, state)},
          {.rate_scale = 100 * kMicrosecond, .total_scale = kMicrosecond});
    };
    Resource added{KernelFile(path), add("some", "waiting"), std::nullopt};
    // "full" CPU pressure is defined for groups only; for the host it is always 0.
    if (resource != "cpu") added.full = add("full", "stalled");
    resources_.push_back(std::move(added));
  }
}

PressureSource PressureSource::OfHost(const std::string& root, MetricBoard& board) {
  return {root + "/proc/pressure/", "", MetricScope::kHost, board};
}

PressureSource PressureSource::OfCgroup(const std::string& folder, MetricBoard& board) {
  return {folder + "/", ".pressure", MetricScope::kCgroup, board};
}

void PressureSource::Read(SampleRun& run) {
  // Reads rarely, because a read makes the kernel sum the counters of all cores.
  if (!run.slow) return;
  for (Resource& resource : resources_) {
    const std::optional<KernelFile::Text> read = resource.file.Read(run.buffer);
    if (!read) continue;
    const PressureTotals totals = ParsePressure(read->text);
    run.board.Count(resource.some, read->at, totals.some);
    if (resource.full) run.board.Count(*resource.full, read->at, totals.full);
  }
}

}  // namespace headroom
