#include "ranks/rank_timeline.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/analyzed_trace.h"
#include "base/interval_set.h"
#include "base/text.h"
#include "ranks/collective_rows.h"

namespace headroom {
namespace {

/// Returns "allreduce" for "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)". Returns the whole name
/// in lower case if it has another form.
std::string KindOfKernel(std::string_view kernel) {
  const std::size_t begin = kernel.find('_');
  const std::size_t end = kernel.find('_', begin == std::string_view::npos ? 0 : begin + 1);
  if (begin == std::string_view::npos || end == std::string_view::npos) return LowerCase(kernel);
  return LowerCase(kernel.substr(begin + 1, end - begin - 1));
}

class TimelineReader {
 public:
  TimelineReader(const TraceStore& store, NameFacts& names, const GroupRules& rules,
                 const AnalyzedTrace& trace)
      : store_(store),
        names_(names),
        rules_(rules),
        trace_(trace),
        base_(UnixBaseOf(store)),
        arguments_(store) {}

  RankTimeline Read() {
    RankTimeline timeline;
    timeline.rank = store_.metadata.rank;
    timeline.world_size = store_.metadata.world_size;
    if (store_.gpu_tasks.rows() == 0) return ReadHost(std::move(timeline));
    for (std::size_t task = 0; task < store_.gpu_tasks.rows(); ++task) {
      if (store_.gpu_tasks.kind[task] != GpuTaskKind::kKernel) continue;
      if (!names_.IsCommunication(store_.gpu_tasks.name[task]))
        computing_.AppendInOrder(Span(task));
    }
    IntervalSet collectives, neighbours;
    for (std::size_t task = 0; task < store_.gpu_tasks.rows(); ++task) {
      if (store_.gpu_tasks.kind[task] != GpuTaskKind::kKernel) continue;
      if (!names_.IsCommunication(store_.gpu_tasks.name[task])) continue;
      timeline.collectives.push_back(ReadCollective(task, timeline.groups));
      (IsPointToPoint(timeline.collectives.back().kind) ? neighbours : collectives)
          .AppendInOrder(Span(task));
    }
    ReadSteps(collectives, neighbours, timeline);
    timeline.computing = ComputingToDraw();
    return timeline;
  }

 private:
  /// Reads a job that trains on the CPU, or whose GPU work was not recorded. A range in which the
  /// loop communicates, such as its wait at the end of backward, is a collective: it begins when
  /// the rank arrives. Forward, backward and optimizer are its computing.
  RankTimeline ReadHost(RankTimeline timeline) {
    const HostActivity& host = trace_.host;
    computing_ = Unite(Unite(host.forward, host.backward), host.optimizer);
    IntervalSet collectives;
    if (store_.steps.rows() > 0) {
      const TraceStore::RowRange rows = store_.HostEventsOf(store_.steps.thread[0]);
      for (std::uint32_t row = rows.first; row < rows.last; ++row) {
        const HostEventId event(row), parent = store_.host_events.parent[row];
        if (!Communicates(event) || (parent.valid() && Communicates(parent))) continue;
        const Interval span = {store_.host_events.start[row], store_.HostEnd(event)};
        collectives.AppendInOrder(span);
        std::string kind = KindOfRange(row, rows.last);
        if (kind.empty()) continue;
        RankCollective& collective = timeline.collectives.emplace_back();
        collective.kind = std::move(kind);
        collective.step = StepAt(span.start);
        collective.start = span.start + base_;
        collective.end = span.end + base_;
        if (parent.valid()) collective.phase = trace_.attribution->Of(parent).phase;
      }
    }
    ReadSteps(collectives, {}, timeline);
    timeline.computing = ComputingToDraw();
    return timeline;
  }

  /// Returns "allreduce" for a range "gloo:all_reduce", or with a range "all_reduce" inside; an
  /// empty string for a range that does not tell the collective.
  std::string KindOfRange(std::uint32_t row, std::uint32_t end) const {
    const bool has_child = row + 1 < end && store_.host_events.parent[row + 1] == HostEventId(row);
    std::string kind = LowerCase(store_.Text(store_.host_events.name[has_child ? row + 1 : row]));
    if (!has_child && kind.find(':') == std::string::npos) return "";
    kind.erase(0, kind.find(':') + 1);
    std::erase(kind, '_');
    return kind;
  }

  bool Communicates(HostEventId event) const {
    return trace_.attribution->Of(event).phase == Phase::kCommunication;
  }

  /// Returns the number of the step that the host runs at this time, or kNoStep.
  std::int64_t StepAt(TimeNs time) const {
    const std::vector<Interval>& hosts = trace_.steps.hosts;
    const auto after = std::ranges::upper_bound(hosts, time, {}, &Interval::start);
    if (after == hosts.begin() || time >= std::prev(after)->end) return RankCollective::kNoStep;
    return trace_.steps.steps.list[static_cast<std::size_t>(after - hosts.begin()) - 1].index;
  }

  Interval Span(std::size_t task) const {
    return {store_.gpu_tasks.start[task], store_.TaskEnd(GpuTaskId(task))};
  }

