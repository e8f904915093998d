// dgc: sends only the largest gradients, and accumulates the other gradients locally (Lin et al.,
// "Deep Gradient Compression", ICLR 2018). Kernels select the largest gradients before each
// exchange, and add the received gradients after it. All-gathers replace all-reduces, because each
// member sends different elements.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "whatif/job/inserted_kernels.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/distributed/network.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// Passes over the gradient that the paper's algorithm needs to compress it. The momentum reads two
/// tensors and writes one, and so does the sum. The threshold reads one; the mask reads one and
/// clears two.
constexpr double kCompressPasses = 10;
/// Passes to decompress the gradient: one, which clears a tensor.
constexpr double kDecompressPasses = 1;

/// Compression of all transfers that wait for the same task.
struct Compression {
  double bytes = 0;
  TaskIndex needed_by = kNoTask;  ///< The first task that waits for the transfer.
  TaskIndex kernel = kNoTask;
};

/// Decompression of all transfers that one task waits for.
struct Decompression {
  double bytes = 0;
  std::vector<Dependency> after;
};

Effect NoLaunch() {
  return Effect::Abstain(
      "no launches were recorded around the gradients, so no kernel can be inserted there");
}

}  // namespace

Effect ApplyDgc(const Job& job, const Arguments& arguments, Edit& edit) {
  if (job.device() == nullptr || !job.device()->memory_bandwidth_gbs)
    return Effect::Abstain(WhyNoFigure(job, "memory bandwidth"));
  const double ratio = arguments.Number("ratio");
  if (ratio < 1)
    return Effect::Abstain(
        "a ratio below 1 does not compress: ratio=100 sends one hundredth of the gradients");
  if (edit.FindChannel("links"))
    return Effect::Abstain(
        "dgc gathers gradients, but blueconnect reduces them in stages; use only one of them");
  Effect effect = MakeExchange(job, arguments, kBucketBytes, edit);
  if (!effect.applies) return effect;
  const std::uint32_t network = *edit.FindChannel(kNetwork);
  const auto n = static_cast<double>(edit.ChannelAt(network).members);
  // An all-gather moves the shares of n - 1 others instead of 2 (n - 1) / n of all bytes. Through
  // servers, one share goes out and at most n come back, which is about the same. The factor is at
  // most 1.
  const double factor = std::min(1.0, n / (2 * ratio));

  const auto recorded = static_cast<TaskIndex>(job.graph().tasks.size());
  std::map<TaskIndex, Compression> compressions;
  std::map<TaskIndex, Decompression> decompressions;
  for (Edit::ChannelTask& send : edit.channel_tasks()) {
    if (send.channel != network) continue;
    const auto moved = static_cast<double>((send.duration - send.latency).ns());
    send.duration = send.latency + DurationNs(std::llround(moved * factor));
    for (const Dependency& on : send.after) {
      if (on.task >= recorded) continue;
      Compression& compression = compressions[on.task];
      compression.bytes += send.bytes;
      for (const Dependency& by : send.before) {
        if (by.cycles == 0)
          compression.needed_by = std::min(compression.needed_by, edit.InFrontOf(by.task));
      }
    }
    for (const Dependency& by : std::exchange(send.before, {})) {
      Decompression& decompression = decompressions[edit.InFrontOf(by.task)];
      decompression.bytes += send.bytes;
      decompression.after.push_back({.task = send.number, .lag = by.lag, .cycles = by.cycles});
    }
  }
  for (auto& [ready, compression] : compressions) {
    // The kernel runs after the gradient, but always before the task that waits for the transfer.
    const TaskIndex next = std::min(NextOnStream(job, ready), compression.needed_by);
    if (next == kNoTask || job.LaunchOf(next) == kNoTask) return NoLaunch();
    Edit::NewKernel kernel =
        KernelBefore(job, next, MemoryPassTime(kCompressPasses * compression.bytes, *job.device()));
    kernel.after = {{.task = ready}};
    kernel.in_front = true;  // Kernels already inserted there may wait for the transfer.
    compression.kernel = edit.Insert(std::move(kernel));
  }
  for (Edit::ChannelTask& send : edit.channel_tasks()) {
    if (send.channel != network) continue;
    for (Dependency& on : send.after) {
      if (on.task < recorded) on.task = compressions[on.task].kernel;
    }
  }
  for (auto& [consumer, decompression] : decompressions) {
    if (job.LaunchOf(consumer) == kNoTask) return NoLaunch();
    Edit::NewKernel kernel = KernelBefore(
        job, consumer, MemoryPassTime(kDecompressPasses * decompression.bytes, *job.device()));
    kernel.after = std::move(decompression.after);
    kernel.in_front = true;
    edit.Insert(std::move(kernel));
  }
  effect.AlsoBecause(
      factor < 1 ? fmt::format("sends 1/{} of the gradients' bytes", arguments.Text("ratio"))
                 : fmt::format("gathering 1/{} of the gradients of {:.0f} GPUs takes at least as "
                               "long as summing all of them; counted as equal",
                               arguments.Text("ratio"), n));
  return effect;
}

}  // namespace headroom
