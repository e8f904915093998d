#include "ingest/kineto/half_spans.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ingest/kineto/event_scanner.h"
#include "ingest/names/category.h"

namespace headroom::kineto {
namespace {

/// Returns the arguments of both halves. Those of the end come last, so they win for equal keys.
StringId JoinArgs(StringId begin, StringId end, TraceStore& store) {
  if (!begin.valid() || !end.valid()) return begin.valid() ? begin : end;
  std::string joined(store.Text(begin));
  joined.append(", ").append(store.Text(end));
  return store.strings.Intern(joined);
}

/// Returns the latest recorded moment of the trace.
TimeNs EndOfTrace(const LateRows& late, const TraceStore& store) {
  TimeNs end(INT64_MIN);
  for (const HalfSpan& half : late.half_spans) end = std::max(end, half.time);
  for (const AsyncHalf& half : late.async_halves) end = std::max(end, half.time);
  for (std::size_t row = 0; row < store.host_events.rows(); ++row) {
    end = std::max(end,
                   store.host_events.start.Pending(row) + store.host_events.duration.Pending(row));
  }
  // Ignores the ends of GPU tasks: a damaged duration must not stretch spans that never ended.
  for (std::size_t row = 0; row < store.gpu_tasks.rows(); ++row) {
    end = std::max(end, store.gpu_tasks.start.Pending(row));
  }
  return end;
}

/// Builds, from the two halves of a span, the row that one complete event would give.
class PairedEvents {
 public:
  PairedEvents(Merger& merger, TraceStore& store) : merger_(merger), store_(store) {}
  PairedEvents(const PairedEvents&) = delete;
  PairedEvents& operator=(const PairedEvents&) = delete;

  bool IsTask(const HalfSpan& begin) const {
    return IsGpuTask(RuleOfCategory(store_.Text(begin.category)));
  }
  /// Collects a GPU task; AppendTasks() appends it to the store.
  void AddTask(const HalfSpan& begin, TimeNs end, StringId end_args) {
    RawEvent event = Whole(begin, end_args);
    const std::size_t thread = begin.thread.index();
    const std::size_t process = store_.threads.process.Pending(thread).index();
    event.name = {.text = store_.Text(begin.name)};
    event.category = {.text = store_.Text(begin.category)};
    event.process = {.text = store_.Text(store_.processes.pid.Pending(process))};
    event.thread = {.text = store_.Text(store_.threads.tid.Pending(thread))};
    tasks_builder_.AddPairedTask(event, {begin.time, std::max(end - begin.time, DurationNs(0))},
                                 begin.offset);
  }
  void AppendTasks() { merger_.Append(tasks_, ids_, map_); }

  /// Appends a host event and returns its row.
  std::size_t AppendHostEvent(const HalfSpan& begin, TimeNs end, StringId end_args) {
    auto& rows = store_.host_events;
    const std::size_t row = AppendUnknown(rows);
    rows.start.MutablePending(row) = begin.time;
    rows.duration.MutablePending(row) = std::max(end - begin.time, DurationNs(0));
    rows.name.MutablePending(row) = begin.name;
    rows.category.MutablePending(row) = begin.category;
    rows.thread.MutablePending(row) = begin.thread;
    rows.kind.MutablePending(row) = begin.kind;
    if (begin.args.valid() || end_args.valid()) FillArgs(row, Whole(begin, end_args), begin.offset);
    return row;
  }

 private:
  /// Returns an event with the arguments of both halves. Its text stays valid until the next call.
  RawEvent Whole(const HalfSpan& begin, StringId end_args) {
    const StringId args = JoinArgs(begin.args, end_args, store_);
    text_ = R"({"ph":"X","args":{)";
    text_.append(args.valid() ? store_.Text(args) : "").append("}}");
    const std::size_t size = text_.size();
    text_.append(kPadding, '\0');
    RawEvent event;
    std::size_t next = 0;
    if (ScanEvent(std::string_view(text_).substr(0, size), 0, event, next) != ScanResult::kEvent)
      event = RawEvent();
    return event;
  }

