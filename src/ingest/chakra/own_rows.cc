#include "ingest/chakra/own_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "ingest/input/json_members.h"
#include "store/carried_damage.h"
#include "store/enum_words.h"
#include "store/trace_formats.h"

namespace headroom::chakra {
namespace {

/// Latest valid time in ns; sums of later times could overflow.
constexpr std::int64_t kFurthest = INT64_MAX / 4;

/// The values of a row of work: attributes of its node, some of which are not named like their
/// columns.
class NodeValues {
 public:
  NodeValues(const Node& node, std::span<const Renamed> names) : node_(node), names_(names) {}

  std::optional<std::int64_t> Integer(std::string_view column) const {
    const Attribute* const found = node_.Find(NameOf(column));
    if (found == nullptr || found->kind != Attribute::Kind::kInteger) return std::nullopt;
    return found->integer;
  }
  std::optional<double> Real(std::string_view) const { return std::nullopt; }
  std::optional<std::string_view> Text(std::string_view column) const {
    const std::string_view name = NameOf(column);
    if (name == "name") return node_.name;
    const Attribute* const found = node_.Find(name);
    if (found == nullptr || found->kind != Attribute::Kind::kText) return std::nullopt;
    return found->bytes;
  }

 private:
  std::string_view NameOf(std::string_view column) const {
    for (const Renamed& name : names_) {
      if (name.column == column) return name.attribute;
    }
    return column;
  }

  const Node& node_;
  std::span<const Renamed> names_;
};

/// The values of a table's rows: one list per column.
class ListValues {
 public:
  explicit ListValues(const Node& node) {
    for (const Attribute& attribute : node.attributes) {
      if (attribute.name == "row") AppendElements(attribute, rows_);
      if (attribute.name == "texts") AppendElements(attribute, texts_);
    }
    for (const Attribute& attribute : node.attributes) {
      if (attribute.name == "row") continue;
      if (attribute.kind == Attribute::Kind::kIntegers) {
        auto& values = integers_[attribute.name];
        AppendElements(attribute, values);
        is_whole_ = is_whole_ && values.size() == rows_.size();
      } else if (attribute.kind == Attribute::Kind::kReals) {
        auto& values = reals_[attribute.name];
        AppendElements(attribute, values);
        is_whole_ = is_whole_ && values.size() == rows_.size();
      }
    }
  }

  /// Returns true if every list has a value for every row.
  bool is_whole() const { return is_whole_; }
  const std::vector<std::int64_t>& rows() const { return rows_; }
  void MoveTo(std::size_t at) { at_ = at; }

  std::optional<std::int64_t> Integer(std::string_view column) const {
    const auto found = integers_.find(column);
    if (found == integers_.end()) return std::nullopt;
    return found->second[at_];
  }
  std::optional<double> Real(std::string_view column) const {
    const auto found = reals_.find(column);
    if (found == reals_.end()) return std::nullopt;
    return found->second[at_];
  }
  std::optional<std::string_view> Text(std::string_view column) const {
    const std::optional<std::int64_t> number = Integer(column);
    if (!number || *number < 0 || static_cast<std::uint64_t>(*number) >= texts_.size())
      return std::nullopt;
    return texts_[static_cast<std::size_t>(*number)];
  }

 private:
  std::vector<std::int64_t> rows_;
  std::vector<std::string_view> texts_;
  std::map<std::string_view, std::vector<std::int64_t>> integers_;
  std::map<std::string_view, std::vector<double>> reals_;
  std::size_t at_ = 0;
  bool is_whole_ = true;
};

/// Fills the cells of rows.
class Filler {
 public:
  Filler(TraceStore& store, const OwnRowNumbers& numbers, std::int64_t offset)
      : store_(store), numbers_(numbers), offset_(offset) {}

