#include "capture/metrics/host/rapl.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string>

#include "capture/metrics/board/fields.h"
#include "capture/metrics/board/folder.h"

namespace headroom {
namespace {

/// Returns the first word of a small file; empty if it cannot be read.
std::string FirstWord(const std::string& path, ReadBuffer& buffer) {
  KernelFile file(path);
  const std::optional<KernelFile::Text> read = file.Read(buffer);
  return read ? std::string(Fields(read->text).Next()) : std::string();
}

}  // namespace

RaplSource::RaplSource(const std::string& root, MetricBoard& board) {
  ReadBuffer buffer;
  const std::string folder = root + "/sys/class/powercap/";
  for (const std::string& entry : FolderEntries(folder)) {
    // "intel-rapl:0" is a package and "intel-rapl:0:1" a zone inside it. AMD has the same names.
    // Entries of intel-rapl-mmio count the same energy again.
    if (!entry.starts_with("intel-rapl:")) continue;
    const std::string zone = folder + entry;
    if (access((zone + "/energy_uj").c_str(), R_OK) != 0) continue;
    std::string name = FirstWord(zone + "/name", buffer);
    const std::size_t inner = entry.find(':', entry.find(':') + 1);
    if (inner != std::string::npos)
      name = fmt::format(
          "{} {}", FirstWord(fmt::format("{}{}/name", folder, entry.substr(0, inner)), buffer),
          name);
    const auto range = ParseNumber(FirstWord(zone + "/max_energy_range_uj", buffer));
    constexpr double kMicrojoule = 1e-6;
    zones_.push_back(
        {KernelFile(zone + "/energy_uj"), board.AddRate({.name = "cpu_power_w",
                                                         .unit = "W",
                                                         .scope = MetricScope::kDevice,
                                                         .instance = name,
                                                         .counter = "cpu_energy_joules"},
                                                        {.rate_scale = kMicrojoule,
                                                         .total_scale = kMicrojoule,
                                                         .wraps_at = range.value_or(0)})});
  }
}

void RaplSource::Read(SampleRun& run) {
  for (Zone& zone : zones_) {
    const std::optional<KernelFile::Text> read = zone.energy.Read(run.buffer);
    if (!read) continue;
    Fields fields(read->text);
    run.board.Count(zone.power, read->at, fields.NextNumber());
  }
}

}  // namespace headroom
