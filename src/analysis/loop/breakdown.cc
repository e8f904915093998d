#include "analysis/loop/breakdown.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/statistics.h"

namespace headroom {
namespace {

/// Phases of the host, in order of priority.
struct HostPhase {
  Phase phase;
  IntervalSet HostActivity::*activity;
  DurationNs BreakdownParts::*part;
};
constexpr HostPhase kHostPriority[] = {
    {Phase::kDataWait, &HostActivity::data_wait, &BreakdownParts::data_wait},
    {Phase::kCallback, &HostActivity::callback, &BreakdownParts::callback},
    {Phase::kHostToDevice, &HostActivity::host_to_device, &BreakdownParts::host_to_device},
    {Phase::kCommunication, &HostActivity::communication, &BreakdownParts::communication},
    {Phase::kOptimizer, &HostActivity::optimizer, &BreakdownParts::optimizer},
    {Phase::kBackward, &HostActivity::backward, &BreakdownParts::backward},
    {Phase::kForward, &HostActivity::forward, &BreakdownParts::forward},
};

/// Returns the position of a phase in kHostPriority; empty for kOther.
std::optional<std::size_t> PriorityOf(Phase phase) {
  for (std::size_t i = 0; i < std::size(kHostPriority); ++i) {
    if (kHostPriority[i].phase == phase) return i;
  }
  return std::nullopt;
}

/// A span of host time in one phase.
struct PhasePiece {
  Interval time;
  std::size_t rank;
  bool marked = false;       ///< The user marked the range, so its bounds are exact.
  bool is_exchange = false;  ///< A range of a communication library (gloo).
};

/// Removes from an optimizer's update the passes that its closure runs. Requires that all `pieces`
/// from `first` are of one thread.
void TakeClosuresOut(const IntervalSet& passes, std::size_t first,
                     std::vector<PhasePiece>& pieces) {
  const std::size_t rank = *PriorityOf(Phase::kOptimizer);
  std::vector<PhasePiece> left;
  std::vector<Interval> updates, marked_updates;
  for (std::size_t i = first; i < pieces.size(); ++i) {
    const PhasePiece& piece = pieces[i];
    if (piece.rank != rank) {
      left.push_back(piece);
    } else {
      (piece.marked ? marked_updates : updates).push_back(piece.time);
    }
  }
  for (const bool marked : {false, true}) {
    const IntervalSet rest =
        Subtract(IntervalSet::UnionOf(std::move(marked ? marked_updates : updates)), passes);
    for (const Interval& time : rest.intervals()) left.push_back({time, rank, marked});
  }
  pieces.resize(first);
  pieces.insert(pieces.end(), left.begin(), left.end());
}

/// Threads of a process that run operators, and the union of these operators' times.
class OperatorTimes {
 public:
  OperatorTimes(const TraceStore& store, ProcessId process) {
    const auto& events = store.host_events;
    std::vector<Interval> times;
    for (std::size_t t = 0; t < store.threads.rows(); ++t) {
      has_operators_.push_back(false);
      if (process.valid() && store.threads.process[t] != process) continue;
      const TraceStore::RowRange range = store.HostEventsOf(ThreadId(t));
      for (std::uint32_t row = range.first; row < range.last; ++row) {
        if (events.kind[row] != HostEventKind::kOperator) continue;
        has_operators_[t] = true;
        times.push_back({events.start[row], store.HostEnd(HostEventId(row))});
      }
    }
    times_ = IntervalSet::UnionOf(std::move(times));
  }

  bool HasOperators(ThreadId thread) const { return has_operators_[thread.index()]; }
  const IntervalSet& times() const { return times_; }

