#include "analysis/loop/run_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/loop/stacks.h"
#include "analysis/steps/pauses.h"
#include "analysis/steps/step_time.h"
#include "base/statistics.h"

namespace headroom {
namespace {

/// Host work that the role of its events identifies.
struct NamedWork {
  HostRole role;
  std::string_view row;
  bool beside_gpu;  ///< Counts even while the GPU works.
};
constexpr NamedWork kNamedWork[] = {
    {HostRole::kAutotuning, "autotuning", true},
    {HostRole::kEvaluation, "evaluation", true},
    {HostRole::kCompilation, "compilation", false},
    {HostRole::kGarbageCollection, "garbage collection", false},
    {HostRole::kCheckpoint, "checkpoints", false},
    {HostRole::kMemoryCall, "memory calls", false},
    {HostRole::kEpochEdge, "epoch edges", false},
};

std::string_view RowOfKind(StepKind kind) {
  switch (kind) {
    case StepKind::kEvaluation:
      return "evaluation";
    case StepKind::kPrefill:
      return "prefill steps";
    case StepKind::kDecode:
      return "decode steps";
    case StepKind::kMixed:
      return "mixed steps";
    case StepKind::kTraining:
    case StepKind::kTrainingAndEvaluation:
    case StepKind::kUnknown:
      break;
  }
  return "steps";
}

class Recording {
 public:
  Recording(const TraceStore& store, NameFacts& names, const StepAnalysis& steps)
      : store_(store),
        names_(names),
        steps_(steps),
        marks_(store.steps.event.values().begin(), store.steps.event.values().end()),
        recorded_(RecordedTime()),
        whole_(WholeProcess()) {
    for (auto& [thread, stacks] : StacksByThread(store)) {
      // Without marked steps, the thread with the most samples is that of the loop.
      if (store.steps.rows() > 0 ? thread == store.steps.thread[0]
                                 : stacks.list.size() > stacks_.list.size())
        stacks_ = stacks;
    }
    std::sort(marks_.begin(), marks_.end());
    left_ = IntervalSet::UnionOf({whole_});
    idle_ = store.gpu_tasks.rows() == 0 ? left_ : Subtract(left_, steps.busy);
  }

  Interval whole() const { return whole_; }
  const IntervalSet& idle() const { return idle_; }
  const IntervalSet& left() const { return left_; }
  /// Returns true if the recording contains the process's start.
  bool IsFromStart() const { return whole_.start < recorded_.start; }
  /// Returns the time until the process's first event or sample.
  Interval StartUp() const {
    TimeNs first = recorded_.start;
    if (!stacks_.list.empty()) first = std::min(first, stacks_.list.front().time);
    return {whole_.start, first};
  }
  /// Returns the time after the process's last event or sample.
  Interval Shutdown() const {
    TimeNs last = recorded_.end;
    if (!stacks_.list.empty()) last = std::max(last, stacks_.list.back().time);
    return {last, whole_.end};
  }
  IntervalSet Imports() const {
    return stacks_.TimeOf(
        [&](StringId stack) { return HasFrame(store_.Text(stack), kImportFrame); });
  }

  /// Assigns to a row the part of `time` that no earlier row has. Returns its length.
  DurationNs Take(const IntervalSet& time, std::string_view name, std::int64_t count = 0,
                  std::string example = {}) {
    const DurationNs taken = Intersect(left_, time).Measure();
    left_ = Subtract(left_, time);
    Add(name, taken, count, std::move(example));
    return taken;
  }
  void Add(std::string_view name, DurationNs time, std::int64_t count, std::string example) {
    if (time.ns() == 0) return;
    const auto same = std::find_if(rows_.begin(), rows_.end(),
                                   [&](const RunRow& row) { return row.name == name; });
    RunRow& row = same == rows_.end() ? rows_.emplace_back() : *same;
    row.name = name;
    row.time += time;
    row.count += count;
    if (row.example.empty()) row.example = std::move(example);
  }

