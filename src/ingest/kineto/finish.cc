#include "ingest/kineto/finish.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace headroom::kineto {
namespace {

HostEventKind KindOf(std::string_view category) {
  if (category == "cpu_op") return HostEventKind::kOperator;
  if (category == "user_annotation") return HostEventKind::kAnnotation;
  if (category == "python_function") return HostEventKind::kPythonFrame;
  return HostEventKind::kOther;
}

/// The members of both, the end's behind those of the beginning, so that of equal keys it wins.
StringId JoinArgs(StringId begin, StringId end, TraceStore& store) {
  if (!begin.valid() || !end.valid()) return begin.valid() ? begin : end;
  std::string joined(store.Text(begin));
  joined.append(", ").append(store.Text(end));
  return store.strings.Intern(joined);
}

void AppendSpan(const HalfSpan& begin, TimeNs end, StringId end_args, TraceStore& store) {
  auto& rows = store.host_events;
  rows.start.Append(begin.time);
  rows.duration.Append(std::max(end - begin.time, DurationNs(0)));
  rows.name.Append(begin.name);
  rows.category.Append(begin.category);
  rows.thread.Append(begin.thread);
  rows.kind.Append(KindOf(store.Text(begin.category)));
  rows.correlation.Append(kUnknown);
  rows.external_id.Append(kUnknown);
  rows.sequence.Append(kUnknown);
  rows.forward_thread.Append(kUnknown32);
  rows.python_id.Append(kUnknown32);
  rows.python_parent_id.Append(kUnknown32);
  rows.event_index.Append(kUnknown32);
  rows.record_function.Append(kUnknown32);
  rows.args.Append(JoinArgs(begin.args, end_args, store));
}

/// The last moment that the trace knows of.
TimeNs EndOfTrace(const LateRows& late, const TraceStore& store) {
  TimeNs end(INT64_MIN);
  for (const HalfSpan& span : late.half_spans) end = std::max(end, span.time);
  for (std::size_t row = 0; row < store.host_events.rows(); ++row) {
    end = std::max(end,
                   store.host_events.start.Pending(row) + store.host_events.duration.Pending(row));
  }
  // Not their ends: a damaged duration must not stretch spans that never ended.
  for (std::size_t row = 0; row < store.gpu_tasks.rows(); ++row) {
    end = std::max(end, store.gpu_tasks.start.Pending(row));
  }
  return end;
}

/// Multiplies the unit away: times were read as microseconds but are nanoseconds.
template <typename Table>
void DivideTimes(Table& table) {
  table.ForEachColumn([](const char*, auto& column) {
    using Value = std::remove_cvref_t<decltype(column.Mutable(0))>;
    if constexpr (std::is_same_v<Value, TimeNs> || std::is_same_v<Value, DurationNs>) {
      for (std::size_t row = 0; row < column.size(); ++row)
        column.Mutable(row) = Value(column[row].ns() / 1000);
    }
  });
}

/// Counts the rows of an unfrozen table that start before the previous row of their track and kind.
template <typename Table, typename TrackColumn>
std::int64_t CountStepsBack(const Table& table, const TrackColumn& tracks, std::size_t track_count,
                            std::size_t kind_count) {
  std::vector<TimeNs> last(track_count * kind_count, TimeNs(INT64_MIN));
  std::int64_t count = 0;
  for (std::size_t row = 0, rows = table.rows(); row < rows; ++row) {
    const auto kind = table.kind.Pending(row);
    TimeNs& previous =
        last[tracks.Pending(row).index() * kind_count + static_cast<std::size_t>(kind)];
    const TimeNs start = table.start.Pending(row);
    if constexpr (std::is_same_v<decltype(kind), const HostEventKind>) {
      if (kind == HostEventKind::kGpuAnnotation) continue;
    }
    if (start < previous) ++count;
    previous = start;
  }
  return count;
}

}  // namespace

void CountOutOfOrder(TraceStore& store) {
  constexpr std::size_t kHostKinds = static_cast<std::size_t>(HostEventKind::kOther) + 1;
  constexpr std::size_t kGpuKinds = static_cast<std::size_t>(GpuTaskKind::kMemset) + 1;
  const std::int64_t count =
      CountStepsBack(store.host_events, store.host_events.thread, store.threads.rows(),
                     kHostKinds) +
      CountStepsBack(store.gpu_tasks, store.gpu_tasks.stream, store.streams.rows(), kGpuKinds);
  if (count > 0) store.log.Add(ImportIssue::kOutOfOrder, -1, {}, count);
}

