// Reads the RDMA traffic from /sys/class/infiniband. The counters of network interfaces exclude it.
#pragma once

#include <vector>

#include "capture/metrics/board/metric_source.h"

namespace headroom {

/// One instance per port: "mlx5_0:1".
class InfinibandSource : public MetricSource {
 public:
  InfinibandSource(const std::string& root, MetricBoard& board);
  void Read(SampleRun& run) override;

 private:
  struct Counter {
    KernelFile file;
    MetricBoard::Id id;
  };
  std::vector<Counter> counters_;
};

}  // namespace headroom