  /// Assigns to a row the pauses in which the process has no event.
  void TakeUnrecorded(const IntervalSet& pauses) {
    const auto& events = store_.host_events;
    std::vector<Interval> recorded(steps_.busy.intervals());
    for (std::size_t row = 0; row < events.rows() && !pauses.empty(); ++row) {
      if (IsOfProcess(row))
        recorded.push_back({events.start[row], store_.HostEnd(HostEventId(row))});
    }
    const IntervalSet events_of_process = IntervalSet::UnionOf(std::move(recorded));
    constexpr std::int64_t kHardlyAny = 20;  // At most 1/20 of the pause.
    std::vector<Interval> silent;
    for (const Interval& pause : pauses.intervals()) {
      if (events_of_process.MeasureWithin(pause).ns() <= pause.length().ns() / kHardlyAny)
        silent.push_back(pause);
    }
    const IntervalSet nothing =
        Subtract(IntervalSet::UnionOf(std::move(silent)), events_of_process);
    Take(nothing, "not recorded", static_cast<std::int64_t>(nothing.size()));
  }

  /// Assigns to a row the time of the events with the role.
  void TakeNamed(const NamedWork& work) {
    const auto& events = store_.host_events;
    std::vector<Interval> found;
    std::int64_t count = 0;
    HostEventId longest;
    TimeNs until(INT64_MIN);
    ThreadId thread;
    for (std::size_t row = 0; row < events.rows(); ++row) {
      const HostEventKind kind = events.kind[row];
      if (kind == HostEventKind::kGpuAnnotation || !IsOfProcess(row) ||
          !names_.Roles(events.name[row]).Has(work.role))
        continue;
      if (events.thread[row] != thread) until = TimeNs(INT64_MIN);
      thread = events.thread[row];
      const TimeNs end = store_.HostEnd(HostEventId(row));
      if (end <= until) continue;  // Inside another event.
      until = end;
      found.push_back({events.start[row], end});
      ++count;
      if (!longest.valid() || events.duration[row] > events.duration[longest.index()])
        longest = HostEventId(row);
    }
    if (count == 0) return;
    const IntervalSet time = IntervalSet::UnionOf(std::move(found));
    Take(work.beside_gpu ? time : Intersect(time, idle_), work.row, count,
         std::string(store_.Text(events.name[longest.index()])));
  }

  /// Returns the name of the longest event in the interval, or an empty string.
  std::string LongestIn(Interval gap) const {
    const auto& events = store_.host_events;
    HostEventId longest;
    for (std::size_t row = 0; row < events.rows(); ++row) {
      const HostEventId event(row);
      if (events.kind[row] == HostEventKind::kGpuAnnotation || !IsOfProcess(row) ||
          events.start[row] < gap.start || store_.HostEnd(event) > gap.end ||
          std::binary_search(marks_.begin(), marks_.end(), event) ||
          names_.Roles(events.name[row]).Has(HostRole::kIteration))
        continue;
      if (!longest.valid() || events.duration[row] > events.duration[longest.index()])
        longest = event;
    }
    // An event that covers almost none of the gap does not explain it.
    constexpr std::int64_t kNextToNothing = 20;  // At least 1/20 of the gap.
    if (!longest.valid() ||
        events.duration[longest.index()].ns() < gap.length().ns() / kNextToNothing)
      return MostSampledIn(gap);
    return std::string(store_.Text(events.name[longest.index()]));
  }

  /// @param first  name of the row to put first
  RunTime Finish(std::string_view first) && {
    RunTime run;
    run.wall = whole_.length();
    std::stable_sort(rows_.begin(), rows_.end(), [&](const RunRow& a, const RunRow& b) {
      return std::pair(a.name != first, b.time) < std::pair(b.name != first, a.time);
    });
    for (RunRow& row : rows_) row.share_pct = SharePct(row.time, run.wall);
    run.rows = std::move(rows_);
    return run;
  }

 private:
  bool IsOfProcess(std::size_t row) const {
    return !steps_.process.valid() ||
           store_.threads.process[store_.host_events.thread[row].index()] == steps_.process;
  }

