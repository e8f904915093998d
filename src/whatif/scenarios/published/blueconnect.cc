// blueconnect: each all-reduce runs in stages over two levels of links. The stages are a
// reduce-scatter inside a machine, an all-reduce of each share between machines, and an all-gather
// inside (Cho et al., "BlueConnect", MLSys 2019). Stages of different buckets overlap, because they
// use different links.
#include <fmt/format.h>

#include <cmath>

#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/distributed/network.h"

namespace headroom {
namespace {

/// Latency of a message between GPUs of a machine over PCIe, from NCCL 2.20's tuning model of a
/// ring (nccl/src/graph/tuning.cc).
constexpr DurationNs kHopInMachine{5'700};

}  // namespace

Effect ApplyBlueConnect(const Job& job, const Arguments& arguments, Edit& edit) {
  Effect effect = MakeExchange(job, arguments, kBucketBytes, edit);
  if (!effect.applies) return effect;
  const std::uint32_t network = *edit.FindChannel(kNetwork);
  const Channel whole = edit.ChannelAt(network);
  if (whole.policy == Policy::kPriority)
    return Effect::Abstain(
        "blueconnect splits all-reduces, but p3 sends to servers; use only one of them");
  const auto inside = static_cast<std::int64_t>(arguments.Number("gpus-per-node"));
  if (inside < 2 || whole.members % inside != 0 || whole.members == inside) {
    return Effect::Abstain(
        fmt::format("{} GPUs do not form two levels with {} per machine; choose gpus-per-node for "
                    "at least two equal machines of two or more GPUs",
                    whole.members, inside));
  }
  const std::uint32_t links = edit.AddChannel({.name = "links",
                                               .policy = Policy::kFifo,
                                               .bytes_per_ns = arguments.Number("link-gbps") / 8,
                                               .latency = kHopInMachine,
                                               .members = inside});
  edit.ChannelAt(network).members = whole.members / inside;
  const auto p = static_cast<double>(inside);
  for (const Edit::ChannelTask& all_reduce : edit.Clear(network)) {
    // The reduce-scatter and the all-gather each move (p - 1) / p of the bytes in p - 1 messages.
    Edit::ChannelTask scatter = all_reduce;
    scatter.channel = links;
    scatter.before.clear();
    scatter.latency = DurationNs((inside - 1) * kHopInMachine.ns());
    scatter.duration =
        scatter.latency + TransferTime((p - 1) / p * all_reduce.bytes, edit.ChannelAt(links));
    // All GPUs of a machine exchange their shares over the machine's one link, which therefore
    // carries all bytes.
    Edit::ChannelTask between = RingAllReduce(all_reduce.bytes, edit.ChannelAt(network));
    between.channel = network;
    between.step = all_reduce.step;
    Edit::ChannelTask gather = scatter;
    gather.before = all_reduce.before;
    between.after = {{.task = edit.Insert(std::move(scatter))}};
    gather.after = {{.task = edit.Insert(std::move(between))}};
    edit.Insert(std::move(gather));
  }
  effect.AlsoBecause(fmt::format(
      "the {} GPUs of a machine share its link and are connected to each other at {} Gbit/s",
      inside, arguments.Text("link-gbps")));
  return effect;
}

}  // namespace headroom
