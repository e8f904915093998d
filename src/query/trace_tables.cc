#include "query/trace_tables.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <type_traits>

#include "query/attribution_tables.h"
#include "store/enum_words.h"

namespace headroom {
namespace {

/// Properties that a column's declaration has in addition to its type.
struct Declared {
  std::string_view unit, null, sentence;
};

#define HEADROOM_DECLARED(type, member, unit, null, sentence) Declared{unit, null, sentence},
constexpr Declared kProcessColumns[] = {HEADROOM_PROCESS_COLUMNS(HEADROOM_DECLARED)};
constexpr Declared kThreadColumns[] = {HEADROOM_THREAD_COLUMNS(HEADROOM_DECLARED)};
constexpr Declared kDeviceColumns[] = {HEADROOM_DEVICE_COLUMNS(HEADROOM_DECLARED)};
constexpr Declared kStreamColumns[] = {HEADROOM_STREAM_COLUMNS(HEADROOM_DECLARED)};
constexpr Declared kHostEventColumns[] = {HEADROOM_HOST_EVENT_COLUMNS(HEADROOM_DECLARED)};
constexpr Declared kGpuTaskColumns[] = {HEADROOM_GPU_TASK_COLUMNS(HEADROOM_DECLARED)};
constexpr Declared kSyncColumns[] = {HEADROOM_SYNC_COLUMNS(HEADROOM_DECLARED)};
constexpr Declared kFlowColumns[] = {HEADROOM_FLOW_COLUMNS(HEADROOM_DECLARED)};
constexpr Declared kCounterColumns[] = {HEADROOM_COUNTER_COLUMNS(HEADROOM_DECLARED)};
constexpr Declared kMemoryEventColumns[] = {HEADROOM_MEMORY_EVENT_COLUMNS(HEADROOM_DECLARED)};
constexpr Declared kInstantColumns[] = {HEADROOM_INSTANT_COLUMNS(HEADROOM_DECLARED)};
constexpr Declared kStepColumns[] = {HEADROOM_STEP_COLUMNS(HEADROOM_DECLARED)};
constexpr Declared kCollectiveColumns[] = {HEADROOM_COLLECTIVE_COLUMNS(HEADROOM_DECLARED)};
#undef HEADROOM_DECLARED

template <typename T>
void SetType(TableColumn& column) {
  const auto refer = [&](std::string_view table) {
    column.kind = ColumnKind::kRow;
    column.refers = table;
    column.name += "_id";
  };
  const auto label = [&](std::span<const std::string_view> labels) {
    column.kind = ColumnKind::kLabel;
    column.labels = labels;
    column.nullable = std::find(labels.begin(), labels.end(), std::string_view()) != labels.end();
  };
  if constexpr (std::is_same_v<T, std::int32_t>) {
    column.kind = ColumnKind::kInt32;
  } else if constexpr (std::is_same_v<T, double>) {
    column.kind = ColumnKind::kReal;
  } else if constexpr (std::is_same_v<T, StringId>) {
    column.kind = ColumnKind::kString;
  } else if constexpr (std::is_same_v<T, ProcessId>) {
    refer("processes");
  } else if constexpr (std::is_same_v<T, ThreadId>) {
    refer("threads");
  } else if constexpr (std::is_same_v<T, DeviceId>) {
    refer("devices");
  } else if constexpr (std::is_same_v<T, StreamId>) {
    refer("streams");
  } else if constexpr (std::is_same_v<T, HostEventId>) {
    refer("host_events");
  } else if constexpr (std::is_same_v<T, GpuTaskId>) {
    refer("gpu_tasks");
  } else if constexpr (std::is_same_v<T, HostEventKind>) {
    label(kHostEventKindWords);
  } else if constexpr (std::is_same_v<T, GpuTaskKind>) {
    label(kGpuTaskKindWords);
  } else if constexpr (std::is_same_v<T, CopyKind>) {
    label(kCopyKindWords);
  } else if constexpr (std::is_same_v<T, SyncKind>) {
    label(kSyncKindWords);
  } else if constexpr (std::is_same_v<T, FlowPhase>) {
    label(kFlowPhaseWords);
  } else {
    static_assert(std::is_same_v<T, std::int64_t> || std::is_same_v<T, TimeNs> ||
                      std::is_same_v<T, DurationNs>,
                  "SQL does not support this column type yet");
    static_assert(sizeof(T) == sizeof(std::int64_t));
    column.kind = ColumnKind::kInt64;
  }
}

/// Returns a name that collides neither with the row's number nor with a keyword of SQL.
std::string PlainName(std::string_view table, std::string_view member) {
  if (table == "flows" && member == "id") return "arrow_id";
  if (table == "steps" && member == "index") return "number";
  return std::string(member);
}

template <typename Columns>
Table TableOf(std::string_view name, std::string_view sentence, const Columns& columns,
              std::span<const Declared> declared) {
  Table table;
  table.name = name;
  table.sentence = sentence;
  table.rows = columns.rows();
  std::size_t next = 0;
  columns.ForEachColumn([&](const char* member, const auto& values) {
    using T = typename std::remove_cvref_t<decltype(values)>::value_type;
    const Declared& facts = declared[next++];
    TableColumn column;
    column.name = PlainName(name, member);
    column.unit = facts.unit;
    column.sentence = facts.sentence;
    column.nullable = facts.null != "never";
    SetType<T>(column);
    if (facts.unit == "ns") column.name += "_ns";
    if (facts.unit == "bytes" && !column.name.ends_with("bytes")) column.name += "_bytes";
    column.data = values.values().data();
    if ((std::is_same_v<T, TimeNs>)&&table.time == Table::kNoColumn)
      table.time = table.columns.size();
    table.columns.push_back(std::move(column));
  });
  return table;
}

/// Returns true if the rows are sorted by time. Most tables define no order, so this checks all
/// rows.
bool IsSorted(const Table& table) {
  for (std::size_t row = 1; row < table.rows; ++row) {
    if (table.Key(table.time, row) < table.Key(table.time, row - 1)) return false;
  }
  return true;
}

void FindRuns(const TraceStore& store, Table& table) {
  if (table.time == Table::kNoColumn) return;
  if (table.name == "host_events") {
    table.run_key = table.Find("thread_id");
    for (std::size_t t = 0; t < store.threads.rows(); ++t) {
      const TraceStore::RowRange range = store.HostEventsOf(ThreadId(t));
      if (range.first < range.last) table.runs.emplace_back(range.first, range.last);
    }
  } else if (IsSorted(table)) {
    table.runs = {{0, static_cast<std::uint32_t>(table.rows)}};
  }
}

template <typename T>
T Load(const void* data, std::size_t row) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + row * sizeof(T), sizeof(T));
  return value;
}

}  // namespace

