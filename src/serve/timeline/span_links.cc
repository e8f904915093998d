#include "serve/timeline/span_links.h"

namespace headroom {
namespace {

/// Adds the GPU tasks that the event or its nested events launched.
void AddLaunched(const TraceStore& store, HostEventId event, std::vector<SpanLink>& links) {
  const auto& events = store.host_events;
  const TimeNs begin = events.start[event.index()], end = store.HostEnd(event);
  std::size_t found = 0;
  for (std::uint32_t task = 0; task < store.gpu_tasks.rows() && found < kMaxLinks; ++task) {
    const HostEventId launch = store.gpu_tasks.launch[task];
    if (!launch.valid() || events.thread[launch.index()] != events.thread[event.index()]) continue;
    const TimeNs at = events.start[launch.index()];
    if (at < begin || at > end || store.HostEnd(launch) > end) continue;
    links.push_back({"launches", true, task});
    ++found;
  }
}

/// Operators of the backward pass name the thread of the forward pass.
bool IsBackward(const TraceStore& store, std::uint32_t row) {
  const std::int32_t thread = store.host_events.forward_thread[row];
  return thread > 0;
}

/// Adds the matching operators of the other pass, joined by autograd's sequence number.
void AddOtherPass(const TraceStore& store, HostEventId event, std::vector<SpanLink>& links) {
  const auto& events = store.host_events;
  const std::int64_t sequence = events.sequence[event.index()];
  if (sequence == kUnknown || events.kind[event.index()] != HostEventKind::kOperator) return;
  const bool backward = IsBackward(store, event.index());
  std::size_t found = 0;
  for (std::uint32_t row = 0; row < events.rows() && found < kMaxLinks; ++row) {
    if (events.sequence[row] != sequence || IsBackward(store, row) == backward) continue;
    links.push_back({backward ? "forward" : "backward", false, row});
    ++found;
  }
}

}  // namespace

std::vector<SpanLink> FindLinks(const TraceStore& store, HostEventId event) {
  std::vector<SpanLink> links;
  for (HostEventId parent = store.host_events.parent[event.index()];
       parent.valid() && links.size() < kMaxLinks;
       parent = store.host_events.parent[parent.index()])
    links.push_back({"inside", false, parent.index()});
  AddLaunched(store, event, links);
  AddOtherPass(store, event, links);
  return links;
}

std::vector<SpanLink> FindLinks(const TraceStore& store, GpuTaskId task) {
  std::vector<SpanLink> links;
  const HostEventId launch = store.gpu_tasks.launch[task.index()];
  if (!launch.valid()) return links;
  links.push_back({"launched by", false, launch.index()});
  for (HostEventId parent = store.host_events.parent[launch.index()];
       parent.valid() && links.size() < kMaxLinks;
       parent = store.host_events.parent[parent.index()])
    links.push_back({"inside", false, parent.index()});
  return links;
}

}  // namespace headroom
