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

GradientStep GradientTransfer::Sent(GradientStep step) const {
  if (!element_bytes) return step;
  for (Gradient& gradient : step.gradients) {
    gradient.bytes *= *element_bytes / gradient.element_bytes;
    gradient.element_bytes = *element_bytes;
  }
  return step;
}

std::vector<std::size_t> BucketEnds(const GradientStep& step, double bucket_bytes) {
  std::vector<std::size_t> ends;
  double bytes = 0, full = std::min(kFirstBucketBytes, bucket_bytes);
  for (std::size_t g = 0; g < step.gradients.size(); ++g) {
    bytes += step.gradients[g].bytes;
    if (bytes < full && g + 1 < step.gradients.size()) continue;
    ends.push_back(g);
    bytes = 0;
    full = bucket_bytes;
  }
  return ends;
}

void InsertBuckets(const Graph& graph, const GradientStep& step, const GradientTransfer& transfer,
                   std::uint32_t channel, const ExchangeTime& time, Edit& edit) {
  const GradientStep sent = transfer.Sent(step);
  std::size_t first = 0;
  for (const std::size_t last : BucketEnds(sent, transfer.bucket_bytes)) {
    double bytes = 0;
    for (; first <= last; ++first) bytes += sent.gradients[first].bytes;
    const CollectiveTime taken = time(bytes);
    const TaskIndex ready = sent.gradients[last].ready;
    Edit::ChannelTask send;
    send.channel = channel;
    send.step = graph.tasks[ready].step;
    send.bytes = bytes;
    send.latency = taken.latency;
    send.duration = taken.Total();
    send.after = {{.task = transfer.overlaps ? ready : sent.gradients.back().ready}};
    send.before = {ReaderOf(graph, step, edit)};
    edit.Insert(std::move(send));
  }
}

}  // namespace headroom
