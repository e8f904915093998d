#include "scale/server_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "network/gradient_exchange.h"

namespace headroom {
namespace {

/// Default slice size of BytePS, from its measurements (BYTEPS_PARTITION_BYTES).
constexpr double kSliceBytes = 4'096'000;
/// Maximum number of slices per tensor; larger tensors get larger slices, to limit the number of
/// replayed tasks.
constexpr double kMaxSlices = 4096;

}  // namespace

Effect InsertServerExchange(const Job& job, const Exchange& exchange, std::int64_t servers,
                            Edit& edit) {
  const Topology& topology = exchange.topology;
  if (topology.nodes_at_most && exchange.placement.nodes + servers > *topology.nodes_at_most) {
    return Effect::Abstain(fmt::format(
        "{} has at most {} machine{}, and servers require additional machines", topology.name,
        *topology.nodes_at_most, *topology.nodes_at_most == 1 ? "" : "s"));
  }
  OpenedExchange opened = OpenExchange(job, exchange, edit);
  if (!opened.effect.applies) return opened.effect;
  const Placement& placement = exchange.placement;
  const Link link = topology.BetweenNodes(placement.nodes + servers);
  const auto machine = static_cast<double>(placement.PerNode());
  const double server = static_cast<double>(placement.gpus) / static_cast<double>(servers);
  edit.ChannelAt(opened.channel).bytes_per_ns = link.bytes_per_ns;
  edit.ChannelAt(opened.channel).latency = link.latency;
  const std::uint32_t back = edit.AddChannel({.name = "network, from servers",
                                              .policy = Policy::kFifo,
                                              .bytes_per_ns = link.bytes_per_ns,
                                              .latency = link.latency,
                                              .members = placement.gpus});
  for (const GradientStep& recorded : opened.steps) {
    const GradientStep step = exchange.transfer.Sent(recorded);
    for (const Gradient& gradient : step.gradients) {
      const double slices = std::clamp(std::ceil(gradient.bytes / kSliceBytes), 1.0, kMaxSlices);
      Edit::ChannelTask send;
      send.step = job.graph().tasks[gradient.ready].step;
      send.bytes = gradient.bytes / slices;
      send.duration =
          DurationNs(std::llround(std::max(machine, server) * send.bytes / link.bytes_per_ns));
      Dependency reader = ReaderOf(job.graph(), step, edit);
      reader.lag = link.latency;
      for (double slice = 0; slice < slices; ++slice) {
        Edit::ChannelTask push = send, pull = send;
        push.channel = opened.channel;
        push.after = {{.task = gradient.ready}};
        pull.channel = back;
        pull.after = {{.task = edit.Insert(std::move(push)), .lag = link.latency}};
        pull.before = {reader};
        edit.Insert(std::move(pull));
      }
    }
  }
  Effect effect = std::move(opened.effect);
  effect.AlsoBecause(fmt::format("summed by {} on {}; {} link is the bottleneck",
                                 servers == 1 ? "a server" : fmt::format("{} servers", servers),
                                 servers == 1 ? "a separate machine" : "separate machines",
                                 server > machine   ? "a server's"
                                 : server < machine ? "a machine's"
                                                    : "either"));
  return effect;
}

}  // namespace headroom
