#include "analysis/breakdown.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace headroom {
namespace {

constexpr std::array kHostPriority = {Phase::kDataWait, Phase::kCallback, Phase::kOptimizer,
                                      Phase::kBackward, Phase::kForward};

DurationNs& PartOf(BreakdownParts& parts, Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return parts.forward;
    case Phase::kBackward:
      return parts.backward;
    case Phase::kOptimizer:
      return parts.optimizer;
    case Phase::kDataWait:
      return parts.data_wait;
    case Phase::kCallback:
      return parts.callback;
    case Phase::kOther:
      return parts.other;
  }
  return parts.other;
}

/// When the host is in each phase within `span`, over all threads; disjoint, the earlier of
/// kHostPriority wins.
std::array<IntervalSet, kHostPriority.size()> HostPhases(const TraceStore& store,
                                                         const Attribution& attribution,
                                                         Interval span) {
  std::array<std::vector<Interval>, kHostPriority.size()> found;
  const auto& events = store.host_events;
  const auto slot_of = [](Phase phase) {
    return static_cast<std::size_t>(std::find(kHostPriority.begin(), kHostPriority.end(), phase) -
                                    kHostPriority.begin());
  };
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    const TraceStore::RowRange range = store.HostEventsOf(ThreadId(t));
    Phase last_phase = Phase::kOther;
    TimeNs last_end;
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      const TimeNs start = events.start[row];
      if (start >= span.end) break;
      const HostEventKind kind = events.kind[row];
      if (kind == HostEventKind::kGpuAnnotation || kind == HostEventKind::kOther ||
          kind == HostEventKind::kOverhead)
        continue;
      const Phase phase = attribution.Of(HostEventId(row)).phase;
      if (phase == Phase::kOther) continue;
      const HostEventId parent = events.parent[row];
      if (parent.valid() && attribution.Of(parent).phase == phase)
        continue;  // Inside a longer one.
      const TimeNs end = store.HostEnd(HostEventId(row));
      const bool goes_on = phase == last_phase && last_end < start;
      if (end > span.start) found[slot_of(phase)].push_back({goes_on ? last_end : start, end});
      last_phase = phase;
      last_end = end;
    }
  }
  std::array<IntervalSet, kHostPriority.size()> phases;
  IntervalSet taken;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const IntervalSet all = IntervalSet::UnionOf(std::move(found[i]));
    phases[i] = Subtract(all, taken);
    taken = Unite(taken, all);
  }
  return phases;
}

/// A task of the span with the part that it counts for.
struct SweepTask {
  TimeNs start, end;
  int rank;  ///< Priority line: 1 compute, 2 communication, 3 copy.
  DurationNs BreakdownParts::*part;
  std::uint32_t id;
};

DurationNs BreakdownParts::*PartOfPhase(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return &BreakdownParts::forward;
    case Phase::kBackward:
      return &BreakdownParts::backward;
    case Phase::kOptimizer:
      return &BreakdownParts::optimizer;
    default:
      return &BreakdownParts::other;
  }
}

std::vector<SweepTask> TasksWithin(const TraceStore& store, NameFacts& names,
                                   const Attribution& attribution, Interval span) {
  std::vector<SweepTask> out;
  const auto& tasks = store.gpu_tasks;
  for (std::size_t i = 0; i < tasks.rows() && tasks.start[i] < span.end; ++i) {
    const TimeNs end = store.TaskEnd(GpuTaskId(i));
    if (end <= span.start || end == tasks.start[i]) continue;
    SweepTask task = {std::max(tasks.start[i], span.start), std::min(end, span.end), 1, nullptr,
                      static_cast<std::uint32_t>(i)};
    task.part = PartOfPhase(attribution.Of(GpuTaskId(i)).phase);
    if (tasks.kind[i] != GpuTaskKind::kKernel) {
      task.rank = 3;
      if (tasks.copy[i] == CopyKind::kHostToDevice) task.part = &BreakdownParts::host_to_device;
    } else if (names.IsCommunication(tasks.name[i])) {
      task.rank = 2;
      task.part = &BreakdownParts::communication;
    }
    out.push_back(task);
  }
  return out;
}

/// Adds the idle interval to what the host was doing.
void SplitIdle(Interval idle, const std::array<IntervalSet, kHostPriority.size()>& phases,
               BreakdownParts& step) {
  DurationNs rest = idle.length();
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const DurationNs in_phase = phases[i].MeasureWithin(idle);
    PartOf(step, kHostPriority[i]) += in_phase;
    rest -= in_phase;
  }
  step.other += rest;
}

}  // namespace

StepBreakdown BreakDown(const TraceStore& store, NameFacts& names, const Attribution& attribution,
                        Interval span) {
  StepBreakdown out;
  out.wall = span.length();
  const std::vector<SweepTask> tasks = TasksWithin(store, names, attribution, span);
  const auto phases = HostPhases(store, attribution, span);

  // Between two changes of the set of running tasks, the first by (line, start, id) takes the time.
  struct Change {
    TimeNs time;
    std::size_t task;
    bool begins;
  };
  std::vector<Change> changes;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    changes.push_back({tasks[i].start, i, true});
    changes.push_back({tasks[i].end, i, false});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.time != b.time ? a.time < b.time : a.task < b.task;
  });
  const auto first = [&](std::size_t a, std::size_t b) {
    const SweepTask& x = tasks[a];
    const SweepTask& y = tasks[b];
    if (x.rank != y.rank) return x.rank < y.rank;
    return x.start != y.start ? x.start < y.start : x.id < y.id;
  };
  std::set<std::size_t, decltype(first)> running(first);
  TimeNs at = span.start;
  const auto advance = [&](TimeNs to) {
    if (to <= at) return;
    if (running.empty()) {
      SplitIdle({at, to}, phases, out.step);
    } else {
      DurationNs BreakdownParts::*part = tasks[*running.begin()].part;
      out.step.*part += to - at;
      out.gpu.*part += to - at;
    }
    at = to;
  };
  for (const Change& change : changes) {
    advance(change.time);
    if (change.begins) {
      running.insert(change.task);
    } else {
      running.erase(change.task);
    }
  }
  advance(span.end);
  return out;
}

}  // namespace headroom
