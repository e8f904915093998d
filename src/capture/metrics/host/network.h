// Reads the traffic of network interfaces from /proc/net/dev.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "capture/metrics/board/metric_source.h"

namespace headroom {

struct InterfaceLine {
  std::string_view name;                 ///< Points into the parsed string.
  std::uint64_t received = 0, sent = 0;  ///< Bytes since the interface appeared.
};

/// Fills `interfaces` with every interface in `text`.
void ParseNetDev(std::string_view text, std::vector<InterfaceLine>& interfaces);

/// Sums cover the hardware interfaces (including virtual machines' interfaces). Excludes bonds,
/// bridges and tunnels, whose traffic also passes through a hardware interface. Without any
/// hardware interface, as in most containers, sums cover all but loopback. RDMA is not included:
/// see infiniband.h.
class NetworkSource : public MetricSource {
 public:
  NetworkSource(const std::string& root, MetricBoard& board);
  void Read(SampleRun& run) override;

 private:
  struct Interface {
    bool hardware = false;
    std::uint64_t received = 0, sent = 0;  ///< Values in the previous sample, if `known`.
    bool known = false;
    bool present = false;
    /// Separate metrics, set once the interface has carried traffic.
    std::optional<MetricBoard::Id> received_id, sent_id;
  };

  std::string root_;
  KernelFile file_;
  std::vector<InterfaceLine> lines_;
  std::map<std::string, Interface, std::less<>> interfaces_;
  CounterSum received_, sent_;
  MetricBoard::Id sent_id_, received_id_;
};

}  // namespace headroom
