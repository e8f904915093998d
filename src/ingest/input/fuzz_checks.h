// Checks for fuzz targets: invariants of a store that a reader filled, and equality of two readings
// of one file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ingest/input/json_members.h"
#include "store/trace_store.h"

namespace headroom {

/// Aborts if a condition does not hold, so that the fuzzer notices.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// Returns true if `args` are valid members of a JSON object. Text nested too deep for
/// AreJsonMembers() also counts as sound.
inline bool AreSound(std::string_view args) {
  constexpr std::ptrdiff_t kMaxOpen = 64;
  const auto opens =
      std::count_if(args.begin(), args.end(), [](char c) { return c == '[' || c == '{'; });
  return args.empty() || opens > kMaxOpen || AreJsonMembers(args);
}

/// Checks the invariants of every store.
inline void CheckInvariants(const TraceStore& store) {
  const auto& host = store.host_events;
  host.ForEachColumn(
      [&](const char* name, const auto& column) { Require(column.size() == host.rows(), name); });
  const auto& gpu = store.gpu_tasks;
  gpu.ForEachColumn(
      [&](const char* name, const auto& column) { Require(column.size() == gpu.rows(), name); });

  std::size_t by_thread = 0;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    const TraceStore::RowRange range = store.HostEventsOf(ThreadId(t));
    by_thread += range.last - range.first;
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      Require(host.thread[row] == ThreadId(t), "events in the range of a thread belong to it");
      Require(host.duration[row].ns() >= 0, "no negative lengths");
      if (row > range.first) Require(host.start[row - 1] <= host.start[row], "events are sorted");
      const HostEventId parent = host.parent[row];
      if (!parent.valid()) continue;
      Require(parent.index() < row && parent.index() >= range.first,
              "a parent precedes its children, on the same thread");
      Require(host.start[parent.index()] <= host.start[row], "a parent starts no later");
      Require(store.HostEnd(parent) + store.HostTolerance() >= store.HostEnd(HostEventId(row)),
              "a parent ends no earlier");
    }
  }
  Require(by_thread == host.rows(), "every event has a thread");

  std::size_t by_stream = 0;
  for (std::size_t s = 0; s < store.streams.rows(); ++s) {
    for (const GpuTaskId task : store.TasksOf(StreamId(s))) {
      Require(gpu.stream[task.index()] == StreamId(s),
              "tasks in the list of a stream belong to it");
      ++by_stream;
    }
  }
  Require(by_stream == gpu.rows(), "every task has a stream");
  for (std::size_t i = 0; i < gpu.rows(); ++i) {
    if (i > 0) Require(gpu.start[i - 1] <= gpu.start[i], "tasks are sorted");
    Require(gpu.duration[i].ns() >= 0, "no negative lengths");
    const HostEventId launch = gpu.launch[i];
    if (launch.valid())
      Require(host.correlation[launch.index()] == gpu.correlation[i], "a launch has the task's id");
  }
  for (const auto* const column :
       {&host.args, &gpu.args, &store.syncs.args, &store.instants.args}) {
    for (const StringId args : column->values())
      Require(!args.valid() || AreSound(store.Text(args)), "arguments are JSON");
  }
  for (std::size_t i = 0; i < store.collectives.rows(); ++i) {
    Require(store.collectives.task[i].index() < gpu.rows(), "a collective has a task");
  }
}

/// The rows of a store as text, with ids resolved. Ids and the order of rows may differ between
/// readings in pieces of different sizes.
class RowTexts {
 public:
  explicit RowTexts(const TraceStore& store) : store_(store) {}

  template <typename Table>
  std::vector<std::string> Sorted(const Table& table) const {
    std::vector<std::string> rows(table.rows());
    table.ForEachColumn([&](const char* name, const auto& column) {
      for (std::size_t row = 0; row < rows.size(); ++row)
        rows[row] += std::string(name) + "=" + Text(column[row]) + "|";
    });
    std::sort(rows.begin(), rows.end());
    return rows;
  }

 private:
  std::string Text(std::int64_t value) const { return std::to_string(value); }
  std::string Text(std::int32_t value) const { return std::to_string(value); }
  std::string Text(double value) const { return std::to_string(value); }
  std::string Text(TimeNs value) const { return std::to_string(value.ns()); }
  std::string Text(DurationNs value) const { return std::to_string(value.ns()); }
  template <typename Enum>
  requires std::is_enum_v<Enum> std::string Text(Enum value)
  const { return std::to_string(static_cast<int>(value)); }
  std::string Text(StringId id) const {
    return id.valid() ? "'" + std::string(store_.Text(id)) + "'" : "-";
  }
  std::string Text(ProcessId id) const { return Text(store_.processes.pid[id.index()]); }
  std::string Text(DeviceId id) const { return Text(store_.devices.ordinal[id.index()]); }
  std::string Text(ThreadId id) const {
    return Text(store_.threads.process[id.index()]) + Text(store_.threads.tid[id.index()]);
  }
  std::string Text(StreamId id) const {
    if (!id.valid()) return "-";
    return Text(store_.streams.device[id.index()]) + "/" + Text(store_.streams.number[id.index()]);
  }
  std::string Text(HostEventId id) const {
    if (!id.valid()) return "-";
    const auto& rows = store_.host_events;
    return Text(rows.name[id.index()]) + Text(rows.start[id.index()]) + "+" +
           Text(rows.duration[id.index()]) + Text(rows.thread[id.index()]);
  }
  std::string Text(GpuTaskId id) const {
    const auto& rows = store_.gpu_tasks;
    return Text(rows.name[id.index()]) + Text(rows.start[id.index()]) + "+" +
           Text(rows.duration[id.index()]) + Text(rows.stream[id.index()]);
  }

  const TraceStore& store_;
};

/// Checks that two readings of one file gave the same result, except for order and ids.
inline void CheckEqual(const TraceStore& a, const TraceStore& b) {
  Require(a.metadata.events == b.metadata.events,
          "the same number of events in pieces of any size");
  const RowTexts texts_a(a), texts_b(b);
#define T(Name, member, sentence)                               \
  Require(texts_a.Sorted(a.member) == texts_b.Sorted(b.member), \
          "the same rows of " #member " in pieces of any size");
  HEADROOM_TABLES(T)
#undef T
  for (std::size_t i = 0; i < kImportIssueCount; ++i) {
    const auto issue = static_cast<ImportIssue>(i);
    Require(a.log.Count(issue) == b.log.Count(issue), DocOf(issue).code.data());
  }
}

}  // namespace headroom