  /// Returns false if the value is missing or invalid and the column must have one (`is_needed`).
  template <typename Value, typename Values>
  bool Fill(std::string_view column, bool is_needed, const Values& values, Value& out) {
    if constexpr (std::same_as<Value, StringId>) {
      const auto text = values.Text(column);
      if (text && column == "args" && !text->empty() && !AreJsonMembers(*text)) {
        store_.log.Add(ImportIssue::kBadArgument, offset_);
        const std::string sound = SoundMembers(*text);
        if (!sound.empty()) out = store_.strings.Intern(sound);
      } else if (text) {
        out = store_.strings.Intern(*text);
      }
      return out.valid() || !is_needed;
    } else if constexpr (std::is_enum_v<Value>) {
      const auto word = values.Text(column);
      return !word || FromWord(*word, out);
    } else if constexpr (std::same_as<Value, double>) {
      const auto real = values.Real(column);
      out = real.value_or(0);
      return real.has_value();
    } else if constexpr (std::same_as<Value, TimeNs> || std::same_as<Value, DurationNs>) {
      const auto ns = values.Integer(column);
      if (!ns || *ns > kFurthest || *ns < -kFurthest) return false;
      out = Value(*ns);
      if (std::same_as<Value, DurationNs> && *ns < 0) {
        out = Value(0);
        store_.log.Add(ImportIssue::kNegativeDuration, offset_);
      }
      return true;
    } else if constexpr (std::is_integral_v<Value>) {
      const auto number = values.Integer(column);
      const bool fits = number && (sizeof(Value) == sizeof(std::int64_t) ||
                                   (*number >= INT32_MIN && *number <= INT32_MAX));
      if (fits) out = static_cast<Value>(*number);
      return fits || !is_needed;
    } else {
      const auto number = values.Integer(column);
      if (number) out = numbers_.RowOf(Value(), *number);
      return out.valid() || !is_needed;
    }
  }

