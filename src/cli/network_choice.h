// The GPUs and networks that a user asks about: --gpus, --cluster, --bandwidth-gbps and its kin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cluster/topology.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name that the library has.
class App;
}

namespace headroom::cli {

/// A network, and what to call it.
struct NamedNetwork {
  Topology topology;
  std::string description;
  std::optional<double> bandwidth_gbps = {};  ///< Of flags.
};

class NetworkChoice {
 public:
  void AddFlags(CLI::App& app);
  /// Reads the flags and the file of --cluster; fails with what to change.
  Status Load();

  /// REQUIRED of the rest: Load() was fine.
  const std::vector<NamedNetwork>& networks() const { return networks_; }
  Result<std::vector<Placement>> PlacementsOn(const Topology& topology) const;
  /// Whether the user named any network.
  bool is_given() const;
  /// A network that was fitted to the collectives of a recorded job.
  static NamedNetwork AsRecorded(const Topology& topology);

  static std::string ListClusters(const std::vector<Topology>& clusters);

 private:
  /// "8" or "4x2" (machines x GPUs).
  struct Asked {
    std::int64_t gpus = 1;
    std::optional<std::int64_t> nodes = {};
  };
  Status ReadGpus();
  Status LoadCluster();

  CLI::App* app_ = nullptr;
  std::vector<std::string> gpus_ = {"1", "2", "4", "8", "16", "32", "64"};
  std::string cluster_;
  std::vector<double> bandwidths_ = {100};
  double latency_us_ = 14;
  std::int64_t gpus_per_node_ = 1;
  std::vector<Asked> asked_;
  std::vector<NamedNetwork> networks_;
};

}  // namespace headroom::cli
