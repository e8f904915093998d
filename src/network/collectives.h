// Time of collectives on a topology: latency per message and bytes over the slowest link
// ("alpha-beta"), by algorithm.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "network/topology.h"

namespace headroom {

enum class Collective : std::uint8_t { kAllReduce, kReduceScatter, kAllGather };

/// Finds a collective by its name or its kernel's name, in any case, with or without underscores.
/// Returns nullopt if the name is unknown, or if not all ranks exchange data (point-to-point, or
/// with one root).
std::optional<Collective> CollectiveNamed(std::string_view name);

enum class Algorithm : std::uint8_t {
  kRing,  ///< Patarasuk and Yuan, JPDC 2009.
  kTree,  ///< Two binary trees over the nodes (Sanders et al., 2009), chains inside.
};

std::string_view Name(Algorithm algorithm);

struct CollectiveTime {
  DurationNs latency;   ///< Part that does not depend on the bytes.
  DurationNs transfer;  ///< Part that depends on the bytes.
  Algorithm algorithm = Algorithm::kRing;

  DurationNs Total() const { return DurationNs(latency.ns() + transfer.ns()); }
};

/// Returns the time of a collective without waits or competing traffic.
///
/// Ring: 2 (n - 1) / n of the bytes pass each link (half for reduce-scatter and all-gather); the
/// slowest link counts. It sends 2 (n - 1) messages, of which 2 (nodes - 1) go between nodes, as in
/// NCCL's tuning (nccl/src/graph/tuning.cc).
///
/// Tree, for all-reduce only (other collectives use the ring): up and down, twice the bytes at 0.92
/// of the ring's rate. With p GPUs per node, it sends 2 (p - 1) messages inside nodes and 2
/// log2(nodes) between them.
///
/// Returns zero for one GPU.
///
/// @param bytes  size of the whole tensor: on each rank before an all-reduce or reduce-scatter,
/// and after an all-gather
CollectiveTime TimeOf(Collective collective, Algorithm algorithm, double bytes,
                      const Topology& topology, const Placement& placement);

/// Returns the time of the fastest algorithm and protocol. Libraries choose in the same way. Small
/// tensors use NCCL's protocol LL128 (Link::ll128), which has less latency and a lower rate. NCCL's
/// LL is left out: measured collectives are slower than its figures (docs/scale.md).
CollectiveTime FastestTime(Collective collective, double bytes, const Topology& topology,
                           const Placement& placement);

}  // namespace headroom