  /// Returns the line of code with the most samples, or an empty string.
  std::string MostSampledIn(Interval gap) const {
    std::map<std::string_view, std::int64_t> samples;
    for (const StackSamples::Sample& sample : stacks_.list) {
      if (sample.time >= gap.start && sample.time < gap.end)
        samples[OwnFrame(store_.Text(sample.stack))] += sample.count;
    }
    const auto most = std::ranges::max_element(
        samples, {}, &std::pair<const std::string_view, std::int64_t>::second);
    return most == samples.end() ? "" : std::string(most->first);
  }

  /// Returns the recorded time, extended to the process's start and end where these are recorded.
  Interval WholeProcess() const {
    Interval whole = recorded_;
    const auto& instants = store_.instants;
    for (std::size_t row = 0; row < instants.rows(); ++row) {
      if (store_.Text(instants.category[row]) != "headroom") continue;
      const std::string_view name = store_.Text(instants.name[row]);
      if (name == "process started") whole.start = std::min(whole.start, instants.time[row]);
      if (name == "process ended") whole.end = std::max(whole.end, instants.time[row]);
    }
    return whole;
  }

  Interval RecordedTime() const {
    Interval whole = {TimeNs(INT64_MAX), TimeNs(INT64_MIN)};
    const auto& events = store_.host_events;
    for (std::size_t row = 0; row < events.rows(); ++row) {
      const HostEventKind kind = events.kind[row];
      // The profiler's events and unknown events may lie outside the recording.
      if (!IsOfProcess(row) || kind == HostEventKind::kOther || kind == HostEventKind::kOverhead ||
          kind == HostEventKind::kGpuAnnotation)
        continue;
      whole.start = std::min(whole.start, events.start[row]);
      whole.end = std::max(whole.end, store_.HostEnd(HostEventId(row)));
    }
    for (const Interval& span : steps_.spans) {
      whole.start = std::min(whole.start, span.start);
      whole.end = std::max(whole.end, span.end);
    }
    for (const Interval& busy : steps_.busy.intervals()) {
      whole.start = std::min(whole.start, busy.start);
      whole.end = std::max(whole.end, busy.end);
    }
    return whole;
  }

