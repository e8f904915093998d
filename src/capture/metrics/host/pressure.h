// Pressure stall information: the share of time that tasks wait for a processor, memory or I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/metrics/board/metric_source.h"

namespace headroom {

/// Microseconds since boot, or since the group was made.
struct PressureTotals {
  std::optional<std::uint64_t> some;  ///< At least one task waited.
  std::optional<std::uint64_t> full;  ///< All tasks that are not idle did.
};

PressureTotals ParsePressure(std::string_view text);

/// The files cpu, io and memory of a folder. Rates come from the totals: the averages in the files
/// are of other windows than ours.
class PressureSource : public MetricSource {
 public:
  /// Of the host: /proc/pressure/cpu.
  static PressureSource OfHost(const std::string& root, MetricBoard& board);
  /// Of a group: FOLDER/cpu.pressure.
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
