// Pressure stall information: the share of time in which tasks wait for a CPU, memory or I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/metrics/board/metric_source.h"

namespace headroom {

/// Stall times in microseconds, since boot or since the group's creation.
struct PressureTotals {
  std::optional<std::uint64_t> some;  ///< At least one task waited.
  std::optional<std::uint64_t> full;  ///< All non-idle tasks waited.
};

PressureTotals ParsePressure(std::string_view text);

/// Reads the files cpu, io and memory of a folder. Computes rates from the totals, because the
/// averages in the files cover other windows.
class PressureSource : public MetricSource {
 public:
  /// Reads the host's files: /proc/pressure/cpu.
  static PressureSource OfHost(const std::string& root, MetricBoard& board);
  /// Reads a group's files: FOLDER/cpu.pressure.
  static PressureSource OfCgroup(const std::string& folder, MetricBoard& board);

  void Read(SampleRun& run) override;

 private:
  struct Resource {
    KernelFile file;
    MetricBoard::Id some;
    std::optional<MetricBoard::Id> full;
  };
  PressureSource(const std::string& prefix, const std::string& suffix, MetricScope scope,
                 MetricBoard& board);

  std::vector<Resource> resources_;
};

}  // namespace headroom
