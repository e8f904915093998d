// The GPUs and networks that a user asks about: --gpus, --cluster, --bandwidth-gbps and its kin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "network/topology.h"

namespace headroom {

/// A network, and what to call it.
struct NamedNetwork {
  Topology topology;
  std::string description;
  std::optional<double> bandwidth_gbps = {};  ///< Of flags.
};

/// What is asked for, as the flags of the same names of `headroom scale` say it; what is empty was
/// not given.
struct NetworkQuestion {
  std::vector<std::string> gpus = {"1", "2", "4", "8", "16", "32", "64"};
  std::string cluster = {};  ///< A name, or a path.
  std::vector<double> bandwidths_gbps = {};
  std::optional<double> latency_us = {};
  std::optional<std::int64_t> gpus_per_node = {};

  /// Whether any network is named.
  bool names_network() const {
    return !cluster.empty() || !bandwidths_gbps.empty() || latency_us || gpus_per_node;
  }
};

class NetworkChoice {
 public:
  /// Reads the question, and the file of its cluster; fails with what to change, also where a
  /// network has no room for the GPUs.
  static Result<NetworkChoice> Make(NetworkQuestion question);

  const std::vector<NamedNetwork>& networks() const { return networks_; }
  Result<std::vector<Placement>> PlacementsOn(const Topology& topology) const;
  /// Whether the user named any network.
  bool is_given() const { return question_.names_network(); }
  /// A network that was fitted to the collectives of a recorded job.
  static NamedNetwork AsRecorded(const Topology& topology);

  static std::string ListClusters(const std::vector<Topology>& clusters);

 private:
  /// "8" or "4x2" (machines x GPUs).
  struct Asked {
    std::int64_t gpus = 1;
    std::optional<std::int64_t> nodes = {};
  };
  explicit NetworkChoice(NetworkQuestion question) : question_(std::move(question)) {}
  Status ReadGpus();
  Status LoadCluster();
  Status LoadNetworks();

  NetworkQuestion question_;
  std::vector<Asked> asked_;
  std::vector<NamedNetwork> networks_;
};

}  // namespace headroom
