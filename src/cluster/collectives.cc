#include "cluster/collectives.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

namespace headroom {
namespace {

/// Of the ring's rate (NCCL 2.20, src/graph/tuning.cc).
constexpr double kTreeRate = 0.92;

/// Element types as c10::toString() prints them, which is how collectives tell theirs.
constexpr std::array<std::pair<std::string_view, int>, 12> kElementBytes = {{
    {"Float", 4},
    {"Half", 2},
    {"BFloat16", 2},
    {"Double", 8},
    {"Long", 8},
    {"Int", 4},
    {"Short", 2},
    {"Char", 1},
    {"Byte", 1},
    {"Bool", 1},
    {"Float8_e4m3fn", 1},
    {"Float8_e5m2", 1},
}};

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

/// Of more than thirty years, nobody needs the rest.
DurationNs Clamped(double ns) {
  constexpr double kMost = 1e18;
  return DurationNs(std::llround(std::clamp(ns, 0.0, kMost)));
}

DurationNs TransferTime(double bytes, double bytes_per_ns) { return Clamped(bytes / bytes_per_ns); }

DurationNs Latency(double inside_messages, double between_messages, const Link& inside,
                   const Link& between) {
  const auto of = [](double messages, const Link& link) {
    return messages > 0 ? messages * static_cast<double>(link.latency.ns()) : 0;
  };
  return Clamped(of(inside_messages, inside) + of(between_messages, between));
}

/// How often a link carries its share of the bytes.
double Passes(Collective collective) { return collective == Collective::kAllReduce ? 2 : 1; }

struct Members {
  double all, nodes, per_node;
  Link inside, between;

  /// The slowest link that all of it has to pass.
  double Rate() const {
    if (nodes <= 1) return inside.bytes_per_ns;
    return per_node <= 1 ? between.bytes_per_ns
                         : std::min(inside.bytes_per_ns, between.bytes_per_ns);
  }
};

CollectiveTime Ring(Collective collective, double bytes, const Members& members) {
  const double passes = Passes(collective);
  return {
      .latency = Latency(passes * (members.all - members.nodes), passes * (members.nodes - 1),
                         members.inside, members.between),
      .transfer = TransferTime(passes * (members.all - 1) / members.all * bytes, members.Rate()),
      .algorithm = Algorithm::kRing};
}

CollectiveTime Tree(double bytes, const Members& members) {
  return {.latency = Latency(2 * (members.per_node - 1), 2 * std::log2(members.nodes),
                             members.inside, members.between),
          .transfer = TransferTime(2 * bytes, kTreeRate * members.Rate()),
          .algorithm = Algorithm::kTree};
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

int CollectiveElementBytes(std::string_view dtype) {
  const auto* const found = std::find_if(kElementBytes.begin(), kElementBytes.end(),
                                         [&](const auto& entry) { return entry.first == dtype; });
  return found == kElementBytes.end() ? 0 : found->second;
}

std::string_view Name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kTree:
      return "tree";
  }
  return "";
}

CollectiveTime TimeOf(Collective collective, Algorithm algorithm, double bytes,
                      const Topology& topology, const Placement& placement) {
  if (placement.gpus <= 1) return {.latency = {}, .transfer = {}, .algorithm = algorithm};
  const Members members = {.all = static_cast<double>(placement.gpus),
                           .nodes = static_cast<double>(placement.nodes),
                           .per_node = static_cast<double>(placement.PerNode()),
                           .inside = topology.inside,
                           .between = topology.BetweenNodes(placement.nodes)};
  if (algorithm == Algorithm::kTree && collective == Collective::kAllReduce)
    return Tree(bytes, members);
  return Ring(collective, bytes, members);
}

CollectiveTime FastestTime(Collective collective, double bytes, const Topology& topology,
                           const Placement& placement) {
  const CollectiveTime ring = TimeOf(collective, Algorithm::kRing, bytes, topology, placement);
  const CollectiveTime tree = TimeOf(collective, Algorithm::kTree, bytes, topology, placement);
  return tree.Total() < ring.Total() ? tree : ring;
}

}  // namespace headroom