  void FillArgs(std::size_t row, const RawEvent& event, std::int64_t offset) {
    args_.Clear();
    args_builder_.AddArgsOfHostEvent(event, offset);
    auto& rows = store_.host_events;
    const auto& read = args_.host_events;
    rows.correlation.MutablePending(row) = read.correlation[0];
    rows.external_id.MutablePending(row) = read.external_id[0];
    rows.sequence.MutablePending(row) = read.sequence[0];
    rows.forward_thread.MutablePending(row) = read.forward_thread[0];
    rows.python_id.MutablePending(row) = read.python_id[0];
    rows.python_parent_id.MutablePending(row) = read.python_parent_id[0];
    rows.event_index.MutablePending(row) = read.event_index[0];
    rows.record_function.MutablePending(row) = read.record_function[0];
    if (const StringId rest = read.args[0]; rest.valid())
      rows.args.MutablePending(row) = store_.strings.Intern(ids_.strings.Get(rest));
  }

  Merger& merger_;
  TraceStore& store_;
  WorkerIds ids_;
  IdMap map_;
  RowBatch tasks_, args_;
  RowBuilder tasks_builder_{ids_, tasks_}, args_builder_{ids_, args_};
  std::string text_;
};

/// Pairs the halves of one thread or operation at a time.
class Pairing {
 public:
  Pairing(TimeNs end_of_trace, TraceStore& store, PairedEvents& events)
      : end_of_trace_(end_of_trace), store_(store), events_(events) {}