 private:
  std::vector<bool> has_operators_;
  IntervalSet times_;
};

/// Keeps the portions of a thread's communication ranges that no operator hides. Requires that all
/// `pieces` from `first` are of one thread without operators (gloo's).
void KeepExposedExchanges(const IntervalSet& operators, std::size_t first,
                          std::vector<PhasePiece>& pieces) {
  const std::size_t rank = *PriorityOf(Phase::kCommunication);
  std::vector<Interval> exchanges;
  std::vector<PhasePiece> left;
  for (std::size_t i = first; i < pieces.size(); ++i) {
    if (pieces[i].is_exchange) {
      exchanges.push_back(pieces[i].time);
    } else {
      left.push_back(pieces[i]);
    }
  }
  pieces.resize(first);
  pieces.insert(pieces.end(), left.begin(), left.end());
  // Without operators, the concurrent activity of the loop is unknown.
  if (operators.empty()) return;
  const IntervalSet exposed = Subtract(IntervalSet::UnionOf(std::move(exchanges)), operators);
  for (const Interval& time : exposed.intervals())
    pieces.push_back({.time = time, .rank = rank, .marked = true});
}

/// Returns the ranges and operators of the process that have a phase: those that overlap `span`,
/// and the nearest ones outside.
std::vector<PhasePiece> FindPhasePieces(const TraceStore& store, NameFacts& names,
                                        const Attribution& attribution, ProcessId process,
                                        Interval span) {
  std::vector<PhasePiece> pieces;
  std::optional<PhasePiece> before, after;
  std::optional<OperatorTimes> operators;  // Computed at the first communication range.
  const auto& events = store.host_events;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    if (process.valid() && store.threads.process[t] != process) continue;
    const TraceStore::RowRange range = store.HostEventsOf(ThreadId(t));
    const std::size_t first_piece = pieces.size();
    IntervalSet in_closures;  // Passes that an optimizer runs inside its update.
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      const HostEventKind kind = events.kind[row];
      if (kind == HostEventKind::kGpuAnnotation || kind == HostEventKind::kOther ||
          kind == HostEventKind::kOverhead || events.duration[row].ns() == 0) {
        continue;
      }
      const Phase phase = attribution.Of(HostEventId(row)).phase;
      const HostEventId parent = events.parent[row];
      if (parent.valid() && attribution.Of(parent).phase == phase)
        continue;  // A longer piece covers it.
      const std::optional<std::size_t> rank = PriorityOf(phase);
      if (!rank) continue;
      // Frameworks mark only portions of forward and backward (compiled regions), so the time
      // between two such ranges may belong to the same pass. They mark a fetch, a collective, an
      // update or a gradient reset completely, so other work may run between two such ranges.
      const bool is_pass = phase == Phase::kForward || phase == Phase::kBackward;
      const bool is_whole =
          !is_pass || !names.Roles(events.name[row]).Has(HostRole::kFrameworkRange);
      const PhasePiece piece = {{events.start[row], store.HostEnd(HostEventId(row))},
                                *rank,
                                kind == HostEventKind::kAnnotation && is_whole,
                                phase == Phase::kCommunication &&
                                    names.Roles(events.name[row]).Has(HostRole::kFrameworkRange)};
      if (piece.time.start >= span.end) {
        if (!after || piece.time.start < after->time.start ||
            (piece.time.start == after->time.start && piece.rank < after->rank)) {
          after = piece;
        }
        break;  // The remaining rows of this thread start even later.
      }
      if (piece.time.end > span.start) {
        pieces.push_back(piece);
        if (parent.valid() && attribution.Of(parent).phase == Phase::kOptimizer &&
            (phase == Phase::kForward || phase == Phase::kBackward)) {
          in_closures.AppendInOrder(piece.time);
        }
      } else if (!before || piece.time.end > before->time.end ||
                 (piece.time.end == before->time.end && piece.rank < before->rank)) {
        before = piece;
      }
    }
    if (!in_closures.empty()) TakeClosuresOut(in_closures, first_piece, pieces);
    const bool exchanges =
        std::any_of(pieces.begin() + static_cast<std::ptrdiff_t>(first_piece), pieces.end(),
                    [](const PhasePiece& piece) { return piece.is_exchange; });
    if (!exchanges) continue;
    if (!operators) operators.emplace(store, process);
    if (!operators->HasOperators(ThreadId(t)))
      KeepExposedExchanges(operators->times(), first_piece, pieces);
  }
  if (before) pieces.push_back(*before);
  if (after) pieces.push_back(*after);
  return pieces;
}

