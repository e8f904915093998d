// /proc/net/dev: traffic of the network interfaces.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "capture/metrics/board/metric_source.h"

namespace headroom {

struct InterfaceLine {
  std::string_view name;                 ///< Part of the text.
  std::uint64_t received = 0, sent = 0;  ///< Bytes since the interface came.
};

/// Fills `interfaces` with every interface of the text.
void ParseNetDev(std::string_view text, std::vector<InterfaceLine>& interfaces);

/// Sums are over the interfaces that are hardware (of a virtual machine, too): what goes through a
/// bond, a bridge or a tunnel goes through one of them as well. Where there is none, as in most
/// containers, they are over all but loopback. Without RDMA: see infiniband.h.
class NetworkSource : public MetricSource {
 public:
  NetworkSource(const std::string& root, MetricBoard& board);
  void Read(SampleRun& run) override;

 private:
  struct Interface {
    bool hardware = false;
    std::uint64_t received = 0, sent = 0;  ///< In the sample before, if `known`.
    bool known = false;
    bool present = false;
    /// Metrics of its own, once it has carried anything.
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
