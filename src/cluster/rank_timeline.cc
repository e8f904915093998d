#include "cluster/rank_timeline.h"

#include <limits>
#include <optional>
#include <string_view>

#include "base/interval_set.h"
#include "base/text.h"
#include "cluster/collective_rows.h"

namespace headroom {
namespace {

/// "allreduce" of "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)"; the whole name where it has no
/// such form.
std::string KindOfKernel(std::string_view kernel) {
  const std::size_t begin = kernel.find('_');
  const std::size_t end = kernel.find('_', begin == std::string_view::npos ? 0 : begin + 1);
  if (begin == std::string_view::npos || end == std::string_view::npos) return LowerCase(kernel);
  return LowerCase(kernel.substr(begin + 1, end - begin - 1));
}

/// Of the trace's zero, in Unix time; none where what the trace says of it cannot be.
DurationNs BaseOf(const TraceStore& store) {
  // The year 2043; what a reader lets through as a time is as much again.
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;
  const std::int64_t base = store.metadata.base_time_ns.value_or(0);
  return DurationNs(base > 0 && base < kMost ? base : 0);
}

class TimelineReader {
 public:
  TimelineReader(const TraceStore& store, NameFacts& names, const StepAnalysis& steps)
      : store_(store), names_(names), steps_(steps), arguments_(store) {
    // Ranks compare on the clock of the machine, where traces tell it.
    base_ = BaseOf(store);
    for (std::size_t task = 0; task < store.gpu_tasks.rows(); ++task) {
      if (Computes(task)) computing_.AppendInOrder(Span(task));
    }
  }

  RankCollective Read(std::size_t task) const {
    RankCollective collective;
    const Interval span = Span(task);
    collective.start = span.start + base_;
    collective.end = span.end + base_;
    collective.hidden = computing_.MeasureWithin(span);
    const std::int32_t row = steps_.step_of_task[task];
    if (row != StepAnalysis::kNoStep)
      collective.step = steps_.steps.list[static_cast<std::size_t>(row)].index;
    collective.kind = KindOfKernel(store_.Text(store_.gpu_tasks.name[task]));
    if (const std::optional<CollectiveArguments> arguments = arguments_.Of(task)) {
      if (!arguments->name.empty()) collective.kind = LowerCase(arguments->name);
      collective.group = arguments->group;
      collective.members = arguments->members;
      collective.bytes = arguments->bytes;
    }
    return collective;
  }

 private:
  Interval Span(std::size_t task) const {
    return {store_.gpu_tasks.start[task], store_.TaskEnd(GpuTaskId(task))};
  }
  bool Computes(std::size_t task) const {
    return store_.gpu_tasks.kind[task] == GpuTaskKind::kKernel &&
           !names_.IsCommunication(store_.gpu_tasks.name[task]);
  }

  const TraceStore& store_;
  NameFacts& names_;
  const StepAnalysis& steps_;
  DurationNs base_;
  CollectiveRows arguments_;
  IntervalSet computing_;
};

}  // namespace

RankTimeline ReadRankTimeline(const TraceStore& store, NameFacts& names,
                              const StepAnalysis& steps) {
  RankTimeline timeline;
  timeline.rank = store.metadata.rank;
  timeline.world_size = store.metadata.world_size;
  const DurationNs base = BaseOf(store);
  for (const StepRow& row : steps.steps.list)
    timeline.steps.push_back({.number = row.index, .start = row.start + base, .wall = row.wall});
  const TimelineReader reader(store, names, steps);
  for (std::size_t task = 0; task < store.gpu_tasks.rows(); ++task) {
    if (store.gpu_tasks.kind[task] != GpuTaskKind::kKernel) continue;
    if (names.IsCommunication(store.gpu_tasks.name[task]))
      timeline.collectives.push_back(reader.Read(task));
  }
  return timeline;
}

}  // namespace headroom