/// A GPU task that may run in a span.
struct SweepTask {
  TimeNs start, end;
  GpuActivity activity;
  GpuTaskId task;
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

/// Returns the part that a GPU task counts for, given the phase that launched it.
DurationNs BreakdownParts::*PartOf(GpuActivity activity, Phase launched) {
  switch (activity) {
    case GpuActivity::kCommunication:
      return &BreakdownParts::communication;
    case GpuActivity::kCopyIn:
      return &BreakdownParts::host_to_device;
    default:
      return PartOfPhase(launched);
  }
}

/// Returns the process's tasks of nonzero duration, in order of start.
std::vector<SweepTask> SweepTasks(const TraceStore& store, NameFacts& names, ProcessId process,
                                  Interval extent) {
  std::vector<SweepTask> out;
  const auto& tasks = store.gpu_tasks;
  for (std::size_t i = 0; i < tasks.rows() && tasks.start[i] < extent.end; ++i) {
    const GpuTaskId task(i);
    const TimeNs end = store.TaskEnd(task);
    if (end <= extent.start || end == tasks.start[i] || !IsWorkOf(store, process, task)) continue;
    const GpuActivity activity =
        tasks.kind[i] == GpuTaskKind::kKernel
            ? (names.IsCommunication(tasks.name[i]) ? GpuActivity::kCommunication
                                                    : GpuActivity::kCompute)
            : (tasks.copy[i] == CopyKind::kHostToDevice ? GpuActivity::kCopyIn
                                                        : GpuActivity::kOtherCopy);
    out.push_back({tasks.start[i], end, activity, task});
  }
  return out;
}

/// Splits an idle interval by the host's phases.
void SplitIdle(Interval idle, const HostActivity& host, BreakdownParts& step) {
  DurationNs rest = idle.length();
  for (const HostPhase& phase : kHostPriority) {
    const DurationNs in_phase = (host.*phase.activity).MeasureWithin(idle);
    step.*phase.part += in_phase;
    rest -= in_phase;
  }
  step.other += rest;
}

}  // namespace

void AddUnmarkedLoading(const IntervalSet& time, HostActivity& host) {
  for (const HostPhase& phase : kHostPriority) {
    IntervalSet& activity = host.*phase.activity;
    activity = phase.phase == Phase::kDataWait ? Unite(activity, time) : Subtract(activity, time);
  }
}

HostActivity FindHostActivity(const TraceStore& store, NameFacts& names,
                              const Attribution& attribution, ProcessId process, Interval span) {
  std::array<std::vector<Interval>, std::size(kHostPriority)> found;
  std::array<std::set<TimeNs>, std::size(kHostPriority)> marked_starts, marked_ends;
  for (const PhasePiece& piece : FindPhasePieces(store, names, attribution, process, span)) {
    found[piece.rank].push_back(piece.time);
    if (!piece.marked) continue;
    marked_starts[piece.rank].insert(piece.time.start);
    marked_ends[piece.rank].insert(piece.time.end);
  }
  std::vector<PhasePiece> pieces;  // Disjoint.
  IntervalSet taken;
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    const IntervalSet all = IntervalSet::UnionOf(std::move(found[rank]));
    const IntervalSet free = Subtract(all, taken);
    for (const Interval& time : free.intervals()) pieces.push_back({.time = time, .rank = rank});
    taken = Unite(taken, all);
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const PhasePiece& a, const PhasePiece& b) { return a.time.start < b.time.start; });
  HostActivity host;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Interval time = pieces[i].time;
    const bool same_phase = i + 1 < pieces.size() && pieces[i + 1].rank == pieces[i].rank;
    const bool says_itself = same_phase && marked_ends[pieces[i].rank].contains(time.end) &&
                             marked_starts[pieces[i].rank].contains(pieces[i + 1].time.start);
    if (same_phase && !says_itself) time.end = pieces[i + 1].time.start;
    (host.*kHostPriority[pieces[i].rank].activity).AppendInOrder(time);
  }
  return host;
}

