// The machines of a job and what connects their GPUs.
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

/// What connects members of a group with each other.
struct Link {
  double bytes_per_ns = 1;  ///< Each way, as a collective gets it: the rate times its efficiency.
  DurationNs latency{};     ///< Of a message of a ring, from one member to the next.
};

/// Machines ("nodes") that are all alike.
struct Topology {
  std::string name;  ///< As `--cluster` takes it; empty: of flags.
  std::string description;
  std::int64_t gpus_per_node = 1;
  Link inside;   ///< Of each GPU to the others of its node.
  Link between;  ///< Of a node to the others: all its adapters together.
  /// Behind one switch; beyond them, nodes share what leaves it. nullopt: no switch is in the way.
  std::optional<std::int64_t> nodes_of_switch;
  double oversubscription = 1;                ///< Rate into a switch over the rate out of it.
  std::optional<std::int64_t> nodes_at_most;  ///< nullopt: as many as one likes.

  /// Between so many nodes.
  Link BetweenNodes(std::int64_t nodes) const;
};

/// Of the rate of a link, TCP over Ethernet gives a program this: of the 1538 bytes that a frame of
/// 1500 takes on the wire, 1448 are its own.
inline constexpr double kEthernetShare = 1448.0 / 1538;

/// A topology of flags: nodes of `gpus_per_node`, over Ethernet of `gbps` Gbit/s each way.
Topology FlatTopology(double gbps, DurationNs latency, std::int64_t gpus_per_node);

/// The same with messages, or with bytes, that take no time.
Topology WithoutLatency(Topology topology);
Topology WithoutLimit(Topology topology);

/// Where the GPUs of a job are.
struct Placement {
  std::int64_t gpus = 1;
  std::int64_t nodes = 1;

  /// On the fullest node.
  std::int64_t PerNode() const { return (gpus + nodes - 1) / nodes; }
};

/// As few nodes as hold them. Fails (kUsage) where the topology has fewer.
Result<Placement> PlaceGpus(const Topology& topology, std::int64_t gpus);

/// Reads a cluster file (docs/clusters.md). BadInput names the file, the line and the remedy.
Result<Topology> ReadTopology(const NamedText& file);

/// Those built into the program, by name; a failure is a defect of the build.
Result<std::vector<Topology>> LoadBuiltInTopologies();

}  // namespace headroom
