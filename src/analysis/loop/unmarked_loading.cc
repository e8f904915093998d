#include "analysis/loop/unmarked_loading.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/steps/pauses.h"
#include "base/ascii.h"
#include "base/text.h"
#include "store/slice.h"

namespace headroom {
namespace {

/// Returns true if a word in the name of a frame or range shows that it is not a loader. The rules'
/// roles cover more; these words are too common for rules.
bool IsNoLoader(std::string_view name) {
  static constexpr std::array<std::string_view, 26> kWords = {
      "save",   "saving",   "checkpoint", "log",       "logger",   "logging",  "print",
      "eval",   "evaluate", "evaluation", "val",       "valid",    "validate", "validation",
      "metric", "metrics",  "callback",   "callbacks", "hook",     "barrier",  "sleep",
      "plot",   "report",   "write",      "ema",       "scheduler"};
  // Such frames belong to learning-rate schedulers and weight averages.
  if (name.find("torch/optim/") != std::string_view::npos) return true;
  // Keeps only the function's name, such as "save_model" in "train.py(30): save_model".
  if (const std::size_t colon = name.rfind(": "); colon != std::string_view::npos)
    name.remove_prefix(colon + 2);
  const std::string lower = LowerCase(name) + " ";
  std::size_t begin = 0;
  for (std::size_t at = 0; at < lower.size(); ++at) {
    if (IsLetter(lower[at])) continue;
    const std::string_view word = std::string_view(lower).substr(begin, at - begin);
    if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return true;
    begin = at + 1;
  }
  return false;
}

bool IsCall(HostEventKind kind) {
  return kind == HostEventKind::kRuntimeCall || kind == HostEventKind::kDriverCall;
}

/// The loop of one thread.
class Loop {
 public:
  Loop(const TraceStore& store, NameFacts& names, const Attribution& attribution, ThreadId thread)
      : store_(store),
        names_(names),
        attribution_(attribution),
        thread_(thread),
        range_(store.HostEventsOf(thread)) {
    const auto& events = store.host_events;
    for (std::uint32_t row = range_.first; row < range_.last; ++row) {
      const bool is_range = events.kind[row] == HostEventKind::kAnnotation ||
                            events.kind[row] == HostEventKind::kOperator;
      if (is_range && PhaseOf(row) == Phase::kOptimizer)
        updates_.AppendInOrder({events.start[row], store.HostEnd(HostEventId(row))});
    }
  }

  const IntervalSet& updates() const { return updates_; }

  /// Returns the gaps in which the host is between an update and the next pass. The first gap
  /// starts at `begin`.
  std::vector<Interval> Gaps(TimeNs begin) const {
    const auto& events = store_.host_events;
    std::vector<Interval> gaps;
    TimeNs from = begin;  // Start of the open gap.
    bool open = true;
    auto update = updates_.intervals().begin();
    for (std::uint32_t row = range_.first; row < range_.last; ++row) {
      const TimeNs start = events.start[row];
      while (update != updates_.intervals().end() && update->end <= start) {
        from = std::max(begin, update->end);
        open = true;
        ++update;
      }
      if (!open || start < from || !BeginsPass(row)) continue;
      const TimeNs pass = OutermostStart(row, from);
      if (pass > from) gaps.push_back({from, pass});
      open = false;
    }
    return gaps;
  }

  /// Returns the times in the gap in which the host does work other than loading.
  IntervalSet OthersIn(Interval gap) const {
    std::vector<Interval> others;
    ForEachIn(gap, [&](std::uint32_t row) {
      if (IsOther(row))
        others.push_back({store_.host_events.start[row], store_.HostEnd(HostEventId(row))});
    });
    return IntervalSet::UnionOf(std::move(others));
  }

  /// Returns the longest frame, range or operator inside the gap.
  HostEventId LongestIn(Interval gap) const {
    const auto& events = store_.host_events;
    HostEventId longest;
    ForEachIn(gap, [&](std::uint32_t row) {
      const HostEventKind kind = events.kind[row];
      if ((kind != HostEventKind::kPythonFrame && kind != HostEventKind::kAnnotation &&
           kind != HostEventKind::kOperator) ||
          store_.HostEnd(HostEventId(row)) > gap.end || IsOther(row))
        return;
      if (!longest.valid() || events.duration[row] > events.duration[longest.index()])
        longest = HostEventId(row);
    });
    return longest;
  }

 private:
  Phase PhaseOf(std::uint32_t row) const { return attribution_.Of(HostEventId(row)).phase; }

  /// Returns true if the event launches work or enters the graph of a pass.
  bool BeginsPass(std::uint32_t row) const {
    const auto& events = store_.host_events;
    const Phase phase = PhaseOf(row);
    if (phase == Phase::kOptimizer || phase == Phase::kCallback || phase == Phase::kDataWait)
      return false;
    if (events.kind[row] == HostEventKind::kOperator) return events.sequence[row] >= 0;
    if (!IsCall(events.kind[row])) return false;
    const HostRoles roles = names_.Roles(events.name[row]);
    return roles.Has(HostRole::kKernelLaunch) || roles.Has(HostRole::kGraphLaunch);
  }