 private:
  TraceStore& store_;
  const OwnRowNumbers& numbers_;
  std::int64_t offset_;
};

// Defines one function per table from its declaration: Fill(row, values, filler). It returns false
// if a mandatory value is missing.
#define HEADROOM_CHAKRA_CELL(type, member, unit, null, sentence)                                 \
  if constexpr (std::string_view(null) != "computed" && !std::same_as<type, GpuTaskId> &&        \
                !std::same_as<type, HostEventId>) {                                              \
    whole = filler.Fill(#member, std::string_view(null) == "never", values, row.member.value) && \
            whole;                                                                               \
  }
#define HEADROOM_CHAKRA_TABLE(Name, COLUMNS)                                  \
  template <typename Values>                                                  \
  bool Fill(Name##Columns<Cell>& row, const Values& values, Filler& filler) { \
    bool whole = true;                                                        \
    COLUMNS(HEADROOM_CHAKRA_CELL)                                             \
    return whole;                                                             \
  }
HEADROOM_CHAKRA_TABLE(Process, HEADROOM_PROCESS_COLUMNS)
HEADROOM_CHAKRA_TABLE(Thread, HEADROOM_THREAD_COLUMNS)
HEADROOM_CHAKRA_TABLE(Device, HEADROOM_DEVICE_COLUMNS)
HEADROOM_CHAKRA_TABLE(Stream, HEADROOM_STREAM_COLUMNS)
HEADROOM_CHAKRA_TABLE(HostEvent, HEADROOM_HOST_EVENT_COLUMNS)
HEADROOM_CHAKRA_TABLE(Sync, HEADROOM_SYNC_COLUMNS)
HEADROOM_CHAKRA_TABLE(Flow, HEADROOM_FLOW_COLUMNS)
HEADROOM_CHAKRA_TABLE(Counter, HEADROOM_COUNTER_COLUMNS)
HEADROOM_CHAKRA_TABLE(MemoryEvent, HEADROOM_MEMORY_EVENT_COLUMNS)
HEADROOM_CHAKRA_TABLE(Instant, HEADROOM_INSTANT_COLUMNS)
HEADROOM_CHAKRA_TABLE(Collective, HEADROOM_COLLECTIVE_COLUMNS)
// Two attributes, `device` and `stream`, state a task's stream.
#define HEADROOM_CHAKRA_TASK_CELL(type, member, unit, null, sentence) \
  if constexpr (!std::same_as<type, StreamId>) {                      \
    HEADROOM_CHAKRA_CELL(type, member, unit, null, sentence)          \
  }
template <typename Values>
bool Fill(GpuTaskColumns<Cell>& row, const Values& values, Filler& filler) {
  bool whole = true;
  HEADROOM_GPU_TASK_COLUMNS(HEADROOM_CHAKRA_TASK_CELL)
  return whole;
}
#undef HEADROOM_CHAKRA_TASK_CELL
#undef HEADROOM_CHAKRA_TABLE
#undef HEADROOM_CHAKRA_CELL

/// Appends a row; columns that Freeze() computes stay unchanged.
template <typename Table, typename Row>
void Append(Table& table, const Row& row) {
  table.ForEachColumnPair(row, [](auto& column, const auto& cell) {
    using Value = typename std::remove_cvref_t<decltype(column)>::value_type;
    if constexpr (!std::same_as<Value, HostEventId> && !std::same_as<Value, GpuTaskId>)
      column.Append(cell.value);
  });
}

}  // namespace

void OwnRows::ReadMetadata(const Metadata& metadata) {
  TraceMetadata& to = store_.metadata;
  for (const Attribute& attribute : metadata.attributes) {
    const std::string_view name = attribute.name;
    if (attribute.kind == Attribute::Kind::kText) {
      if (name == "copy_of" && IsKnownFormat(attribute.bytes)) to.copied_from = attribute.bytes;
      if (name.starts_with(kVersionPrefix))
        AddVersion(name.substr(kVersionPrefix.size()), attribute.bytes, to.versions);
    } else if (attribute.kind == Attribute::Kind::kInteger) {
      const std::int64_t value = attribute.integer;
      if (name == "rank" && value >= 0) to.rank = value;
      if (name == "world_size" && value > 0) to.world_size = value;
      if (name == "work_nodes" && value >= 0) work_nodes_ = value;
      if (name == "base_time_ns") to.base_time_ns = value;
      if (name == "cuda_driver_version") to.cuda_driver_version = value;
      if (name == "names_and_times_only") to.names_and_times_only = value == 1;
      if (name == "is_forecast") to.is_forecast = value == 1;
      if (name.starts_with(kDamagePrefix))
        AddCarried(name.substr(kDamagePrefix.size()), value, store_.log);
    }
  }
}

void OwnRows::Lose(std::int64_t offset, std::string_view what) {
  store_.log.Add(ImportIssue::kLostEvent, offset, std::string(what));
}

void OwnRows::Add(const Node& node, std::int64_t offset) {
  if (node.type == NodeType::kMetadata) {
    if (node.Find("table") != nullptr) AddTable(node, offset);
    return;
  }
  --work_nodes_;
  if (node.Find("task") != nullptr) {
    AddTask(node, offset);
  } else if (node.Find("event_start_ns") != nullptr) {
    AddHostEvent(node, offset);
  }
}

void OwnRows::AddTable(const Node& node, std::int64_t offset) {
  ListValues values(node);
  store_.metadata.events += static_cast<std::int64_t>(values.rows().size());
  if (!values.is_whole()) {
    store_.log.Add(ImportIssue::kLostEvent, offset, "a table has lists of different lengths",
                   std::max<std::int64_t>(1, static_cast<std::int64_t>(values.rows().size())));
    return;
  }
  Filler filler(store_, numbers_, offset);
  const std::string_view name = node.Text("table");
  const auto add = [&](auto& table, const auto& unknown, auto* numbers) {
    for (std::size_t i = 0; i < values.rows().size(); ++i) {
      values.MoveTo(i);
      auto row = unknown;
      if (!Fill(row, values, filler)) {
        Lose(offset, "a row of a table is incomplete");
        continue;
      }
      if (numbers != nullptr)
        numbers->try_emplace(values.rows()[i], static_cast<std::uint32_t>(table.rows()));
      Append(table, row);
    }
  };
  OwnRowNumbers::Rows* const none = nullptr;
  if (name == "processes") add(store_.processes, ProcessColumns<Cell>(), &numbers_.processes);
  if (name == "threads") add(store_.threads, ThreadColumns<Cell>(), &numbers_.threads);
  if (name == "devices") add(store_.devices, DeviceColumns<Cell>(), &numbers_.devices);
  if (name == "streams") add(store_.streams, StreamColumns<Cell>(), &numbers_.streams);
  if (name == "syncs") add(store_.syncs, SyncColumns<Cell>(), none);
  if (name == "flows") add(store_.flows, FlowColumns<Cell>(), none);
  if (name == "counters") add(store_.counters, CounterColumns<Cell>(), none);
  if (name == "memory_events") add(store_.memory_events, MemoryEventColumns<Cell>(), none);
  if (name == "instants") add(store_.instants, InstantColumns<Cell>(), none);
  if (name != "host_events") return;
  for (std::size_t i = 0; i < values.rows().size(); ++i) {
    values.MoveTo(i);
    Numbered<HostEventColumns<Cell>> event{values.rows()[i], {}};
    if (!Fill(event.row, values, filler)) {
      Lose(offset, "a row of a table is incomplete");
      continue;
    }
    host_events_.push_back(event);
  }
}

void OwnRows::AddHostEvent(const Node& node, std::int64_t offset) {
  ++store_.metadata.events;
  Filler filler(store_, numbers_, offset);
  Numbered<HostEventColumns<Cell>> event{node.Integer("event", 0), {}};
  if (!Fill(event.row, NodeValues(node, kHostEventNames), filler))
    return Lose(offset, "a host node has no thread, category or time");
  host_events_.push_back(event);
}

StreamId OwnRows::StreamOf(std::int64_t device, std::int64_t number) {
  // First finds the streams that tables added. Tables precede work in the file.
  for (; streams_seen_ < store_.streams.rows(); ++streams_seen_) {
    const DeviceId of = store_.streams.device.Pending(streams_seen_);
    streams_.try_emplace(
        {store_.devices.ordinal.Pending(of.index()), store_.streams.number.Pending(streams_seen_)},
        StreamId(streams_seen_));
  }
  const auto [known, is_new] = streams_.try_emplace({device, number});
  if (!is_new) return known->second;
  std::size_t row = 0;
  while (row < store_.devices.rows() && store_.devices.ordinal.Pending(row) != device) ++row;
  if (row == store_.devices.rows()) {
    AppendUnknown(store_.devices);
    store_.devices.ordinal.MutablePending(row) = device;
  }
  known->second = StreamId(AppendUnknown(store_.streams));
  store_.streams.device.MutablePending(known->second.index()) = DeviceId(row);
  store_.streams.number.MutablePending(known->second.index()) = number;
  return known->second;
}

void OwnRows::AddTask(const Node& node, std::int64_t offset) {
  ++store_.metadata.events;
  Filler filler(store_, numbers_, offset);
  Numbered<GpuTaskColumns<Cell>> task{node.Integer("task", 0), {}};
  if (!Fill(task.row, NodeValues(node, kTaskNames), filler))
    return Lose(offset, "a GPU node has no time");
  task.row.stream.value = StreamOf(node.Integer("device", -1), node.Integer("stream", -1));
  tasks_.push_back(task);
  Collective collective{task.number, {}};
  Fill(collective.row, NodeValues(node, kCollectiveNames), filler);
  const auto& row = collective.row;
  if (row.name.value.valid() || row.in_elements.value != kUnknown ||
      row.out_elements.value != kUnknown || row.group_size.value != kUnknown ||
      row.process_group.value.valid() || row.dtype.value.valid())
    collectives_.push_back(collective);
}

void OwnRows::Finish() {
  // A file that ends between two nodes shows no other sign of truncation.
  if (work_nodes_ > 0 && store_.log.Count(ImportIssue::kTruncated) == 0 &&
      store_.log.Count(ImportIssue::kCutCompression) == 0 &&
      store_.log.Count(ImportIssue::kLostEvent) == 0)
    store_.log.Add(ImportIssue::kTruncated, -1, fmt::format("{} nodes are missing", work_nodes_));
  const auto by_number = [](const auto& a, const auto& b) { return a.number < b.number; };
  std::stable_sort(host_events_.begin(), host_events_.end(), by_number);
  for (const auto& event : host_events_) Append(store_.host_events, event.row);
  std::stable_sort(tasks_.begin(), tasks_.end(), by_number);
  std::map<std::int64_t, std::uint32_t> row_of;
  for (const auto& task : tasks_) {
    row_of.emplace(task.number, static_cast<std::uint32_t>(store_.gpu_tasks.rows()));
    Append(store_.gpu_tasks, task.row);
  }
  std::stable_sort(collectives_.begin(), collectives_.end(),
                   [](const Collective& a, const Collective& b) { return a.task < b.task; });
  for (const Collective& collective : collectives_) {
    Append(store_.collectives, collective.row);
    store_.collectives.task.Append(GpuTaskId(row_of.at(collective.task)));
  }
}

}  // namespace headroom::chakra
