#include "network/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cost/toml_row.h"
#include "embedded/cluster_files.h"

namespace headroom {
namespace {

constexpr double kBitsPerByte = 8;

/// Efficiency and latency of collectives on a kind of link, unless a file states them. The values
/// come from NCCL 2.20's model of machines and rings (nccl/src/graph/topo.h, tuning.cc). NVLink: 20
/// of 25 GB/s per link. PCIe: 12 of 15.75 GB/s for 16 lanes of the third generation. Network: 14 us
/// per message. A ring starts in 8.4 us. On Ethernet, TCP's own latency exceeds these.
struct LinkKind {
  std::string_view name;
  double efficiency;
  double latency_us;
  double start_us = 8.4;
  std::optional<Ll128> ll128 = {};
};

constexpr Ll128 kLl128OnNvlink = {.ring = DurationNs(1'900), .tree = DurationNs(1'250)};
constexpr Ll128 kLl128OnNetwork = {.ring = DurationNs(4'000), .tree = DurationNs(8'500)};

constexpr LinkKind kKinds[] = {
    {.name = "nvlink", .efficiency = 0.8, .latency_us = 3.4, .ll128 = kLl128OnNvlink},
    {.name = "infinity-fabric", .efficiency = 0.8, .latency_us = 3.4, .ll128 = kLl128OnNvlink},
    {.name = "pcie", .efficiency = 0.76, .latency_us = 5.7},
    {.name = "ethernet", .efficiency = kEthernetShare, .latency_us = 14, .start_us = 0},
    {.name = "network", .efficiency = 1, .latency_us = 14, .ll128 = kLl128OnNetwork},
};

/// Without P2P, NCCL sends through host memory, so each byte passes PCIe twice: half of the rate
/// with P2P. The bounds are the rates between two sockets in NCCL's model (10 GB/s of the fourth
/// generation's 31.5) and between four GPUs of one socket (35 of 63 GB/s, NVIDIA/nccl issue 1639,
/// which has 28 of 63 for eight).
constexpr double kWithoutP2p = 0.38, kLeastWithoutP2p = 0.32, kMostWithoutP2p = 0.55;

constexpr double kMaxGbps = 1e6, kMaxLatencyUs = 1e6, kMaxOversubscription = 1e3;

const LinkKind* KindNamed(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                         [&](const LinkKind& kind) { return kind.name == name; });
  return found == std::end(kKinds) ? nullptr : found;
}

DurationNs Microseconds(double us) { return DurationNs(std::llround(us * 1e3)); }

/// Share of a link's rate that a collective gets, and its bounds.
struct Efficiency {
  double low = 1, mid = 1, high = 1;
};

/// Reads `efficiency`, a number or a range [low, high], and `p2p`. The middle of a range is its
/// geometric mean.
Efficiency ReadEfficiency(TomlRow& row, const toml::table& table, const LinkKind* kind) {
  constexpr double kLeast = 0.01;
  const toml::node* p2p = table.get("p2p");
  if (p2p != nullptr && (!p2p->is_boolean() || kind == nullptr || kind->name != "pcie"))
    row.Fail("p2p", "must be true or false, and requires kind = \"pcie\"");
  const toml::node* stated = table.get("efficiency");
  if (stated == nullptr) {
    if (p2p != nullptr && p2p->is_boolean() && !*p2p->value<bool>())
      return {.low = kLeastWithoutP2p, .mid = kWithoutP2p, .high = kMostWithoutP2p};
    const double known = kind != nullptr ? kind->efficiency : 1;
    return {.low = known, .mid = known, .high = known};
  }
  const toml::array* range = stated->as_array();
  if (range == nullptr) {
    const double share = row.Number("efficiency", kLeast, 1);
    return {.low = share, .mid = share, .high = share};
  }
  const auto bound = [&](std::size_t i) { return (*range)[i].value<double>().value_or(0); };
  if (range->size() != 2 || bound(0) < kLeast || bound(0) > bound(1) || bound(1) > 1) {
    row.Fail("efficiency",
             fmt::format("must be a number or a range [low, high] from {} to 1", kLeast));
    return {};
  }
  return {.low = bound(0), .mid = std::sqrt(bound(0) * bound(1)), .high = bound(1)};
}

/// Reads [inside] or [between]; `count` names the key with the number of parallel links.
Result<Link> ReadLink(const NamedText& file, const toml::table& root, std::string_view name,
                      std::string_view count_key) {
  const toml::table* table = root[name].as_table();
  if (table == nullptr) {
    return Status::BadInput(
        fmt::format("{}: [{}] is missing; add it with kind and gbps", file.name, name));
  }
  TomlRow row(file, *table, fmt::format("[{}]", name));
  const std::string kind_name = row.Text("kind");
  const LinkKind* kind = KindNamed(kind_name);
  const double gbps = row.Number("gbps", 1e-6, kMaxGbps);
  const std::int64_t count =
      !count_key.empty() && table->contains(count_key) ? row.Count(count_key) : 1;
  const Efficiency efficiency = ReadEfficiency(row, *table, kind);
  const double latency = table->contains("latency_us") ? row.Number("latency_us", 0, kMaxLatencyUs)
                         : kind != nullptr             ? kind->latency_us
                                                       : 0;
  if (count_key.empty()) {
    row.Known({"kind", "gbps", "efficiency", "latency_us", "p2p"});
  } else {
    row.Known({"kind", "gbps", "efficiency", "latency_us", count_key});
  }
  if (!row.status().ok()) return row.status();
  if (kind == nullptr) {
    return Status::BadInput(fmt::format(
        "{}, line {}: kind of [{}] must be nvlink, infinity-fabric, pcie, ethernet or network",
        file.name, table->get("kind")->source().begin.line, name));
  }
  return Link{.bytes_per_ns = static_cast<double>(count) * gbps * efficiency.mid / kBitsPerByte,
              .latency = Microseconds(latency),
              .start = Microseconds(table->contains("latency_us") ? 0 : kind->start_us),
              .ll128 = table->contains("latency_us") ? std::nullopt : kind->ll128,
              .slowest = efficiency.low / efficiency.mid,
              .fastest = efficiency.high / efficiency.mid};
}

Status ReadSwitch(const NamedText& file, const toml::table& table, Topology& topology) {
  TomlRow row(file, table, "[switch]");
  topology.nodes_of_switch = row.Count("nodes");
  topology.oversubscription = row.Number("oversubscription", 1, kMaxOversubscription);
  row.Known({"nodes", "oversubscription"});
  return row.status();
}

}  // namespace