  /// Returns the start of the outermost operator around the row that begins at `from` or later.
  TimeNs OutermostStart(std::uint32_t row, TimeNs from) const {
    const auto& events = store_.host_events;
    TimeNs start = events.start[row];
    for (HostEventId around = events.parent[row];
         around.valid() && events.start[around.index()] >= from;
         around = events.parent[around.index()]) {
      // A step's mark or a frame may begin with the loader.
      if (events.kind[around.index()] == HostEventKind::kOperator)
        start = events.start[around.index()];
    }
    return start;
  }

  bool IsOther(std::uint32_t row) const {
    const auto& events = store_.host_events;
    const HostEventKind kind = events.kind[row];
    if (IsCall(kind)) return true;
    const HostRoles roles = names_.Roles(events.name[row]);
    for (const HostRole other :
         {HostRole::kCompilation, HostRole::kAutotuning, HostRole::kCheckpoint,
          HostRole::kGarbageCollection, HostRole::kEvaluation}) {
      if (roles.Has(other)) return true;
    }
    const Phase phase = PhaseOf(row);
    if (kind == HostEventKind::kAnnotation || kind == HostEventKind::kOperator) {
      if (phase == Phase::kCallback || phase == Phase::kCommunication ||
          phase == Phase::kHostToDevice || phase == Phase::kBackward)
        return true;
    }
    if (kind == HostEventKind::kAnnotation || kind == HostEventKind::kPythonFrame)
      return IsNoLoader(store_.Text(events.name[row]));
    return kind == HostEventKind::kOperator && MakesCalls(row);
  }

  bool MakesCalls(std::uint32_t row) const {
    const auto& events = store_.host_events;
    const TimeNs end = store_.HostEnd(HostEventId(row));
    for (std::uint32_t inside = row + 1; inside < range_.last && events.start[inside] < end;
         ++inside) {
      if (IsCall(events.kind[inside])) return true;
    }
    return false;
  }

  /// Calls f(row) for the events that begin in the gap.
  template <typename F>
  void ForEachIn(Interval gap, F f) const {
    const auto [first, last] = HostEventsWithin(store_, thread_, gap);
    for (std::uint32_t row = first; row < last; ++row) f(row);
  }

  const TraceStore& store_;
  NameFacts& names_;
  const Attribution& attribution_;
  ThreadId thread_;
  TraceStore::RowRange range_;
  IntervalSet updates_;
};

/// Returns true if a range of the process marks a loader that the loop waits for.
bool HasMarkedLoader(const TraceStore& store, const Attribution& attribution, ProcessId process) {
  const auto& events = store.host_events;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (attribution.Of(HostEventId(row)).phase == Phase::kDataWait &&
        (!process.valid() || store.threads.process[events.thread[row].index()] == process))
      return true;
  }
  return false;
}

}  // namespace

UnmarkedLoading FindUnmarkedLoading(const TraceStore& store, NameFacts& names,
                                    const Attribution& attribution, const StepAnalysis& steps) {
  constexpr double kMinShare = 0.05;
  UnmarkedLoading found;
  // If tasks were lost, the GPU may only seem idle.
  if (store.log.Count(ImportIssue::kBadTime) > 0) return found;
  if (steps.hosts.empty() || HasMarkedLoader(store, attribution, steps.process)) return found;
  std::optional<Loop> loop;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    if (steps.process.valid() && store.threads.process[t] != steps.process) continue;
    if (attribution.IsAutogradThread(ThreadId(t))) continue;
    Loop other(store, names, attribution, ThreadId(t));
    if (other.updates().empty() || (loop && other.updates().Measure() <= loop->updates().Measure()))
      continue;
    loop.emplace(std::move(other));
    found.thread = ThreadId(t);
  }
  if (!loop) return found;
  DurationNs all;
  for (const StepRow& row : steps.steps.list) all += row.wall;
  const std::vector<Interval> gaps = loop->Gaps(steps.hosts.front().start);
  IntervalSet time;
  for (const Interval& gap : gaps) {
    const IntervalSet own = Subtract(IntervalSet::UnionOf({gap}), loop->OthersIn(gap));
    for (const Interval& piece : own.intervals()) time.AppendInOrder(piece);
  }
  time = Subtract(Subtract(time, steps.busy), PausesBetween(steps));
  Interval longest_gap;
  DurationNs longest;
  for (const Interval& gap : gaps) {
    if (time.MeasureWithin(gap) <= longest) continue;
    longest = time.MeasureWithin(gap);
    longest_gap = gap;
  }
  if (static_cast<double>(time.Measure().ns()) < kMinShare * static_cast<double>(all.ns()))
    return found;
  found.time = std::move(time);
  found.longest = loop->LongestIn(longest_gap);
  return found;
}

}  // namespace headroom
