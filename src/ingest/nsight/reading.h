// State that the table readers share while they read one Nsight Systems export.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids.h"
#include "base/time.h"
#include "ingest/input/database.h"
#include "ingest/input/database_rows.h"
#include "ingest/input/database_texts.h"
#include "ingest/input/reference_budget.h"
#include "ingest/input/trace_extent.h"
#include "ingest/nsight/nsight_reader.h"
#include "ingest/nsight/tracks.h"
#include "store/trace_store.h"

namespace headroom::nsight {

// Tables whose rows are events.
inline constexpr std::string_view kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
inline constexpr std::string_view kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY";
inline constexpr std::string_view kSets = "CUPTI_ACTIVITY_KIND_MEMSET";
inline constexpr std::string_view kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
inline constexpr std::string_view kCalls = "CUPTI_ACTIVITY_KIND_RUNTIME";
inline constexpr std::string_view kDriverCalls = "CUPTI_ACTIVITY_KIND_DRIVER";
inline constexpr std::string_view kSyncs = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
inline constexpr std::string_view kNvtx = "NVTX_EVENTS";
inline constexpr std::string_view kOsCalls = "OSRT_API";
inline constexpr std::string_view kMemory = "CUDA_GPU_MEMORY_USAGE_EVENTS";
inline constexpr std::string_view kMetrics = "GPU_METRICS";

/// Latest valid timestamp in ns. Later ones count as damage, so that start + duration cannot
/// overflow.
inline constexpr std::int64_t kFurthest = std::numeric_limits<std::int64_t>::max() / 4;

/// Returns the value, or kUnknown32 if it does not fit.
constexpr std::int32_t Fit32(std::int64_t value) {
  const bool fits = value > std::numeric_limits<std::int32_t>::min() &&
                    value <= std::numeric_limits<std::int32_t>::max();
  return fits ? static_cast<std::int32_t>(value) : kUnknown32;
}

/// Returns the process id in a serialized id; 0 if the serialized id is kUnknown.
constexpr std::int64_t PidOrZero(std::int64_t global) {
  return global == kUnknown ? 0 : PidOf(global);
}

/// A host event as read from its table.
struct HostEvent {
  TimeNs start;
  DurationNs duration;
  StringId name, category;
  ThreadId thread;
  HostEventKind kind;
  std::int64_t correlation = kUnknown, external_id = kUnknown, sequence = kUnknown;
  StringId args = StringId::None();
};

/// One reading of an export: its database, the store, and the state that the table readers share.
class Reading {
 public:
  Reading(const sqlite::Database& from, const ReadOptions& options, TraceStore& into);

  const sqlite::Database& database;
  TraceStore& store;
  Tracks tracks;
  sqlite::Texts texts;
  ReferenceBudget budget;  ///< Limits the total size of range names.
  TraceExtent extent;      ///< Extent of all events.
  TimeNs last = TimeNs(std::numeric_limits<std::int64_t>::min() / 4);
  /// Thread of each call that allocates or frees memory. Key: process id, correlation id.
  std::map<std::pair<std::int64_t, std::int64_t>, ThreadId> allocating;

  bool Has(std::string_view table) const { return database.Find(table) != nullptr; }

  /// Calls `row` for each row of a table, if it exists. The first `needed` columns are mandatory.
  template <std::size_t kSize, typename Row>
  void ForEach(std::string_view name, const sqlite::NamedColumns<kSize>& columns,
               std::size_t needed, Row row) {
    const sqlite::DatabaseTable* const table = database.Find(name);
    if (table == nullptr) return;
    sqlite::ForEachRow(database, *table, columns.names, needed, store.log, options_.progress, row);
  }

  /// Returns a timestamp. If it is invalid, returns nullopt and adds a log entry.
  std::optional<TimeNs> TimeAt(const sqlite::RowScan& row, int column, std::string_view table);
  /// Returns the duration. If the end is invalid, returns 0 and adds a log entry.
  DurationNs DurationTo(const sqlite::RowScan& row, int end_column, TimeNs start,
                        std::string_view table);
  /// Returns a name from a column that holds the id of a text or, in some exports, the text itself.
  StringId NameAt(const sqlite::RowScan& row, int column);
  /// Returns `name`. If it is missing, returns `otherwise` and adds a log entry.
  StringId NameOr(StringId name, std::string_view otherwise, std::string_view table);

