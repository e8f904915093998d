// The machines of a job and the links between their GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/named_text.h"
#include "base/status.h"
#include "base/time.h"

namespace headroom {

/// Latency per message in NCCL's protocol LL128 for small tensors, which sends flags with the data.
struct Ll128 {
  DurationNs ring, tree;
};

/// A link between the members of a group.
struct Link {
  double bytes_per_ns = 1;          ///< Per direction, for collectives: line rate times efficiency.
  DurationNs latency{};             ///< Latency of a ring's message from one member to the next.
  DurationNs start{};               ///< Time of a ring regardless of its messages.
  std::optional<Ll128> ll128 = {};  ///< Absent if NCCL does not use it on this link.
  /// Bounds of the rate, as factors on `bytes_per_ns`, if the transport's efficiency is a range.
  double slowest = 1, fastest = 1;
};

/// Identical machines ("nodes").
struct Topology {
  std::string name;  ///< As `--cluster` accepts it; empty: set by flags.
  std::string description;
  std::int64_t gpus_per_node = 1;
  Link inside;   ///< From each GPU to the others of its node.
  Link between;  ///< From a node to the others: all its adapters together.
  /// Nodes behind one switch; a larger group shares the switch's uplink. nullopt: no such limit.
  std::optional<std::int64_t> nodes_of_switch;
  double oversubscription = 1;  ///< Total rate of a switch's nodes divided by its uplink's rate.
  std::optional<std::int64_t> nodes_at_most;  ///< nullopt: no limit.

  /// Returns the link between this many nodes.
  Link BetweenNodes(std::int64_t nodes) const;
};

/// Share of an Ethernet link's rate that TCP gives a program: a full frame (MTU 1500) takes 1538
/// bytes on the wire, of which 1448 are payload.
inline constexpr double kEthernetShare = 1448.0 / 1538;

/// A topology from flags: nodes of `gpus_per_node`, over Ethernet of `gbps` Gbit/s each way.
Topology FlatTopology(double gbps, DurationNs latency, std::int64_t gpus_per_node);

/// Returns the topology with zero latency, or with zero transfer time.
Topology WithoutLatency(Topology topology);
Topology WithoutLimit(Topology topology);
/// Returns the topology with the links at a bound of their ranges; nullopt if no link has a range.
std::optional<Topology> AtSlowest(Topology topology);
std::optional<Topology> AtFastest(Topology topology);

/// Distribution of a job's GPUs over nodes.
struct Placement {
  std::int64_t gpus = 1;
  std::int64_t nodes = 1;

  /// GPUs on the fullest node.
  std::int64_t PerNode() const { return (gpus + nodes - 1) / nodes; }
};

/// Uses as few nodes as possible. Fails (kUsage) if the topology has fewer.
Result<Placement> PlaceGpus(const Topology& topology, std::int64_t gpus);

/// Reads a cluster file (docs/clusters.md). BadInput names the file, the line and the remedy.
Result<Topology> ReadTopology(const NamedText& file);

/// Loads the topologies built into the program, by name. A failure is a defect of the build.
Result<std::vector<Topology>> LoadBuiltInTopologies();

}  // namespace headroom