void PairHalfSpans(const LateRows& late, TraceStore& store) {
  if (late.half_spans.empty()) return;
  std::vector<HalfSpan> halves = late.half_spans;
  std::stable_sort(halves.begin(), halves.end(), [](const HalfSpan& a, const HalfSpan& b) {
    return a.thread != b.thread ? a.thread < b.thread : a.time < b.time;
  });
  const TimeNs end_of_trace = EndOfTrace(late, store);
  std::vector<HalfSpan> open;
  std::unordered_map<StringId, std::size_t> open_with_name;
  const auto close_last = [&](TimeNs end, StringId end_args = StringId::None()) {
    AppendSpan(open.back(), end, end_args, store);
    --open_with_name[open.back().name];
    open.pop_back();
  };
  const auto close_all = [&] {
    while (!open.empty()) {
      store.log.Add(ImportIssue::kUnfinishedSpan, open.back().offset);
      close_last(end_of_trace);
    }
  };
  for (const HalfSpan& half : halves) {
    if (!open.empty() && open.back().thread != half.thread) close_all();
    if (half.begins) {
      open.push_back(half);
      ++open_with_name[half.name];
      continue;
    }
    // An end may leave out the name; with one, it ends the innermost span of that name.
    const bool named = !store.Text(half.name).empty();
    if (open.empty() || (named && open_with_name[half.name] == 0)) {
      store.log.Add(ImportIssue::kUnmatchedEnd, half.offset);
      continue;
    }
    // Spans inside it that never ended end with it.
    while (named && open.back().name != half.name) {
      store.log.Add(ImportIssue::kUnfinishedSpan, open.back().offset);
      close_last(half.time);
    }
    close_last(half.time, half.args);
  }
  close_all();
}

void SettleTimeUnit(const LateRows& late, TraceStore& store) {
  std::vector<double> ratios;  // Read duration / duration by bandwidth.
  for (const BandwidthSample& sample : late.bandwidths) {
    const double by_bandwidth_ns = static_cast<double>(sample.bytes) / sample.gigabytes_per_second;
    ratios.push_back(static_cast<double>(sample.duration.ns()) / by_bandwidth_ns);
  }
  const bool fractional = late.fractional_times;
  bool agrees = false;
  if (!ratios.empty()) {
    std::nth_element(ratios.begin(),
                     ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2), ratios.end());
    const double median = ratios[ratios.size() / 2];
    agrees = median > 0.5 && median < 2;
    if (!fractional && median > 500 && median < 2000) {
      store.log.Add(ImportIssue::kNanosecondStamps);
#define T(Name, member, sentence) DivideTimes(store.member);
      HEADROOM_TABLES(T)
#undef T
      agrees = true;
    }
  }
  store.metadata.time_unit_proven = fractional || agrees;
  const bool has_times = store.host_events.rows() + store.gpu_tasks.rows() > 0;
  if (!store.metadata.time_unit_proven && has_times) store.log.Add(ImportIssue::kUnprovenTimeUnit);
}

void ClipOverflowingTasks(TraceStore& store) {
  const std::size_t tasks = store.gpu_tasks.rows();
  if (tasks == 0) return;
  // The extent of the trace by everything that starts in it: one wrong duration cannot stretch
  // that.
  TimeNs first = store.gpu_tasks.start[0];
  TimeNs last = store.gpu_tasks.start[tasks - 1];
  for (std::size_t row = 0; row < store.host_events.rows(); ++row) {
    if (store.host_events.kind[row] == HostEventKind::kOther) continue;
    first = std::min(first, store.host_events.start[row]);
    last = std::max(last, store.host_events.start[row]);
  }
  // A short trace may well end with its longest task.
  constexpr DurationNs kAlwaysAllowed(60'000'000'000);
  const TimeNs limit = last + std::max(last - first, kAlwaysAllowed);
  for (std::size_t s = 0; s < store.streams.rows(); ++s) {
    const std::span<const GpuTaskId> of_stream = store.TasksOf(StreamId(s));
    for (std::size_t i = 0; i < of_stream.size(); ++i) {
      if (store.TaskEnd(of_stream[i]) <= limit) continue;
      // The last task of its stream has no successor; the trace ends with it.
      const TimeNs end =
          i + 1 < of_stream.size() ? store.gpu_tasks.start[of_stream[i + 1].index()] : last;
      DurationNs& duration = store.gpu_tasks.duration.Mutable(of_stream[i].index());
      duration = std::max(end - store.gpu_tasks.start[of_stream[i].index()], DurationNs(0));
      store.log.Add(ImportIssue::kOverflowingDuration);
    }
  }
}

}  // namespace headroom::kineto
