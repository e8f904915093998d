// The GPUs and networks of the question: --gpus, --cluster, --bandwidth-gbps and related flags.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "network/topology.h"

namespace headroom {

/// A network with its description.
struct NamedNetwork {
  Topology topology;
  std::string description;
  std::optional<double> bandwidth_gbps = {};  ///< Set if flags describe the network.
};

/// The question, with the names of the flags of `headroom scale`. Empty means not given.
struct NetworkQuestion {
  std::vector<std::string> gpus = {"1", "2", "4", "8", "16", "32", "64"};
  std::string cluster = {};  ///< Name of a known cluster, or path of a cluster file.
  std::vector<double> bandwidths_gbps = {};
  std::optional<double> latency_us = {};
  std::optional<std::int64_t> gpus_per_node = {};

  /// Returns true if any network is named.
  bool names_network() const {
    return !cluster.empty() || !bandwidths_gbps.empty() || latency_us || gpus_per_node;
  }
};

class NetworkChoice {
 public:
  /// Reads the question and its cluster file. Fails if the file is unreadable, a value is invalid,
  /// or a network has too few GPUs.
  static Result<NetworkChoice> Make(NetworkQuestion question);

  const std::vector<NamedNetwork>& networks() const { return networks_; }
  Result<std::vector<Placement>> PlacementsOn(const Topology& topology) const;
  /// Returns true if the user named a network.
  bool is_given() const { return question_.names_network(); }
  /// Returns `topology`, which was fitted to the collectives of a recorded job, with its
  /// description.
  static NamedNetwork AsRecorded(const Topology& topology);

  static std::string ListClusters(const std::vector<Topology>& clusters);

 private:
  /// Parsed "8" or "4x2" (machines x GPUs).
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
