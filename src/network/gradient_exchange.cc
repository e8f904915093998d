#include "network/gradient_exchange.h"

#include <algorithm>
#include <utility>

namespace headroom {
namespace {

/// Returns the first GPU task of the graph, which follows the last step of the previous cycle.
TaskIndex FirstGpuTask(const Graph& graph) {
  TaskIndex task = 0;
  while (task < graph.tasks.size() && graph.tasks[task].kind != TaskKind::kGpu) ++task;
  return task;
}

}  // namespace

Dependency ReaderOf(const Graph& graph, const GradientStep& step, const Edit& edit) {
  const bool in_cycle = step.next != kNoTask;
  return {.task = edit.FrontOf(in_cycle ? step.next : FirstGpuTask(graph)),
          .cycles = static_cast<std::uint8_t>(in_cycle ? 0 : 1)};
}

void InsertBuckets(const Graph& graph, const GradientStep& step, double bucket_bytes,
                   std::uint32_t channel, const ExchangeTime& time, Edit& edit) {
  double bytes = 0, full = std::min(kFirstBucketBytes, bucket_bytes);
  for (std::size_t g = 0; g < step.gradients.size(); ++g) {
    const Gradient& gradient = step.gradients[g];
    bytes += gradient.bytes;
    if (bytes < full && g + 1 < step.gradients.size()) continue;
    const CollectiveTime taken = time(bytes);
    Edit::ChannelTask send;
    send.channel = channel;
    send.step = graph.tasks[gradient.ready].step;
    send.bytes = bytes;
    send.latency = taken.latency;
    send.duration = taken.Total();
    send.after = {{.task = gradient.ready}};
    send.before = {ReaderOf(graph, step, edit)};
    edit.Insert(std::move(send));
    bytes = 0;
    full = bucket_bytes;
  }
}

}  // namespace headroom
