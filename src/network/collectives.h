// What collectives take on a topology: latency per message and bytes over the slowest link
// ("alpha-beta"), by algorithm.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "network/topology.h"

namespace headroom {

enum class Collective : std::uint8_t { kAllReduce, kReduceScatter, kAllGather };

/// By the name of a collective or of its kernel, in any case, with underscores or without; nullopt:
/// of two ranks alone, of one root, or not known.
std::optional<Collective> CollectiveNamed(std::string_view name);

enum class Algorithm : std::uint8_t {
  kRing,  ///< Patarasuk and Yuan, JPDC 2009.
  kTree,  ///< Two binary trees over the nodes (Sanders et al., 2009), chains inside.
};

std::string_view Name(Algorithm algorithm);

struct CollectiveTime {
  DurationNs latency;   ///< What does not depend on the bytes.
  DurationNs transfer;  ///< What the bytes take.
  Algorithm algorithm = Algorithm::kRing;

  DurationNs Total() const { return DurationNs(latency.ns() + transfer.ns()); }
};

/// A collective that nothing waits in or competes with.
///
/// Ring: 2 (n - 1) / n of the bytes pass each link (reduce-scatter and all-gather: half), over the
/// slowest of them; 2 (n - 1) messages, of which 2 (nodes - 1) go between nodes, as NCCL's tuning
/// counts (nccl/src/graph/tuning.cc). Tree, all-reduce alone (else as the ring): up and down, twice
/// the bytes at 0.92 of the ring's rate; 2 (p - 1) messages inside and 2 log2(nodes) between. No
/// time for one GPU.
///
/// @param bytes  of the whole tensor, on each rank before an all-reduce or reduce-scatter, and
///               after an all-gather
CollectiveTime TimeOf(Collective collective, Algorithm algorithm, double bytes,
                      const Topology& topology, const Placement& placement);

/// Of ring and tree the one that takes less, as libraries choose.
CollectiveTime FastestTime(Collective collective, double bytes, const Topology& topology,
                           const Placement& placement);

}  // namespace headroom
