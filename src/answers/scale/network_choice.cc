#include "answers/scale/network_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/read_file.h"
#include "base/units.h"
#include "render/escape.h"

namespace headroom {
namespace {

constexpr std::int64_t kMaxGpus = 10'000'000;

std::optional<std::int64_t> CountIn(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1 || count > kMaxGpus)
    return std::nullopt;
  return count;
}

/// Formats with three significant digits, never with an exponent.
std::string ThreeDigits(double value) {
  constexpr double kWhole = 100;
  return value >= kWhole ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

}  // namespace

Result<NetworkChoice> NetworkChoice::Make(NetworkQuestion question) {
  NetworkChoice choice(std::move(question));
  if (Status status = choice.ReadGpus(); !status.ok()) return status;
  if (Status status = choice.LoadNetworks(); !status.ok()) return status;
  for (const NamedNetwork& network : choice.networks()) {
    const Result<std::vector<Placement>> placements = choice.PlacementsOn(network.topology);
    if (!placements.ok()) return placements.status();
  }
  return choice;
}

Status NetworkChoice::ReadGpus() {
  for (const std::string& text : question_.gpus) {
    const std::size_t by = text.find_first_of("xX");
    Asked asked;
    const std::optional<std::int64_t> first = CountIn(std::string_view(text).substr(0, by));
    const std::optional<std::int64_t> second =
        by == std::string::npos ? 1 : CountIn(std::string_view(text).substr(by + 1));
    if (!first || !second || *first > kMaxGpus / *second) {
      return Status::Usage(
          fmt::format("--gpus {}: must be a number of GPUs, or machines x GPUs such as 4x2, at "
                      "most {} in total",
                      Printable(text, Charset::kAscii), kMaxGpus));
    }
    asked.gpus = *first * *second;
    if (by != std::string::npos) asked.nodes = *first;
    const bool again = std::any_of(asked_.begin(), asked_.end(), [&](const Asked& a) {
      return a.gpus == asked.gpus && a.nodes == asked.nodes;
    });
    if (!again) asked_.push_back(asked);
  }
  return Status::Ok();
}

Status NetworkChoice::LoadCluster() {
  Result<std::vector<Topology>> known = LoadBuiltInTopologies();
  if (!known.ok()) return known.status();
  for (Topology& topology : known.value()) {
    if (topology.name != question_.cluster) continue;
    networks_.push_back({.topology = topology, .description = topology.description});
    return Status::Ok();
  }
  const Result<std::optional<std::string>> file = ReadFile(question_.cluster);
  if (!file.ok()) return file.status();
  if (!file.value()) {
    std::string names;
    for (const Topology& topology : known.value())
      names += (names.empty() ? "" : ", ") + topology.name;
    return Status::Usage(fmt::format("--cluster {}: no such file, and not a known cluster: {}",
                                     Printable(question_.cluster, Charset::kAscii), names));
  }
  const Result<Topology> topology =
      ReadTopology({.name = question_.cluster, .content = *file.value()});
  if (!topology.ok()) return topology.status();
  networks_.push_back({.topology = topology.value(), .description = topology.value().description});
  if (networks_.back().description.empty()) networks_.back().description = topology.value().name;
  return Status::Ok();
}

Status NetworkChoice::LoadNetworks() {
  if (!question_.cluster.empty()) {
    const std::pair<bool, const char*> flags[] = {
        {!question_.bandwidths_gbps.empty(), "--bandwidth-gbps"},
        {question_.latency_us.has_value(), "--latency-us"},
        {question_.gpus_per_node.has_value(), "--gpus-per-node"}};
    for (const auto& [given, flag] : flags) {
      if (!given) continue;
      return Status::Usage(fmt::format(
          "{} describes a network, and so does --cluster: give only one of them", flag));
    }
    return LoadCluster();
  }
  constexpr double kUsualGbps = 100, kUsualLatencyUs = 14;
  const double latency_us = question_.latency_us.value_or(kUsualLatencyUs);
  const std::int64_t gpus_per_node = question_.gpus_per_node.value_or(1);
  std::vector<double> bandwidths = question_.bandwidths_gbps;
  if (bandwidths.empty()) bandwidths = {kUsualGbps};
  constexpr double kMinGbps = 1e-6, kMaxGbps = 1e6, kMaxLatencyUs = 1e6;
  if (!(latency_us >= 0 && latency_us <= kMaxLatencyUs))
    return Status::Usage(fmt::format("--latency-us must be from 0 to {}", kMaxLatencyUs));
  if (gpus_per_node < 1 || gpus_per_node > kMaxGpus)
    return Status::Usage(fmt::format("--gpus-per-node must be from 1 to {}", kMaxGpus));
  // A value such as 4x2 already states the GPUs per machine.
  const bool as_asked =
      !question_.gpus_per_node &&
      std::any_of(asked_.begin(), asked_.end(), [](const Asked& a) { return a.nodes.has_value(); });
  const std::string machines = as_asked ? "machines"
                               : gpus_per_node == 1
                                   ? "machines of one GPU"
                                   : fmt::format("machines of {} GPUs", gpus_per_node);
  for (const double gbps : bandwidths) {
    if (!(gbps >= kMinGbps && gbps <= kMaxGbps)) {
      return Status::Usage(
          fmt::format("--bandwidth-gbps {}: must be from {} to {}", gbps, kMinGbps, kMaxGbps));
    }
    networks_.push_back({.topology = FlatTopology(
                             gbps, DurationNs(std::llround(latency_us * kNsPerUs)), gpus_per_node),
                         .description = fmt::format("{:g} Gbit/s and {:g} us between {}", gbps,
                                                    latency_us, machines),
                         .bandwidth_gbps = gbps});
  }
  return Status::Ok();
}

Result<std::vector<Placement>> NetworkChoice::PlacementsOn(const Topology& topology) const {
  std::vector<Placement> placements;
  for (const Asked& asked : asked_) {
    Result<Placement> placed = PlaceGpus(topology, asked.gpus);
    if (!placed.ok()) return placed.status();
    if (asked.nodes) {
      placed.value().nodes = *asked.nodes;
      if (!question_.cluster.empty() && placed.value().PerNode() > topology.gpus_per_node) {
        return Status::Usage(fmt::format("--gpus {}x{}: machines of {} have {} GPUs", *asked.nodes,
                                         placed.value().PerNode(), topology.name,
                                         topology.gpus_per_node));
      }
      if (topology.nodes_at_most && *asked.nodes > *topology.nodes_at_most) {
        return Status::Usage(fmt::format("--gpus {}x{}: {} has at most {} machines", *asked.nodes,
                                         placed.value().PerNode(), topology.name,
                                         *topology.nodes_at_most));
      }
    }
    placements.push_back(placed.value());
  }
  return placements;
}

NamedNetwork NetworkChoice::AsRecorded(const Topology& topology) {
  constexpr double kBits = 8;
  return {.topology = topology,
          .description = fmt::format(
              "{} Gbit/s and {} us per message, fitted to the recorded collectives",
              ThreeDigits(kBits * topology.between.bytes_per_ns),
              ThreeDigits(static_cast<double>(topology.between.latency.ns()) / kNsPerUs))};
}

std::string NetworkChoice::ListClusters(const std::vector<Topology>& clusters) {
  std::size_t width = 0;
  for (const Topology& cluster : clusters) width = std::max(width, cluster.name.size());
  std::string text;
  for (const Topology& cluster : clusters)
    text += fmt::format("  {:<{}}  {}\n", cluster.name, width, cluster.description);
  return text;
}

}  // namespace headroom
