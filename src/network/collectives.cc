#include "network/collectives.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/text.h"

namespace headroom {
namespace {

/// Rate of a tree, as a share of the ring's rate (NCCL 2.20, nccl/src/graph/tuning.cc).
constexpr double kTreeRate = 0.92;

/// Limits times to about thirty years, far above any real time.
DurationNs Clamped(double ns) {
  constexpr double kMax = 1e18;
  return DurationNs(std::llround(std::clamp(ns, 0.0, kMax)));
}

DurationNs TransferTime(double bytes, double bytes_per_ns) { return Clamped(bytes / bytes_per_ns); }

DurationNs Latency(double inside_messages, double between_messages, const Link& inside,
                   const Link& between) {
  const auto of = [](double messages, const Link& link) {
    return messages > 0 ? messages * static_cast<double>(link.latency.ns()) : 0;
  };
  return Clamped(of(inside_messages, inside) + of(between_messages, between));
}

/// Number of times that a link carries its share of the bytes.
double Passes(Collective collective) { return collective == Collective::kAllReduce ? 2 : 1; }

struct Members {
  double all, nodes, per_node;
  Link inside, between;

  /// Rate of the slowest link that all bytes pass, in bytes per ns.
  double Rate() const {
    if (nodes <= 1) return inside.bytes_per_ns;
    return per_node <= 1 ? between.bytes_per_ns
                         : std::min(inside.bytes_per_ns, between.bytes_per_ns);
  }
};

/// Time until the first message in LL128 (NCCL 2.20, `baseLat` in nccl/src/graph/tuning.cc).
constexpr DurationNs kLl128Start{14'000};

/// Returns the members' links in NCCL's protocol LL128; nullopt if a link does not support it. The
/// rates are those of ncclTopoTuneModel() in nccl/src/graph/tuning.cc (NCCL 2.20).
std::optional<Members> InLl128(Algorithm algorithm, Members members) {
  const bool one_node = members.nodes <= 1, ring = algorithm == Algorithm::kRing;
  const double of_ring = !one_node && members.per_node < 2 ? 0.7 : 0.92;
  const double of_tree = one_node ? 7.0 / 9 : 120.0 / 128;
  for (Link* link : {&members.inside, &members.between}) {
    const bool used = link == &members.inside ? members.per_node > 1 : members.nodes > 1;
    if (!used) continue;
    if (!link->ll128) return std::nullopt;
    link->latency = ring ? link->ll128->ring : link->ll128->tree;
    link->start = kLl128Start;
    link->bytes_per_ns *= ring ? of_ring : of_tree;
  }
  return members;
}

CollectiveTime Ring(Collective collective, double bytes, const Members& members) {
  const double passes = Passes(collective);
  return {
      .latency = Latency(passes * (members.all - members.nodes), passes * (members.nodes - 1),
                         members.inside, members.between) +
                 (members.nodes > 1 ? members.between : members.inside).start,
      .transfer = TransferTime(passes * (members.all - 1) / members.all * bytes, members.Rate()),
      .algorithm = Algorithm::kRing};
}

CollectiveTime Tree(double bytes, const Members& members) {
  return {.latency = Latency(2 * (members.per_node - 1), 2 * std::log2(members.nodes),
                             members.inside, members.between),
          .transfer = TransferTime(2 * bytes, kTreeRate * members.Rate()),
          .algorithm = Algorithm::kTree};
}

CollectiveTime TimeOver(Collective collective, Algorithm algorithm, double bytes,
                        const Members& members) {
  if (algorithm == Algorithm::kTree && collective == Collective::kAllReduce)
    return Tree(bytes, members);
  return Ring(collective, bytes, members);
}

Members MembersOf(const Topology& topology, const Placement& placement) {
  return {.all = static_cast<double>(placement.gpus),
          .nodes = static_cast<double>(placement.nodes),
          .per_node = static_cast<double>(placement.PerNode()),
          .inside = topology.inside,
          .between = topology.BetweenNodes(placement.nodes)};
}

}  // namespace

std::optional<Collective> CollectiveNamed(std::string_view name) {
  const std::string lower = LowerCase(name);
  const auto has = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
  if (has("allreduce") || has("all_reduce")) return Collective::kAllReduce;
  if (has("reducescatter") || has("reduce_scatter")) return Collective::kReduceScatter;
  if (has("allgather") || has("all_gather")) return Collective::kAllGather;
  return std::nullopt;
}

CollectiveTime TimeOf(Collective collective, Algorithm algorithm, double bytes,
                      const Topology& topology, const Placement& placement) {
  if (placement.gpus <= 1) return {.latency = {}, .transfer = {}, .algorithm = algorithm};
  return TimeOver(collective, algorithm, bytes, MembersOf(topology, placement));
}

CollectiveTime FastestTime(Collective collective, double bytes, const Topology& topology,
                           const Placement& placement) {
  CollectiveTime fastest = TimeOf(collective, Algorithm::kRing, bytes, topology, placement);
  if (placement.gpus <= 1) return fastest;
  const auto consider = [&](const CollectiveTime& time) {
    if (time.Total() < fastest.Total()) fastest = time;
  };
  const Members members = MembersOf(topology, placement);
  for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kTree}) {
    if (algorithm == Algorithm::kTree && collective != Collective::kAllReduce) continue;
    consider(TimeOver(collective, algorithm, bytes, members));
    const std::optional<Members> small = InLl128(algorithm, members);
    if (!small) continue;
    CollectiveTime time = TimeOver(collective, algorithm, bytes, *small);
    // A tree starts without delay, except in LL128.
    if (algorithm == Algorithm::kTree) time.latency += kLl128Start;
    consider(time);
  }
  return fastest;
}

}  // namespace headroom