  const TraceStore& store_;
  NameFacts& names_;
  const StepAnalysis& steps_;
  std::vector<HostEventId> marks_;  ///< Marks of the steps, by id.
  Interval recorded_;               ///< From the first event to the last.
  Interval whole_;
  StackSamples stacks_;  ///< Samples of the loop's thread.
  IntervalSet left_;     ///< Time without a row so far.
  IntervalSet idle_;     ///< GPU idle time.
  std::vector<RunRow> rows_;
};

/// Assigns the remaining time of the steps to their rows. Slow outliers count with the median time;
/// their excess gets a separate row. Returns the row of the steps that count.
std::string_view TakeSteps(const StepAnalysis& steps, std::optional<std::int64_t> optimizer_every,
                           Recording& recording) {
  struct Step {
    std::size_t row;
    DurationNs left;
  };
  std::vector<Step> counted;
  std::map<std::string_view, std::vector<Interval>> spans;
  TimeNs covered(INT64_MIN);  // Steps of several devices may overlap.
  for (std::size_t row = 0; row < steps.spans.size(); ++row) {
    const StepRow& step = steps.steps.list[row];
    const Interval own = {std::max(covered, steps.spans[row].start), steps.spans[row].end};
    covered = std::max(covered, own.end);
    if (step.Counts()) counted.push_back({row, recording.left().MeasureWithin(own)});
    if (own.length().ns() > 0) spans[RowOfKind(step.kind)].push_back(own);
  }
  for (auto& [name, of_kind] : spans) {
    const auto count = static_cast<std::int64_t>(of_kind.size());
    recording.Take(IntervalSet::UnionOf(std::move(of_kind)), name, count);
  }
  const std::string_view usual = RowOfKind(steps.steps.list[counted.front().row].kind);
  // Steps that accumulate gradients are compared by their position in the optimizer's cycle.
  const auto every = static_cast<std::size_t>(optimizer_every.value_or(1));
  for (std::size_t place = 0; place < every; ++place) {
    std::vector<DurationNs> lengths;
    for (std::size_t i = place; i < counted.size(); i += every) lengths.push_back(counted[i].left);
    std::sort(lengths.begin(), lengths.end());
    const DurationNs median = lengths.empty() ? DurationNs(0) : SortedPercentile(lengths, 50);
    if (median.ns() <= 0) continue;
    for (std::size_t i = place; i < counted.size(); i += every) {
      const Step& step = counted[i];
      if (!IsOutlier(step.left, median)) continue;
      const DurationNs more = step.left - median;
      recording.Add(usual, -more, 0, {});
      recording.Add(step.row == 0 ? "first step" : "slow steps", more, 1,
                    fmt::format("step {}", steps.steps.list[step.row].index));
    }
  }
  return usual;
}

}  // namespace

std::optional<RunTime> MeasureRun(const TraceStore& store, NameFacts& names,
                                  const Attribution& attribution, const StepAnalysis& steps,
                                  const HostActivity& host, const UnmarkedLoading& unmarked,
                                  std::optional<std::int64_t> optimizer_every) {
  if (!steps.steps.step_time) return std::nullopt;
  Recording recording(store, names, steps);
  recording.TakeUnrecorded(PausesBetween(steps));
  for (const NamedWork& work : kNamedWork) recording.TakeNamed(work);
  HostEventId wait = unmarked.longest;
  const auto& events = store.host_events;
  for (std::size_t row = 0; row < events.rows() && unmarked.empty(); ++row) {
    if (attribution.Of(HostEventId(row)).phase == Phase::kDataWait &&
        (!wait.valid() || events.duration[row] > events.duration[wait.index()]))
      wait = HostEventId(row);
  }
  const IntervalSet waits = Intersect(host.data_wait, recording.idle());
  const std::string wait_name(wait.valid() ? store.Text(events.name[wait.index()]) : "");
  if (recording.IsFromStart() && !steps.hosts.empty()) {
    const Interval until_first = {recording.whole().start, steps.hosts.front().end};
    recording.Take(Intersect(waits, IntervalSet::UnionOf({until_first})), "first batch", 1,
                   wait_name);
  }
  recording.Take(waits, "data wait", static_cast<std::int64_t>(host.data_wait.size()), wait_name);
  const std::string_view usual = TakeSteps(steps, optimizer_every, recording);
  const Interval in_steps = {steps.spans.front().start, steps.spans.back().end};
  const auto take_rest = [&](Interval within, std::string_view name) {
    Interval longest;
    std::int64_t count = 0;
    const IntervalSet gaps = Intersect(recording.left(), IntervalSet::UnionOf({within}));
    for (const Interval& gap : gaps.intervals()) {
      ++count;
      if (gap.length() > longest.length()) longest = gap;
    }
    if (count > 0) recording.Take(gaps, name, count, recording.LongestIn(longest));
  };
  // The first step may wait for GPU work that was not recorded.
  TimeNs earlier = steps.hosts.front().start;
  if (steps.steps.tasks_before_first > 0 && !steps.busy.empty())
    earlier = std::min(earlier, steps.busy.intervals().front().start);
  recording.Take(IntervalSet::UnionOf({{earlier, in_steps.start}}), "earlier work",
                 steps.steps.tasks_before_first);
  recording.Take(IntervalSet::UnionOf({recording.StartUp()}), "start-up");
  recording.Take(IntervalSet::UnionOf({recording.Shutdown()}), "shutdown");
  recording.Take(Intersect(recording.Imports(),
                           IntervalSet::UnionOf({{recording.whole().start, in_steps.start}})),
                 "imports");
  take_rest({recording.whole().start, in_steps.start}, "before steps");
  take_rest(in_steps, "between steps");
  take_rest({in_steps.end, recording.whole().end}, "after steps");
  return std::move(recording).Finish(usual);
}

}  // namespace headroom