  RankCollective ReadCollective(std::size_t task, std::vector<RankGroup>& groups) {
    RankCollective collective;
    const Interval span = Span(task);
    // If the trace records Unix time, ranks of one machine share a clock.
    collective.start = span.start + base_;
    collective.end = span.end + base_;
    collective.hidden = computing_.MeasureWithin(span);
    const std::int32_t row = trace_.steps.step_of_task[task];
    if (row != StepAnalysis::kNoStep)
      collective.step = trace_.steps.steps.list[static_cast<std::size_t>(row)].index;
    collective.kind = KindOfKernel(store_.Text(store_.gpu_tasks.name[task]));
    collective.phase = PhaseOfCaller(task);
    const std::optional<CollectiveArguments> arguments = arguments_.Of(task);
    if (!arguments) return collective;
    if (!arguments->name.empty()) collective.kind = LowerCase(arguments->name);
    collective.group = arguments->group;
    collective.members = arguments->members;
    collective.bytes = arguments->bytes;
    if (!collective.group.empty()) Know(*arguments, groups);
    return collective;
  }

  void Know(const CollectiveArguments& arguments, std::vector<RankGroup>& groups) {
    if (!known_groups_.emplace(arguments.group).second) return;
    groups.push_back({.name = std::string(arguments.group),
                      .description = std::string(arguments.description),
                      .axis = rules_.AxisOf(arguments.description),
                      .ranks = std::string(arguments.ranks)});
  }

  /// Skips events with the phase "communication": they run the collective, but do not call it.
  Phase PhaseOfCaller(std::size_t task) const {
    HostEventId event = store_.gpu_tasks.launch[task];
    while (event.valid() && trace_.attribution->Of(event).phase == Phase::kCommunication)
      event = store_.host_events.parent[event.index()];
    return event.valid() ? trace_.attribution->Of(event).phase : Phase::kOther;
  }

  void ReadSteps(const IntervalSet& collectives, const IntervalSet& neighbours,
                 RankTimeline& timeline) const {
    const StepAnalysis& steps = trace_.steps;
    const IntervalSet exposed = Subtract(collectives, computing_);
    const IntervalSet waiting = Subtract(Subtract(neighbours, computing_), collectives);
    for (std::size_t row = 0; row < steps.steps.list.size(); ++row) {
      const StepRow& step = steps.steps.list[row];
      const Interval span = steps.spans[row];
      timeline.steps.push_back({
          .number = step.index,
          .start = step.start + base_,
          .wall = step.wall,
          .computing = computing_.MeasureWithin(span),
          .collectives = exposed.MeasureWithin(span),
          .neighbours = waiting.MeasureWithin(span),
      });
    }
    const auto step_of = [&](std::size_t task) -> RankStep* {
      const std::int32_t row = steps.step_of_task[task];
      return row == StepAnalysis::kNoStep ? nullptr
                                          : &timeline.steps[static_cast<std::size_t>(row)];
    };
    for (const CostedCall& call : trace_.costed) {
      RankStep* step = step_of(call.main_task.index());
      if (step != nullptr) step->flops = step->flops.value_or(0) + call.cost->flops;
    }
    for (std::size_t task = 0; task < store_.gpu_tasks.rows(); ++task) {
      if (store_.gpu_tasks.copy[task] != CopyKind::kHostToDevice) continue;
      RankStep* step = step_of(task);
      if (step != nullptr && store_.gpu_tasks.bytes[task] > 0)
        step->input_bytes += static_cast<double>(store_.gpu_tasks.bytes[task]);
    }
  }

  /// Fills gaps that are too short to draw. The remaining gaps are at least 1/kMaxComputing of the
  /// whole, so their number is limited.
  std::vector<Interval> ComputingToDraw() const {
    std::vector<Interval> drawn;
    if (computing_.empty()) return drawn;
    const std::vector<Interval>& all = computing_.intervals();
    const DurationNs whole = all.back().end - all.front().start;
    const DurationNs shortest(
        all.size() <= RankTimeline::kMaxComputing
            ? 0
            : whole.ns() / static_cast<std::int64_t>(RankTimeline::kMaxComputing - 1) + 1);
    for (const Interval& interval : all) {
      const Interval moved = {interval.start + base_, interval.end + base_};
      if (drawn.empty() || moved.start - drawn.back().end >= shortest) {
        drawn.push_back(moved);
      } else {
        drawn.back().end = moved.end;
      }
    }
    return drawn;
  }

  const TraceStore& store_;
  NameFacts& names_;
  const GroupRules& rules_;
  const AnalyzedTrace& trace_;
  const DurationNs base_;
  CollectiveRows arguments_;
  std::set<std::string_view> known_groups_;
  IntervalSet computing_;
};

}  // namespace

DurationNs UnixBaseOf(const TraceStore& store) {
  // This limit is in the year 2043. Readers limit timestamps to the same value, so the sum cannot
  // overflow.
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max() / 4;
  const std::int64_t base = store.metadata.base_time_ns.value_or(0);
  return DurationNs(base > 0 && base < kMax ? base : 0);
}

bool IsPointToPoint(std::string_view kind) {
  return kind.find("send") != std::string_view::npos || kind.find("recv") != std::string_view::npos;
}

RankTimeline ReadRankTimeline(const TraceStore& store, NameFacts& names, const GroupRules& rules,
                              const AnalyzedTrace& trace, const AnalysisOptions& options) {
  RankTimeline timeline = TimelineReader(store, names, rules, trace).Read();
  timeline.path = options.path;
  if (options.first_step || options.last_step) {
    std::erase_if(timeline.collectives, [](const RankCollective& collective) {
      return collective.step == RankCollective::kNoStep;
    });
  }
  return timeline;
}

}  // namespace headroom