  /// Returns a correlation id that no other process uses. CUPTI ids have 32 bits. The higher bits
  /// of the result are the number of the process in this file, so the ids of the first process stay
  /// unchanged. Returns kUnknown for id 0, which exports without nulls write if there is no id.
  ///
  /// @param global  serialized id of the process
  std::int64_t CorrelationOf(std::int64_t id, std::int64_t global);

  std::size_t AddHostEvent(const HostEvent& event);

 private:
  /// Returns true if every table of GPU tasks has a column for the process.
  bool TasksTellProcesses() const;

  const ReadOptions& options_;
  bool tells_processes_;
  /// Number of each process, by serialized id without the thread. Ordered map: a file chooses these
  /// ids and could make them collide in a hash table.
  std::map<std::int64_t, std::int64_t> process_numbers_;
  std::int64_t last_process_ = kUnknown, last_process_number_ = 0;
};

// Inline, because they run for each row. Out of line, reading takes 4 % longer.

inline std::optional<TimeNs> Reading::TimeAt(const sqlite::RowScan& row, int column,
                                             std::string_view table) {
  const std::int64_t ns = row.Integer(column, kUnknown);
  if (ns >= -kFurthest && ns <= kFurthest) {
    extent.See(TimeNs(ns));
    return TimeNs(ns);
  }
  store.log.Add(ImportIssue::kBadTime, -1, std::string(table));
  return std::nullopt;
}

inline DurationNs Reading::DurationTo(const sqlite::RowScan& row, int end_column, TimeNs start,
                                      std::string_view table) {
  const std::int64_t end = row.Integer(end_column, kUnknown);
  if (end == kUnknown) {
    store.log.Add(ImportIssue::kMissingDuration, -1, std::string(table));
  } else if (end < start.ns()) {
    store.log.Add(ImportIssue::kNegativeDuration, -1, std::string(table));
  } else if (end > kFurthest) {
    store.log.Add(ImportIssue::kBadDuration, -1, std::string(table));
  } else {
    last = std::max(last, TimeNs(end));
    return TimeNs(end) - start;
  }
  return DurationNs(0);
}

inline StringId Reading::NameAt(const sqlite::RowScan& row, int column) {
  if (row.IsText(column)) return store.strings.Intern(row.Text(column));
  const std::int64_t id = row.Integer(column, kUnknown);
  return id == kUnknown ? StringId::None() : texts.Of(id);
}

inline std::int64_t Reading::CorrelationOf(std::int64_t id, std::int64_t global) {
  if (id == 0) return kUnknown;
  constexpr std::int64_t kMaxProcesses = std::int64_t{1} << 20;
  if (!tells_processes_ || global == kUnknown || id < 0 || id > UINT32_MAX) return id;
  const std::int64_t process = global >> 24;
  if (process != last_process_) {
    last_process_ = process;
    const auto next = static_cast<std::int64_t>(process_numbers_.size());
    last_process_number_ = process_numbers_.try_emplace(process, next).first->second;
  }
  return last_process_number_ < kMaxProcesses ? id + (last_process_number_ << 32) : id;
}

inline std::size_t Reading::AddHostEvent(const HostEvent& event) {
  auto& rows = store.host_events;
  rows.start.Append(event.start);
  rows.duration.Append(event.duration);
  rows.name.Append(event.name);
  rows.category.Append(event.category);
  rows.thread.Append(event.thread);
  rows.kind.Append(event.kind);
  rows.correlation.Append(event.correlation);
  rows.external_id.Append(event.external_id);
  rows.sequence.Append(event.sequence);
  rows.forward_thread.Append(kUnknown32);
  rows.python_id.Append(kUnknown32);
  rows.python_parent_id.Append(kUnknown32);
  rows.event_index.Append(kUnknown32);
  rows.record_function.Append(kUnknown32);
  rows.args.Append(event.args);
  return rows.rows() - 1;
}

}  // namespace headroom::nsight