namespace {

/// @param tasks  tasks that may run in the span, in order of start
void SplitSpan(std::span<const SweepTask> tasks, std::size_t number, Interval span,
               const std::function<void(const StepPiece&)>& use) {
  // Between two changes of the set of running tasks, the time belongs to the running task that
  // comes first in order of (activity, start).
  struct Change {
    TimeNs time;
    std::size_t task;
    bool begins;
  };
  std::vector<Change> changes;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].end <= span.start || tasks[i].start >= span.end) continue;
    changes.push_back({std::max(tasks[i].start, span.start), i, true});
    changes.push_back({std::min(tasks[i].end, span.end), i, false});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.time != b.time ? a.time < b.time : a.task < b.task;
  });
  const auto first = [&](std::size_t a, std::size_t b) {
    return tasks[a].activity != tasks[b].activity ? tasks[a].activity < tasks[b].activity : a < b;
  };
  std::set<std::size_t, decltype(first)> running(first);
  TimeNs at = span.start;
  const auto advance = [&](TimeNs to) {
    if (to <= at) return;
    StepPiece piece = {.span = number, .time = {at, to}};
    if (!running.empty()) {
      piece.activity = tasks[*running.begin()].activity;
      piece.task = tasks[*running.begin()].task;
    }
    use(piece);
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
}

}  // namespace

void ForEachPiece(const TraceStore& store, NameFacts& names, ProcessId process,
                  std::span<const Interval> spans,
                  const std::function<void(const StepPiece&)>& use) {
  if (spans.empty()) return;
  Interval extent = spans.front();
  for (const Interval& span : spans) extent.end = std::max(extent.end, span.end);
  const std::vector<SweepTask> tasks = SweepTasks(store, names, process, extent);
  std::vector<TimeNs> ended_by;  // Latest end among this task and all earlier ones.
  ended_by.reserve(tasks.size());
  for (const SweepTask& task : tasks)
    ended_by.push_back(ended_by.empty() ? task.end : std::max(ended_by.back(), task.end));
  for (std::size_t number = 0; number < spans.size(); ++number) {
    const Interval span = spans[number];
    const auto first = std::upper_bound(ended_by.begin(), ended_by.end(), span.start);
    const auto last = std::partition_point(
        tasks.begin(), tasks.end(), [&](const SweepTask& task) { return task.start < span.end; });
    const auto begin = tasks.begin() + (first - ended_by.begin());
    SplitSpan(begin < last ? std::span(begin, last) : std::span<const SweepTask>(), number, span,
              use);
  }
}

void AddPiece(const StepPiece& piece, const Attribution& attribution, const HostActivity& host,
              StepBreakdown& step) {
  if (piece.activity == GpuActivity::kIdle) return SplitIdle(piece.time, host, step.step);
  const auto part = PartOf(piece.activity, attribution.Of(piece.task).phase);
  step.step.*part += piece.time.length();
  step.gpu.*part += piece.time.length();
}

std::vector<StepBreakdown> BreakDown(const TraceStore& store, NameFacts& names,
                                     const Attribution& attribution, const HostActivity& host,
                                     ProcessId process, std::span<const Interval> spans) {
  std::vector<StepBreakdown> out(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) out[i].wall = spans[i].length();
  ForEachPiece(store, names, process, spans, [&](const StepPiece& piece) {
    AddPiece(piece, attribution, host, out[piece.span]);
  });
  return out;
}

StepBreakdown MeanOf(std::span<const StepBreakdown> steps) {
  const auto count = static_cast<std::int64_t>(steps.size());
  StepBreakdown mean;
  mean.steps = count;
  DurationNs wall;
  for (const StepBreakdown& step : steps) wall += step.wall;
  mean.wall = DurationNs(wall.ns() / count);
  std::vector<DurationNs> values(steps.size());
  DurationNs left = mean.wall;  // The remainder from rounding, at most 1 ns per part.
  DurationNs BreakdownParts::*largest = kBreakdownParts.front().time;
  for (const BreakdownPart& row : kBreakdownParts) {
    const auto part = row.time;
    DurationNs step_sum, gpu_sum;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      values[i] = steps[i].step.*part;
      step_sum += values[i];
      gpu_sum += steps[i].gpu.*part;
    }
    mean.step.*part = DurationNs(step_sum.ns() / count);
    mean.gpu.*part = DurationNs(gpu_sum.ns() / count);
    left -= mean.step.*part;
    if (mean.step.*part > mean.step.*largest) largest = part;
    std::sort(values.begin(), values.end());
    mean.median.*part = SortedPercentile(values, 50);
    mean.p90.*part = SortedPercentile(values, 90);
  }
  mean.step.*largest += left;
  return mean;
}

}  // namespace headroom