  /// Pairs `halves`: all halves of one thread or operation, in order of time. Calls
  /// `appended(begin, row)` for each span. O(n) in the number of halves.
  template <typename Half, typename Appended>
  void Pair(std::span<const Half> halves, Appended appended) {
    NoteNamedEnds(halves);
    innermost_ = kNone;
    const auto close = [&](std::size_t i, TimeNs end, StringId end_args = StringId::None()) {
      Remove(i, halves[i].name);
      if (events_.IsTask(halves[i])) return events_.AddTask(halves[i], end, end_args);
      appended(halves[i], events_.AppendHostEvent(halves[i], end, end_args));
    };
    const auto close_unfinished = [&](std::size_t i, TimeNs end) {
      store_.log.Add(ImportIssue::kUnfinishedSpan, halves[i].offset);
      // A kernel gets length 0: its end is unknown, and the end of the enclosing span says nothing
      // about it.
      close(i, events_.IsTask(halves[i]) ? halves[i].time : end);
    };
    for (std::size_t i = 0; i < halves.size(); ++i) {
      const HalfSpan& half = halves[i];
      if (half.begins) {
        Open(i, half.name);
        continue;
      }
      // An end may omit the name. With a name, it ends the innermost span of that name.
      const bool named = IsNamed(half);
      const std::size_t ended = named ? InnermostOf(half.name) : innermost_;
      if (ended == kNone) {
        store_.log.Add(ImportIssue::kUnmatchedEnd, half.offset);
        continue;
      }
      // Also closes the inner spans that never end. Inner spans that end later overlap this span.
      for (std::size_t inner = spans_[ended].inside; inner != kNone && !spans_[inner].has_end;) {
        const std::size_t next = spans_[inner].inside;
        close_unfinished(inner, half.time);
        inner = next;
      }
      close(ended, half.time, half.args);
    }
    while (innermost_ != kNone) close_unfinished(innermost_, end_of_trace_);
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  /// State of the span that a half begins; unused for ends.
  struct OpenSpan {
    std::size_t around = kNone, inside = kNone;  ///< The next outer and inner open spans.
    std::size_t around_of_name = kNone;  ///< The next outer span of that name; may be closed.
    bool has_end = false;                ///< An end with its name follows.
    bool is_open = false;
  };

  bool IsNamed(const HalfSpan& half) const { return !store_.Text(half.name).empty(); }

  std::size_t InnermostOf(StringId name) const {
    const auto found = innermost_of_name_.find(name);
    return found == innermost_of_name_.end() ? kNone : found->second;
  }

  /// Sets `has_end` for each half that begins a span.
  template <typename Half>
  void NoteNamedEnds(std::span<const Half> halves) {
    spans_.assign(halves.size(), OpenSpan());
    for (std::size_t i = 0; i < halves.size(); ++i) {
      const StringId name = halves[i].name;
      if (halves[i].begins) {
        spans_[i].around_of_name = std::exchange(Slot(name), i);
      } else if (const std::size_t begin = InnermostOf(name);
                 begin != kNone && IsNamed(halves[i])) {
        spans_[begin].has_end = true;
        Slot(name) = spans_[begin].around_of_name;
      }
    }
    for (const Half& half : halves) innermost_of_name_.erase(half.name);
  }

  std::size_t& Slot(StringId name) {
    return innermost_of_name_.try_emplace(name, kNone).first->second;
  }

  void Open(std::size_t i, StringId name) {
    OpenSpan& span = spans_[i];
    span.is_open = true;
    span.around_of_name = std::exchange(Slot(name), i);
    span.around = innermost_;
    span.inside = kNone;
    if (innermost_ != kNone) spans_[innermost_].inside = i;
    innermost_ = i;
  }

  void Remove(std::size_t i, StringId name) {
    OpenSpan& span = spans_[i];
    span.is_open = false;
    if (span.around != kNone) spans_[span.around].inside = span.inside;
    (span.inside != kNone ? spans_[span.inside].around : innermost_) = span.around;
    std::size_t& innermost = Slot(name);
    while (innermost != kNone && !spans_[innermost].is_open)
      innermost = spans_[innermost].around_of_name;
  }

  TimeNs end_of_trace_;
  TraceStore& store_;
  PairedEvents& events_;
  std::vector<OpenSpan> spans_;  ///< Indexed by half.
  std::size_t innermost_ = kNone;
  std::unordered_map<StringId, std::size_t> innermost_of_name_;
};

/// Calls `f` for each run of rows with equal `key`.
template <typename Row, typename Key, typename F>
void ForEachRun(std::span<const Row> rows, Key key, F f) {
  for (std::size_t first = 0, last; first < rows.size(); first = last) {
    for (last = first + 1; last < rows.size() && key(rows[last]) == key(rows[first]);) ++last;
    f(rows.subspan(first, last - first));
  }
}

/// An asynchronous span that was appended to the store.
struct AsyncSpan {
  ProcessId process;  ///< The process where it began.
  TimeNs start, end;
  std::int64_t offset;
  std::size_t row;
};

/// An outermost span of one operation in one process, and the spans inside it.
struct Stretch {
  ProcessId process;
  TimeNs start;
  std::int64_t offset;  ///< Offset of its first event.
  TimeNs end;
  std::size_t first, last;  ///< Indices of its spans: [first, last).
};

/// Sorts the spans of one operation, spans[first, ...), and adds their stretches.
void AddStretches(std::size_t first, std::vector<AsyncSpan>& spans,
                  std::vector<Stretch>& stretches) {
  std::sort(spans.begin() + static_cast<std::ptrdiff_t>(first), spans.end(),
            [](const AsyncSpan& a, const AsyncSpan& b) {
              return std::tie(a.process, a.start, b.end, a.offset) <
                     std::tie(b.process, b.start, a.end, b.offset);
            });
  for (std::size_t i = first; i < spans.size(); ++i) {
    const AsyncSpan& span = spans[i];
    const bool goes_on =
        i > first && span.process == stretches.back().process && span.start < stretches.back().end;
    if (!goes_on) stretches.push_back({span.process, span.start, span.offset, span.end, i, i});
    Stretch& stretch = stretches.back();
    stretch.offset = std::min(stretch.offset, span.offset);
    stretch.end = std::max(stretch.end, span.end);
    stretch.last = i + 1;
  }
}

void GiveTracks(std::vector<Stretch> stretches, std::span<const AsyncSpan> spans, Merger& merger,
                TraceStore& store) {
  std::sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) {
    return std::tie(a.process, a.start, a.offset) < std::tie(b.process, b.start, b.offset);
  });
  const auto process_of = [](const Stretch& stretch) { return stretch.process; };
  struct Track {
    ThreadId thread;
    TimeNs free_from;
  };
  ForEachRun(std::span<const Stretch>(stretches), process_of, [&](std::span<const Stretch> own) {
    std::vector<Track> tracks;
    const ProcessId process = own.front().process;
    std::size_t number = 0;
    // The file's threads may already have this name, most often in files that Headroom exported.
    const auto next_tid = [&] {
      StringId tid;
      do {
        tid = store.strings.Intern("async " + std::to_string(++number));
      } while (merger.HasThread(process, tid));
      return tid;
    };
    for (const Stretch& stretch : own) {
      auto track = std::find_if(tracks.begin(), tracks.end(),
                                [&](const Track& t) { return t.free_from <= stretch.start; });
      if (track == tracks.end() && tracks.size() < kMaxAsyncTracks) {
        const StringId pid = store.processes.pid.Pending(process.index());
        tracks.push_back({merger.ThreadOf(pid, next_tid()), stretch.end});
        track = tracks.end() - 1;
      } else if (track == tracks.end()) {
        --track;
      }
      track->free_from = std::max(track->free_from, stretch.end);
      for (const AsyncSpan& span : spans.subspan(stretch.first, stretch.last - stretch.first))
        store.host_events.thread.MutablePending(span.row) = track->thread;
    }
  });
}

void PairAsync(std::vector<AsyncHalf>& halves, Pairing& pairing, Merger& merger,
               TraceStore& store) {
  std::stable_sort(halves.begin(), halves.end(), [](const AsyncHalf& a, const AsyncHalf& b) {
    return std::tie(a.operation, a.time) < std::tie(b.operation, b.time);
  });
  std::vector<AsyncSpan> spans;
  std::vector<Stretch> stretches;
  const auto operation_of = [](const AsyncHalf& half) { return half.operation; };
  std::vector<std::span<const AsyncHalf>> operations;
  ForEachRun(std::span<const AsyncHalf>(halves), operation_of,
             [&](std::span<const AsyncHalf> of_operation) { operations.push_back(of_operation); });
  // Equal spans of two operations nest in the order in which the operations begin.
  std::sort(operations.begin(), operations.end(),
            [](const auto& a, const auto& b) { return a.front().offset < b.front().offset; });
  for (const std::span<const AsyncHalf> of_operation : operations) {
    const std::size_t first = spans.size();
    pairing.Pair(of_operation, [&](const HalfSpan& begin, std::size_t row) {
      const DurationNs duration = store.host_events.duration.Pending(row);
      spans.push_back({store.threads.process.Pending(begin.thread.index()), begin.time,
                       begin.time + duration, begin.offset, row});
    });
    AddStretches(first, spans, stretches);
  }
  GiveTracks(std::move(stretches), spans, merger, store);
}

}  // namespace

void PairHalfSpans(LateRows& late, Merger& merger, TraceStore& store) {
  std::vector<HalfSpan>& halves = late.half_spans;
  if (halves.empty() && late.async_halves.empty()) return;
  PairedEvents events(merger, store);
  Pairing pairing(EndOfTrace(late, store), store, events);
  std::stable_sort(halves.begin(), halves.end(), [](const HalfSpan& a, const HalfSpan& b) {
    return a.thread != b.thread ? a.thread < b.thread : a.time < b.time;
  });
  const auto thread_of = [](const HalfSpan& half) { return half.thread; };
  ForEachRun(std::span<const HalfSpan>(halves), thread_of, [&](std::span<const HalfSpan> own) {
    pairing.Pair(own, [](const HalfSpan&, std::size_t) {});
  });
  halves = {};
  PairAsync(late.async_halves, pairing, merger, store);
  late.async_halves = {};
  events.AppendTasks();
}

}  // namespace headroom::kineto
