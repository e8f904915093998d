#include "ingest/chakra/schedule.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace headroom::chakra {

void ScheduleNodes(std::vector<ScheduledNode>& nodes, std::span<const std::uint32_t> deps) {
  constexpr TimeNs kFurthest(INT64_MAX / 4);
  const std::size_t count = nodes.size();
  // For each node, the nodes that depend on it, in one array.
  std::vector<std::uint32_t> begin(count + 1);
  for (const std::uint32_t dep : deps) ++begin[dep + 1];
  std::uint32_t resources = 0;
  for (std::size_t i = 0; i < count; ++i) {
    begin[i + 1] += begin[i];
    resources = std::max(resources, nodes[i].resource + 1);
  }
  std::vector<std::uint32_t> waiting(deps.size()), next(begin.begin(), begin.end() - 1);
  std::vector<std::uint32_t> missing(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::uint32_t at = nodes[i].deps_begin; at < nodes[i].deps_end; ++at)
      waiting[next[deps[at]]++] = static_cast<std::uint32_t>(i);
    missing[i] = nodes[i].deps_end - nodes[i].deps_begin;
    nodes[i].start = TimeNs(0);
    nodes[i].has_time = false;
  }

  using Ready = std::pair<TimeNs, std::uint32_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (missing[i] == 0) ready.emplace(TimeNs(0), static_cast<std::uint32_t>(i));
  }
  std::vector<TimeNs> free(resources);
  while (!ready.empty()) {
    const std::uint32_t index = ready.top().second;
    ready.pop();
    ScheduledNode& node = nodes[index];
    node.start = std::max(node.start, free[node.resource]);
    if (node.duration > kFurthest - node.start) continue;
    node.has_time = true;
    const TimeNs end = node.start + node.duration;
    free[node.resource] = end;
    for (std::uint32_t at = begin[index]; at < begin[index + 1]; ++at) {
      ScheduledNode& after = nodes[waiting[at]];
      after.start = std::max(after.start, end);
      if (--missing[waiting[at]] == 0) ready.emplace(after.start, waiting[at]);
    }
  }
}

}  // namespace headroom::chakra
