// RAPL: energy of CPU packages and their memory, from /sys/class/powercap.
#pragma once

#include <vector>

#include "capture/metrics/board/metric_source.h"

namespace headroom {

/// One instance per zone: "package-0", "package-0 dram". Most systems let only root read the
/// counters. Few virtual machines have them.
class RaplSource : public MetricSource {
 public:
  RaplSource(const std::string& root, MetricBoard& board);
  void Read(SampleRun& run) override;

 private:
  struct Zone {
    KernelFile energy;
    MetricBoard::Id power;
  };
  std::vector<Zone> zones_;
};

}  // namespace headroom