Link Topology::BetweenNodes(std::int64_t nodes) const {
  Link link = between;
  if (nodes_of_switch && nodes > *nodes_of_switch) link.bytes_per_ns /= oversubscription;
  return link;
}

Topology FlatTopology(double gbps, DurationNs latency, std::int64_t gpus_per_node) {
  const Link link = {.bytes_per_ns = gbps * kEthernetShare / kBitsPerByte, .latency = latency};
  Topology topology;
  topology.gpus_per_node = gpus_per_node;
  topology.between = link;
  // Without data on the GPUs of a node, assumes PCIe.
  const LinkKind& pcie = *KindNamed("pcie");
  constexpr double kPcieGbps = 256;  // 16 lanes of the fourth generation.
  topology.inside = {.bytes_per_ns = kPcieGbps * pcie.efficiency / kBitsPerByte,
                     .latency = Microseconds(pcie.latency_us)};
  return topology;
}

Topology WithoutLatency(Topology topology) {
  for (Link* link : {&topology.inside, &topology.between}) {
    link->latency = link->start = DurationNs(0);
    link->ll128.reset();
  }
  return topology;
}

namespace {

std::optional<Topology> AtBound(Topology topology, double Link::*bound) {
  bool has_range = false;
  for (Link* link : {&topology.inside, &topology.between}) {
    has_range = has_range || link->*bound != 1;
    link->bytes_per_ns *= link->*bound;
  }
  return has_range ? std::optional(std::move(topology)) : std::nullopt;
}

}  // namespace

std::optional<Topology> AtSlowest(Topology topology) {
  return AtBound(std::move(topology), &Link::slowest);
}

std::optional<Topology> AtFastest(Topology topology) {
  return AtBound(std::move(topology), &Link::fastest);
}

Topology WithoutLimit(Topology topology) {
  constexpr double kNoLimit = 1e12;
  topology.inside.bytes_per_ns = topology.between.bytes_per_ns = kNoLimit;
  return topology;
}

Result<Placement> PlaceGpus(const Topology& topology, std::int64_t gpus) {
  const Placement placement = {
      .gpus = gpus, .nodes = (gpus + topology.gpus_per_node - 1) / topology.gpus_per_node};
  if (topology.nodes_at_most && placement.nodes > *topology.nodes_at_most) {
    return Status::Usage(
        fmt::format("{} GPUs require {} machines of {}, which has {} at most; use fewer GPUs or "
                    "another --cluster",
                    gpus, placement.nodes, topology.name, *topology.nodes_at_most));
  }
  return placement;
}

Result<Topology> ReadTopology(const NamedText& file) {
  const Result<toml::table> root = ParseToml(file);
  if (!root.ok()) return root.status();
  TomlRow top(file, root.value(), "the file");
  Topology topology;
  topology.name = top.Text("name");
  topology.description = top.OptionalText("description");
  topology.gpus_per_node = top.Count("gpus_per_node");
  if (root.value().contains("nodes")) topology.nodes_at_most = top.Count("nodes");
  top.Text("source");
  top.Known(
      {"name", "description", "gpus_per_node", "nodes", "source", "inside", "between", "switch"});
  if (!top.status().ok()) return top.status();
  if (topology.gpus_per_node > 1) {
    const Result<Link> inside = ReadLink(file, root.value(), "inside", "");
    if (!inside.ok()) return inside.status();
    topology.inside = inside.value();
  } else if (root.value().contains("inside")) {
    return Status::BadInput(
        fmt::format("{}: [inside] requires gpus_per_node = 2 or more, because a machine with one "
                    "GPU has no inner link; remove [inside] or raise gpus_per_node",
                    file.name));
  }
  if (root.value().contains("between")) {
    const Result<Link> between = ReadLink(file, root.value(), "between", "adapters");
    if (!between.ok()) return between.status();
    topology.between = between.value();
  } else if (topology.nodes_at_most != 1) {
    return Status::BadInput(fmt::format(
        "{}: [between] is missing; add it with kind and gbps, or set nodes = 1", file.name));
  }
  if (const toml::table* table = root.value()["switch"].as_table()) {
    if (Status status = ReadSwitch(file, *table, topology); !status.ok()) return status;
  }
  return topology;
}

Result<std::vector<Topology>> LoadBuiltInTopologies() {
  std::vector<Topology> topologies;
  for (const NamedText& file : ClusterFiles()) {
    Result<Topology> topology = ReadTopology(file);
    if (!topology.ok()) return topology.status();
    topologies.push_back(std::move(topology).value());
  }
  std::sort(topologies.begin(), topologies.end(),
            [](const Topology& a, const Topology& b) { return a.name < b.name; });
  return topologies;
}

}  // namespace headroom
