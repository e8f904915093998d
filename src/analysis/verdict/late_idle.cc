#include "analysis/verdict/late_idle.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace headroom {
namespace {

/// Kinds of host activity; earlier ones are more specific.
enum class Doing : std::uint8_t { kLaunch, kCall, kOperator, kRange, kNothing };

Doing WhatIs(const TraceStore& store, NameFacts& names, std::size_t row) {
  switch (store.host_events.kind[row]) {
    case HostEventKind::kRuntimeCall:
    case HostEventKind::kDriverCall: {
      const HostRoles roles = names.Roles(store.host_events.name[row]);
      return roles.Has(HostRole::kKernelLaunch) || roles.Has(HostRole::kGraphLaunch)
                 ? Doing::kLaunch
                 : Doing::kCall;
    }
    case HostEventKind::kOperator:
      return Doing::kOperator;
    case HostEventKind::kAnnotation:
    case HostEventKind::kPythonFrame:
      return Doing::kRange;
    default:
      return Doing::kNothing;
  }
}

constexpr auto kDoings = static_cast<std::size_t>(Doing::kNothing);

/// An event, and the innermost event of its kind around it.
struct Doer {
  HostEventId event, around;
  Interval time;
};

std::set<ThreadId> LaunchingThreads(const TraceStore& store, const StepAnalysis& steps,
                                    std::size_t step) {
  std::set<ThreadId> threads;
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i) {
    const HostEventId launch = store.gpu_tasks.launch[i];
    if (launch.valid() && steps.step_of_task[i] == static_cast<std::int32_t>(step))
      threads.insert(store.host_events.thread[launch.index()]);
  }
  return threads;
}

}  // namespace

LateIdle MeasureLateIdle(const TraceStore& store, NameFacts& names, const StepAnalysis& steps,
                         std::size_t step, const IntervalSet& late) {
  // A launch with its operator and the Python code around it takes the host tens of microseconds.
  constexpr DurationNs kShortGap(100'000);
  const auto& events = store.host_events;
  const Interval host = steps.hosts[step];
  LateIdle out;
  out.all = late.Measure();
  for (const Interval& gap : late.intervals()) {
    if (gap.length() <= kShortGap) out.in_short_gaps += gap.length();
  }
  if (late.empty()) return out;
  const Interval span = {late.intervals().front().start, late.intervals().back().end};

  // Marks of steps do not show the work in them.
  const std::set<HostEventId> marks(store.steps.event.values().begin(),
                                    store.steps.event.values().end());
  std::vector<Doer> doers[kDoings];
  for (const ThreadId thread : LaunchingThreads(store, steps, step)) {
    const TraceStore::RowRange range = store.HostEventsOf(thread);
    std::vector<HostEventId> around[kDoings];  // Open events, outermost first.
    for (std::uint32_t row = range.first; row < range.last && events.start[row] < span.end; ++row) {
      const Interval time = {events.start[row], store.HostEnd(HostEventId(row))};
      const Doing doing = WhatIs(store, names, row);
      // An event that spans the step does not show the work in it.
      if (doing == Doing::kNothing || marks.contains(HostEventId(row)) ||
          (time.start <= host.start && time.end >= host.end))
        continue;
      if (doing == Doing::kLaunch && time.start >= host.start && time.start < host.end) {
        ++out.launch_calls;
        out.launch_time += time.length();
      }
      if (time.end <= span.start) continue;
      std::vector<HostEventId>& open = around[static_cast<std::size_t>(doing)];
      while (!open.empty() && store.HostEnd(open.back()) < time.end) open.pop_back();
      doers[static_cast<std::size_t>(doing)].push_back(
          {HostEventId(row), open.empty() ? HostEventId() : open.back(), time});
      open.emplace_back(row);
    }
  }

  std::map<HostEventId, DurationNs> own;  // Self time, without more specific events.
  IntervalSet left = late;
  const auto take = [&](Doing doing) {
    std::vector<Interval> times;
    for (const Doer& doer : doers[static_cast<std::size_t>(doing)]) {
      const DurationNs held = left.MeasureWithin(doer.time);
      if (held.ns() == 0) continue;
      times.push_back(doer.time);
      own[doer.event] += held;
      if (doer.around.valid()) own[doer.around] -= held;
    }
    const DurationNs before = left.Measure();
    left = Subtract(left, IntervalSet::UnionOf(std::move(times)));
    return before - left.Measure();
  };
  out.launches = take(Doing::kLaunch);
  out.calls = take(Doing::kCall);
  out.operators = take(Doing::kOperator);
  out.ranges = take(Doing::kRange);
  out.nothing = left.Measure();

  std::map<StringId, std::pair<DurationNs, std::int64_t>> by_name;
  for (const auto& [event, time] : own) {
    if (time > out.longest_time) {
      out.longest = event;
      out.longest_time = time;
    }
    auto& [sum, count] = by_name[events.name[event.index()]];
    sum += time;
    ++count;
  }
  for (const auto& [name, sum] : by_name) {
    if (sum.first <= out.most_expensive_time) continue;
    out.most_expensive = name;
    out.most_expensive_time = sum.first;
    out.most_expensive_count = sum.second;
  }
  return out;
}

}  // namespace headroom
