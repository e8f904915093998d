#include "ingest/kineto/finish.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

namespace headroom::kineto {
namespace {

/// Divides times by 1000: they were read as microseconds but are nanoseconds.
template <typename Table>
void DivideTimes(Table& table) {
  table.ForEachColumn([](const char*, auto& column) {
    using Value = std::remove_cvref_t<decltype(column.Pending(0))>;
    if constexpr (std::is_same_v<Value, TimeNs> || std::is_same_v<Value, DurationNs>) {
      for (std::size_t row = 0; row < column.size(); ++row)
        column.MutablePending(row) = Value(column.Pending(row).ns() / 1000);
    }
  });
}

void DivideAllTimes(LateRows& late, TraceStore& store) {
#define T(Name, member, sentence) DivideTimes(store.member);
  HEADROOM_TABLES(T)
#undef T
  for (HalfSpan& half : late.half_spans) half.time = TimeNs(half.time.ns() / 1000);
  for (AsyncHalf& half : late.async_halves) half.time = TimeNs(half.time.ns() / 1000);
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

/// Calls `f(table, time column)` for each table of a file's events.
template <typename F>
void ForEachTimedTable(TraceStore& store, F f) {
  f(store.host_events, store.host_events.start);
  f(store.gpu_tasks, store.gpu_tasks.start);
  f(store.syncs, store.syncs.start);
  f(store.flows, store.flows.time);
  f(store.counters, store.counters.time);
  f(store.memory_events, store.memory_events.time);
  f(store.instants, store.instants.time);
}

/// Returns true if the other timestamps show that 0 means "no timestamp" rather than a time.
bool IsZeroNoTime(const StampFacts& stamps, const TraceStore& store) {
  constexpr std::int64_t kMinute = 60'000'000'000;
  if (stamps.unix_times > stamps.other_times) return true;
  const bool has_base = store.metadata.base_time_ns.value_or(0) > 0;
  if (!has_base || stamps.other_times == 0 || stamps.zero_with_length) return false;
  const std::int64_t first = stamps.first.ns();
  return first > kMinute && first > (stamps.last - stamps.first).ns();
}

/// Removes the rows of an unfrozen table for which `is_lost` is true.
template <typename Table, typename IsLost>
void DropRows(Table& table, IsLost is_lost) {
  std::vector<bool> dropped(table.rows());
  for (std::size_t row = 0; row < dropped.size(); ++row) dropped[row] = is_lost(row);
  table.ForEachColumn([&](const char*, auto& column) {
    column.DropPending([&](std::size_t row) { return dropped[row]; });
  });
}

/// Removes GPU tasks, and the collectives that refer to them by row.
template <typename IsLost>
void DropTasks(TraceStore& store, IsLost is_lost) {
  auto& tasks = store.gpu_tasks;
  std::vector<GpuTaskId> new_task(tasks.rows(), GpuTaskId::None());
  std::size_t kept = 0;
  for (std::size_t row = 0; row < tasks.rows(); ++row) {
    if (!is_lost(row)) new_task[row] = GpuTaskId(kept++);
  }
  auto& of_collectives = store.collectives.task;
  for (std::size_t row = 0; row < store.collectives.rows(); ++row) {
    GpuTaskId& task = of_collectives.MutablePending(row);
    task = new_task[task.index()];
  }
  DropRows(store.collectives,
           [&](std::size_t row) { return !of_collectives.Pending(row).valid(); });
  DropRows(tasks, is_lost);
}

void DropZeroStamps(LateRows& late, TraceStore& store) {
  const StampFacts& stamps = late.stamps;
  if (stamps.zero_events + stamps.zero_arrows == 0 || !IsZeroNoTime(stamps, store)) return;
  const auto is_zero = [](const HalfSpan& half) { return half.time.ns() == 0; };
  std::erase_if(late.half_spans, is_zero);
  std::erase_if(late.async_halves, is_zero);
  DropTasks(store, [&](std::size_t row) { return store.gpu_tasks.start.Pending(row).ns() == 0; });
  ForEachTimedTable(store, [&](auto& table, const auto& times) {
    DropRows(table, [&](std::size_t row) { return times.Pending(row).ns() == 0; });
  });

  constexpr const char* kWhy = "0, far from all other timestamps";
  for (const std::int64_t offset : stamps.zero_offsets)
    store.log.Add(ImportIssue::kBadTime, offset, kWhy);
  const auto more = stamps.zero_events - static_cast<std::int64_t>(stamps.zero_offsets.size());
  if (more > 0) store.log.Add(ImportIssue::kBadTime, -1, kWhy, more);
  if (stamps.zero_arrows > 0)
    store.log.Add(ImportIssue::kZeroTimeEvents, -1, "arrows", stamps.zero_arrows);
}

void DropTasksOfOtherClocks(const StampFacts& stamps, TraceStore& store) {
  constexpr TimeNs kYearBeforeZero(-31'536'000'000'000'000);
  const bool in_unix_time = stamps.unix_times > stamps.other_times;
  const auto& starts = store.gpu_tasks.start;
  const auto is_lost = [&](std::size_t row) {
    const TimeNs start = starts.Pending(row);
    return IsUnixTime(start) != in_unix_time || start < kYearBeforeZero;
  };
  std::int64_t lost = 0;
  for (std::size_t row = 0; row < starts.size(); ++row) lost += is_lost(row) ? 1 : 0;
  if (lost == 0 || 2 * lost > static_cast<std::int64_t>(starts.size())) return;
  DropTasks(store, is_lost);
  store.log.Add(ImportIssue::kBadTime, -1, "years from all other timestamps", lost);
}

}  // namespace

void DropLostStamps(LateRows& late, TraceStore& store) {
  DropZeroStamps(late, store);
  DropTasksOfOtherClocks(late.stamps, store);
}

void CountOutOfOrder(TraceStore& store) {
  constexpr std::size_t kHostKinds = static_cast<std::size_t>(HostEventKind::kOther) + 1;
  constexpr std::size_t kGpuKinds = static_cast<std::size_t>(GpuTaskKind::kMemset) + 1;
  const std::int64_t count =
      CountStepsBack(store.host_events, store.host_events.thread, store.threads.rows(),
                     kHostKinds) +
      CountStepsBack(store.gpu_tasks, store.gpu_tasks.stream, store.streams.rows(), kGpuKinds);
  if (count > 0) store.log.Add(ImportIssue::kOutOfOrder, -1, {}, count);
}

void SettleTimeUnit(LateRows& late, TraceStore& store) {
  // Duration as read, divided by the duration that bytes and bandwidth imply.
  std::vector<double> ratios;
  for (const BandwidthSample& sample : late.bandwidths) {
    const double by_bandwidth_ns = static_cast<double>(sample.bytes) / sample.gigabytes_per_second;
    ratios.push_back(static_cast<double>(sample.duration.ns()) / by_bandwidth_ns);
  }
  bool proven = late.fractional_times;
  if (!ratios.empty()) {
    std::nth_element(ratios.begin(),
                     ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2), ratios.end());
    const double median = ratios[ratios.size() / 2];
    const bool nanoseconds = !late.fractional_times && median > 500 && median < 2000;
    proven = proven || nanoseconds || (median > 0.5 && median < 2);
    if (nanoseconds) {
      store.log.Add(ImportIssue::kNanosecondStamps);
      DivideAllTimes(late, store);
    }
  }
  const bool has_times = store.host_events.rows() + store.gpu_tasks.rows() +
                             late.half_spans.size() + late.async_halves.size() >
                         0;
  const bool said = store.log.Count(ImportIssue::kUnprovenTimeUnit) >
                    0;  // A copy already has this entry from its original.
  if (!proven && has_times && !said) store.log.Add(ImportIssue::kUnprovenTimeUnit);
}

TraceExtent ExtentOf(const LateRows& late, const TraceStore& store) {
  TraceExtent known, other;
  SeeStarts(store, known, other);
  const auto see_half = [&](const HalfSpan& half) {
    if (half.begins) (half.kind == HostEventKind::kOther ? other : known).See(half.time);
  };
  for (const HalfSpan& half : late.half_spans) see_half(half);
  for (const AsyncHalf& half : late.async_halves) see_half(half);
  return known.empty() ? other : known;
}

}  // namespace headroom::kineto