std::int64_t Table::Key(std::size_t column, std::size_t row) const {
  const TableColumn& c = columns[column];
  switch (c.kind) {
    case ColumnKind::kInt64:
      return headroom::Load<std::int64_t>(c.data, row);
    case ColumnKind::kInt32:
      return headroom::Load<std::int32_t>(c.data, row);
    case ColumnKind::kString:
    case ColumnKind::kRow:
      return headroom::Load<std::uint32_t>(c.data, row);
    case ColumnKind::kLabel:
    case ColumnKind::kFlag:
      return headroom::Load<std::uint8_t>(c.data, row);
    case ColumnKind::kReal:
      break;
  }
  return 0;
}

double Table::Real(std::size_t column, std::size_t row) const {
  return headroom::Load<double>(columns[column].data, row);
}

bool Table::IsNull(std::size_t column, std::int64_t key) const {
  const TableColumn& c = columns[column];
  if (!c.nullable) return false;
  switch (c.kind) {
    case ColumnKind::kInt64:
      return key == kUnknown;
    case ColumnKind::kInt32:
      return key == kUnknown32;
    case ColumnKind::kString:
    case ColumnKind::kRow:
      return key == kNoRow;
    case ColumnKind::kLabel:
      return c.labels[static_cast<std::size_t>(key)].empty();
    case ColumnKind::kReal:
    case ColumnKind::kFlag:
      break;
  }
  return false;
}

std::size_t Table::Find(std::string_view column) const {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == column) return i;
  }
  return kNoColumn;
}

struct TraceTables::Computed {
  std::mutex mutex;
  std::optional<AttributionTables> tables;
  std::size_t first;  ///< Index of the first computed table.
};

TraceTables::TraceTables(const TraceStore& store)
    : store_(store), computed_(std::make_unique<Computed>()) {
#define HEADROOM_ADD_TABLE(Name, member, sentence) \
  tables_.push_back(TableOf(#member, sentence, store.member, k##Name##Columns));
  HEADROOM_TABLES(HEADROOM_ADD_TABLE)
#undef HEADROOM_ADD_TABLE
  for (Table& table : tables_) FindRuns(store, table);
  computed_->first = tables_.size();
  for (Table& table : AttributionTables::Declared(store)) tables_.push_back(std::move(table));
}

TraceTables::~TraceTables() = default;

bool TraceTables::IsComputed(std::size_t index) const { return index >= computed_->first; }

Status TraceTables::Load(std::size_t index) const {
  if (!IsComputed(index)) return Status::Ok();
  const std::lock_guard lock(computed_->mutex);
  if (!computed_->tables) {
    Result<AttributionTables> made = AttributionTables::Make(store_);
    if (!made.ok()) return made.status();
    computed_->tables = std::move(made).value();
    computed_->tables->FillIn(
        {tables_.begin() + static_cast<std::ptrdiff_t>(computed_->first), tables_.end()});
  }
  return Status::Ok();
}

}  // namespace headroom
