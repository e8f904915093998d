#include "ingest/rocprof/rocpd_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ingest/input/database_rows.h"
#include "ingest/input/database_texts.h"
#include "ingest/input/trace_extent.h"
#include "ingest/rocprof/json_cursor.h"
#include "ingest/rocprof/record.h"
#include "ingest/rocprof/row_writer.h"
#include "store/trace_formats.h"

namespace headroom::rocprof {
namespace {

using sqlite::Database;
using sqlite::DatabaseTable;
using sqlite::NamedColumns;
using sqlite::RowScan;

/// Tables that are read. Their names in the file also contain the id of the recording.
enum class Table : std::uint8_t {
  kStrings,
  kProcesses,
  kThreads,
  kAgents,
  kSymbols,
  kCategories,
  kTracks,
  kEvents,
  kRegions,
  kSamples,
  kDispatches,
  kCopies,
  kAllocations,
  kCounterNames,
  kCounters,
  kPcSamples,
  kCount,
};
constexpr std::string_view kTableNames[] = {
    "rocpd_string",
    "rocpd_info_process",
    "rocpd_info_thread",
    "rocpd_info_agent",
    "rocpd_info_kernel_symbol",
    "rocpd_info_category",
    "rocpd_track",
    "rocpd_event",
    "rocpd_region",
    "rocpd_sample",
    "rocpd_kernel_dispatch",
    "rocpd_memory_copy",
    "rocpd_memory_allocate",
    "rocpd_info_pmc",
    "rocpd_pmc_event",
    "rocpd_gpu_pc_sample",
};
constexpr auto kTables = static_cast<std::size_t>(Table::kCount);
static_assert(std::size(kTableNames) == kTables);

/// Tables that identify the format. `rocpd_string` does not, because other tools write it, too.
constexpr Table kTelling[] = {Table::kRegions, Table::kDispatches, Table::kCopies};

/// The tables of one recording; null if missing.
using Recording = std::array<const DatabaseTable*, kTables>;

/// Returns the recordings of a file by the ids in their table names.
std::map<std::string_view, Recording> RecordingsOf(const Database& database) {
  std::map<std::string_view, Recording> recordings;
  for (const DatabaseTable& table : database.tables()) {
    for (std::size_t i = 0; i < kTables; ++i) {
      const std::string_view name = table.name;
      if (!name.starts_with(kTableNames[i])) continue;
      const std::string_view id = name.substr(kTableNames[i].size());
      if (!id.empty() && id.front() != '_') continue;
      recordings.try_emplace(id).first->second[i] = &table;
    }
  }
  return recordings;
}

/// Maps an event category to its section, by a word in the name of the category. `list` is the list
/// with such records in rocprofv3's JSON.
struct CategoryWord {
  std::string_view word;
  Section section;
  std::string_view list;
};
constexpr CategoryWord kCategoryWords[] = {
    {"MARKER", Section::kMarkers, "marker_api"},
    {"RCCL", Section::kCommunication, "rccl_api"},
    {"HIPFILE", Section::kOtherCalls, "hipfile_api"},
    {"HIP_", Section::kHipCalls, "hip_api"},
    {"HSA_", Section::kHsaCalls, "hsa_api"},
    {"ROCDECODE", Section::kOtherCalls, "rocdecode_api"},
    {"ROCJPEG", Section::kOtherCalls, "rocjpeg_api"},
    {"ROCSHMEM", Section::kOtherCalls, "rocshmem_api"},
};
struct Category {
  Section section = Section::kOtherCalls;
  std::string list;
};
Category CategoryOf(std::string_view name) {
  std::string list = LowerCase(name);
  for (const CategoryWord& known : kCategoryWords) {
    if (list.find(LowerCase(known.word)) != std::string::npos)
      return {known.section, std::string(known.list)};
  }
  return {Section::kOtherCalls, list.empty() ? std::string("region") : std::move(list)};
}

/// Returns the integer in a column of a row; kAbsent if the value is not an integer.
std::uint64_t NumberAt(const RowScan& row, int column) {
  return static_cast<std::uint64_t>(row.Integer(column, -1));
}
static_assert(static_cast<std::uint64_t>(-1) == kAbsent);

/// Returns the same as NumberAt(), but `otherwise` if the column is null.
std::uint64_t NumberOr(const RowScan& row, int column, std::uint64_t otherwise) {
  return row.IsNull(column) ? otherwise : NumberAt(row, column);
}

/// The column lists of record tables begin with kSpan and contain all of kPlace in sequence.
constexpr NamedColumns kSpan{"start", "end"};
constexpr NamedColumns kPlace{"pid", "tid", "track_id", "event_id"};

/// Returns the value that the JSON in a column describes; a default value if the JSON is missing or
/// invalid.
template <typename Value>
Value Described(const RowScan& row, int column, Value (*parse)(JsonCursor&)) {
  JsonCursor cursor(row.Text(column));
  Value value = parse(cursor);
  return cursor.fine() ? value : Value();
}

/// Returns the member "message" of an event's extra data.
std::string MessageOf(std::string_view json) {
  JsonCursor cursor(json);
  std::string message, scratch;
  cursor.Enter('{');
  for (std::string_view key; cursor.NextMember(key);) {
    std::string_view text;
    if (key != "message") {
      cursor.Skip();
    } else if (cursor.Text(text, scratch)) {
      message = text;
    }
  }
  return cursor.fine() ? message : std::string();
}

/// Reads one recording of a file.
class RecordingReading {
 public:
  RecordingReading(const Database& database, const Recording& tables, const RocpdOptions& options,
                   RowWriter& rows, TraceStore& store)
      : database_(database),
        tables_(tables),
        options_(options),
        rows_(rows),
        store_(store),
        strings_(store) {}

  void Run() {
    ReadStrings();
    ReadProcesses();
    ReadThreads();
    ReadTracks();
    ReadAgents();
    ReadSymbols();
    ReadEvents();
    ReadRegions();
    ReadSamples();
    LookForStreams();
    ReadCounters();
    ReadDispatches();
    ReadCopies();
    ReadAllocations();
    TellUnread(Table::kPcSamples, CountOf(Table::kPcSamples));
    const std::int64_t unread_before = rows_.unread_counters();
    for (const auto& [id, process] : processes_) {
      rows_.GoOnWith(process);
      rows_.EndProcess();
    }
    TellUnread(Table::kCounters, unread_counters_ + rows_.unread_counters() - unread_before);
  }

 private:
  struct Thread {
    std::int64_t process = kUnknown;
    std::uint64_t tid = kAbsent;
  };
  /// Data that all rows of one track share, in newer versions of the schema.
  struct Track {
    std::int64_t process = kUnknown, thread = kUnknown, name = kUnknown;
    std::uint64_t agent = kAbsent, queue = kAbsent, stream = kAbsent;
  };
  struct Event {
    std::int64_t id = 0;
    std::uint64_t correlation = kAbsent;
    std::uint32_t category = 0;  ///< Index in categories_.
    StringId message;
  };
  struct Streams {
    bool any = false;
    bool several_queues = false;
    std::optional<std::uint64_t> queue;
  };
  /// The process, thread and track of a row.
  struct Place {
    std::size_t process = 0;
    std::uint64_t tid = kAbsent;
    Track track;
  };

  template <std::size_t kColumns, typename Row>
  void ForEach(Table table, const NamedColumns<kColumns>& columns, std::size_t needed, Row row) {
    const DatabaseTable* const there = tables_[static_cast<std::size_t>(table)];
    if (there == nullptr) return;
    sqlite::ForEachRow(database_, *there, columns.names, needed, store_.log, options_.progress,
                       row);
  }

  std::int64_t CountOf(Table table) {
    static constexpr NamedColumns kColumns{"id"};
    std::int64_t count = 0;
    ForEach(table, kColumns, 0, [&](const RowScan&) { ++count; });
    return count;
  }

  void TellUnread(Table table, std::int64_t count) {
    if (count == 0) return;
    store_.log.Add(
        ImportIssue::kUnreadData, -1,
        fmt::format("{}: {} records", kTableNames[static_cast<std::size_t>(table)], count), count);
  }

  void ReadStrings() {
    static constexpr NamedColumns kColumns{"id", "string"};
    ForEach(Table::kStrings, kColumns, 2, [&](const RowScan& row) {
      const std::int64_t id = row.Integer(kColumns["id"], kUnknown);
      if (id != kUnknown && row.IsText(kColumns["string"]))
        strings_.Set(id, row.Text(kColumns["string"]));
    });
    static constexpr NamedColumns kOfCategory{"id", "name"};
    ForEach(Table::kCategories, kOfCategory, 2, [&](const RowScan& row) {
      category_ids_.try_emplace(row.Integer(kOfCategory["id"], kUnknown),
                                AddCategory(row.Text(kOfCategory["name"])));
    });
  }

  std::uint32_t AddCategory(std::string_view name) {
    const auto [it, is_new] = category_names_.try_emplace(
        std::string(name), static_cast<std::uint32_t>(categories_.size()));
    if (is_new) categories_.push_back(CategoryOf(name));
    return it->second;
  }

  /// Returns the index in categories_ of the category of an event. The column refers to a string
  /// or, in newer versions of the schema, to a row of the category table.
  std::uint32_t CategoryAt(const RowScan& row, int column) {
    const std::int64_t id = row.Integer(column, kUnknown);
    const auto known = category_ids_.find(id);
    if (known != category_ids_.end()) return known->second;
    return category_ids_.emplace(id, AddCategory(strings_.TextOf(id))).first->second;
  }

  std::size_t ProcessOf(std::int64_t id) {
    // A process takes far more memory than a row that refers to it.
    constexpr std::size_t kMaxProcesses = std::size_t{1} << 16;
    if (processes_.size() >= kMaxProcesses && !processes_.contains(id)) {
      store_.log.Add(ImportIssue::kDamagedTable, -1,
                     "too many processes: all further processes count as one");
      return processes_.rbegin()->second;
    }
    const auto [it, is_new] = processes_.try_emplace(id);
    if (is_new) it->second = rows_.BeginProcess();
    return it->second;
  }

  void ReadProcesses() {
    static constexpr NamedColumns kColumns{"id", "pid", "command"};
    ForEach(Table::kProcesses, kColumns, 1, [&](const RowScan& row) {
      const std::int64_t id = row.Integer(kColumns["id"], kUnknown);
      rows_.GoOnWith(ProcessOf(id));
      Metadata metadata;
      const std::int64_t pid = row.Integer(kColumns["pid"], id);
      if (pid >= 0) metadata.pid = static_cast<std::uint64_t>(pid);
      // Arguments may contain secrets.
      std::string_view program = row.Text(kColumns["command"]);
      program = program.substr(0, program.find(' '));
      metadata.program = program.substr(program.rfind('/') + 1);
      rows_.Add(metadata);
    });
  }

  void ReadThreads() {
    static constexpr NamedColumns kColumns{"id", "pid", "tid"};
    ForEach(Table::kThreads, kColumns, 1, [&](const RowScan& row) {
      threads_[row.Integer(kColumns["id"], kUnknown)] = {row.Integer(kColumns["pid"], kUnknown),
                                                         NumberAt(row, kColumns["tid"])};
    });
  }

  void ReadTracks() {
    static constexpr NamedColumns kColumns{"id",       "pid",      "tid",      "name_id",
                                           "agent_id", "queue_id", "stream_id"};
    ForEach(Table::kTracks, kColumns, 1, [&](const RowScan& row) {
      tracks_[row.Integer(kColumns["id"], kUnknown)] = {
          row.Integer(kColumns["pid"], kUnknown),     row.Integer(kColumns["tid"], kUnknown),
          row.Integer(kColumns["name_id"], kUnknown), NumberAt(row, kColumns["agent_id"]),
          NumberAt(row, kColumns["queue_id"]),        NumberAt(row, kColumns["stream_id"])};
    });
  }

  void ReadAgents() {
    static constexpr NamedColumns kColumns{
        "id",           "pid",  "type",         "logical_index", "absolute_index",
        "product_name", "name", "generic_name", "extdata"};
    ForEach(Table::kAgents, kColumns, 1, [&](const RowScan& row) {
      Agent agent = Described(row, kColumns["extdata"], ParseAgent);
      agent.id = NumberAt(row, kColumns["id"]);
      if (row.IsText(kColumns["type"]))
        agent.type = row.Text(kColumns["type"]) == "GPU" ? Agent::kGpu : 0;
      for (const int column : {kColumns["absolute_index"], kColumns["logical_index"]}) {
        if (!row.IsNull(column)) agent.number = NumberAt(row, column);
      }
      if (!row.Text(kColumns["product_name"]).empty())
        agent.product = row.Text(kColumns["product_name"]);
      for (const int column : {kColumns["name"], kColumns["generic_name"]}) {
        if (agent.name.empty()) agent.name = row.Text(column);
      }
      rows_.GoOnWith(ProcessOf(row.Integer(kColumns["pid"], kUnknown)));
      rows_.Add(agent);
    });
  }

  void ReadSymbols() {
    static constexpr NamedColumns kColumns{
        "id",     "pid", "kernel_name", "display_name", "arch_vgpr_count", "accum_vgpr_count",
        "extdata"};
    ForEach(Table::kSymbols, kColumns, 1, [&](const RowScan& row) {
      KernelSymbol symbol = Described(row, kColumns["extdata"], ParseKernelSymbol);
      for (const int column : {kColumns["display_name"], kColumns["kernel_name"]}) {
        if (symbol.name.empty()) symbol.name = row.Text(column);
      }
      symbol.id = NumberAt(row, kColumns["id"]);
      if (!row.IsNull(kColumns["arch_vgpr_count"]))
        symbol.vector_registers = NumberAt(row, kColumns["arch_vgpr_count"]);
      if (!row.IsNull(kColumns["accum_vgpr_count"]))
        symbol.accumulators = NumberAt(row, kColumns["accum_vgpr_count"]);
      rows_.GoOnWith(ProcessOf(row.Integer(kColumns["pid"], kUnknown)));
      rows_.Add(symbol);
    });
  }

  void ReadEvents() {
    static constexpr NamedColumns kColumns{"id", "category_id", "stack_id", "extdata"};
    ForEach(Table::kEvents, kColumns, 1, [&](const RowScan& row) {
      Event& event = events_.emplace_back();
      event.id = row.Integer(kColumns["id"], kUnknown);
      event.category = CategoryAt(row, kColumns["category_id"]);
      event.correlation = NumberAt(row, kColumns["stack_id"]);
      if (categories_[event.category].section != Section::kMarkers) return;
      if (const std::string message = MessageOf(row.Text(kColumns["extdata"])); !message.empty())
        event.message = store_.strings.Intern(message);
    });
    const auto by_id = [](const Event& a, const Event& b) { return a.id < b.id; };
    if (!std::is_sorted(events_.begin(), events_.end(), by_id))
      std::stable_sort(events_.begin(), events_.end(), by_id);
  }

  /// Returns the event of a row; null if the row refers to no known event. Ids count up without
  /// gaps, except in damaged files.
  const Event* EventAt(const RowScan& row, int column) const {
    const std::int64_t id = row.Integer(column, kUnknown);
    if (events_.empty() || id < events_.front().id || id > events_.back().id) return nullptr;
    const auto guess =
        static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(events_.front().id);
    if (guess < events_.size() && events_[guess].id == id) return &events_[guess];
    const auto it =
        std::lower_bound(events_.begin(), events_.end(), id,
                         [](const Event& event, std::int64_t of) { return event.id < of; });
    return it != events_.end() && it->id == id ? &*it : nullptr;
  }

  /// Returns the place of a row from its columns or its track.
  ///
  /// @param first  position of the first column of kPlace in the row
  Place PlaceOf(const RowScan& row, int first) {
    Place place;
    const auto track = tracks_.find(row.Integer(first + kPlace["track_id"], kUnknown));
    if (track != tracks_.end()) place.track = track->second;
    const std::int64_t thread = row.Integer(first + kPlace["tid"], place.track.thread);
    const auto known = threads_.find(thread);
    std::int64_t process = row.Integer(first + kPlace["pid"], place.track.process);
    if (known != threads_.end()) {
      place.tid = known->second.tid;
      if (process == kUnknown) process = known->second.process;
    } else if (thread != kUnknown) {
      place.tid = static_cast<std::uint64_t>(thread);
    }
    place.process = ProcessOf(process);
    return place;
  }

  /// Returns a record with the data that all kinds of rows have.
  ///
  /// @param first  position of the first column of kPlace in the row
  Record Begin(const RowScan& row, const Place& place, int first) {
    rows_.GoOnWith(place.process);
    Record record;
    record.thread = place.tid;
    record.start = NumberAt(row, kSpan["start"]);
    record.end = NumberAt(row, kSpan["end"]);
    if (const Event* const event = EventAt(row, first + kPlace["event_id"]))
      record.correlation = event->correlation;
    return record;
  }

  void ReadRegions() {
    static constexpr auto kColumns = kSpan + NamedColumns{"name_id"} + kPlace;
    ForEach(Table::kRegions, kColumns, 3, [&](const RowScan& row) {
      Record record = Begin(row, PlaceOf(row, kColumns["pid"]), kColumns["pid"]);
      record.name = strings_.Of(row.Integer(kColumns["name_id"], kUnknown));
      const Event* const event = EventAt(row, kColumns["event_id"]);
      const Category& category = event == nullptr ? no_category_ : categories_[event->category];
      if (category.section == Section::kMarkers) {
        // Versions differ in which field has the text and which the function.
        record.text = event->message;
        const std::string_view name = store_.Text(record.name);
        if (!name.starts_with("roctx")) {
          record.text = record.name;
          record.name = event->message.valid() ? event->message : range_function_;
        }
      }
      rows_.Add(record, category.section, category.list, -1);
    });
  }

  /// Reads regions without a duration: marks, and calls shorter than the resolution of the clock.
  /// Older versions of the schema do not keep the names of such calls. Counts all other samples as
  /// unread.
  void ReadSamples() {
    // The timestamp of a sample is both its start and its end.
    static constexpr auto kColumns =
        NamedColumns{"timestamp", "timestamp"} + kPlace + NamedColumns{"name_id"};
    std::int64_t unread = 0;
    ForEach(Table::kSamples, kColumns, 1, [&](const RowScan& row) {
      const Event* const event = EventAt(row, kColumns["event_id"]);
      const Section section =
          event == nullptr ? Section::kOtherCalls : categories_[event->category].section;
      if (section == Section::kOtherCalls) {
        ++unread;
        return;
      }
      Record record = Begin(row, PlaceOf(row, kColumns["pid"]), kColumns["pid"]);
      record.name = strings_.Of(row.Integer(kColumns["name_id"], kUnknown));
      if (section == Section::kMarkers) {
        const bool is_text = record.name.valid() && !store_.Text(record.name).starts_with("roctx");
        record.text = is_text ? record.name : event->message;
        record.name = mark_function_;
      } else if (!record.name.valid()) {
        record.name = store_.strings.Intern("(call without a name)");
      }
      rows_.Add(record, section, categories_[event->category].list, -1);
    });
    TellUnread(Table::kSamples, unread);
  }

  /// Records for each process whether its streams are useful. With `--group-by-queue`, or if HIP's
  /// streams were not traced, all work is on stream 0. StreamAt() then prefers queues.
  void LookForStreams() {
    static constexpr auto kColumns = kPlace + NamedColumns{"stream_id", "queue_id"};
    ForEach(Table::kDispatches, kColumns, 0, [&](const RowScan& row) {
      const Place place = PlaceOf(row, kColumns["pid"]);
      Streams& streams = streams_[place.process];
      const std::uint64_t stream = NumberOr(row, kColumns["stream_id"], place.track.stream);
      const std::uint64_t queue = NumberOr(row, kColumns["queue_id"], place.track.queue);
      streams.any |= stream != kAbsent && stream != 0;
      streams.several_queues |= streams.queue.value_or(queue) != queue;
      streams.queue = queue;
    });
  }

  std::uint64_t StreamAt(const RowScan& row, int column, const Place& place) {
    const Streams& streams = streams_[place.process];
    if (!streams.any && streams.several_queues) return kAbsent;
    return NumberOr(row, column, place.track.stream);
  }

  /// Collects counter values by event id. A counter value that no dispatch takes stays unread.
  void ReadCounters() {
    static constexpr NamedColumns kOfNames{"id", "pid", "symbol", "name"};
    ForEach(Table::kCounterNames, kOfNames, 1, [&](const RowScan& row) {
      rows_.GoOnWith(ProcessOf(row.Integer(kOfNames["pid"], kUnknown)));
      const std::string_view name = row.Text(kOfNames["symbol"]).empty()
                                        ? row.Text(kOfNames["name"])
                                        : row.Text(kOfNames["symbol"]);
      rows_.Add(CounterName{NumberAt(row, kOfNames["id"]), std::string(name)});
    });
    static constexpr NamedColumns kColumns{"event_id", "pmc_id", "value"};
    ForEach(Table::kCounters, kColumns, 3, [&](const RowScan& row) {
      ++unread_counters_;
      constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
      if (!row.IsNull(kColumns["event_id"]))
        counted_[row.Integer(kColumns["event_id"], kUnknown)].emplace_back(
            NumberAt(row, kColumns["pmc_id"]), row.Number(kColumns["value"], kNone));
    });
  }

  void AddCounters(const Record& dispatch, std::int64_t event) {
    auto taken = counted_.extract(event);
    if (taken.empty()) return;
    unread_counters_ -= static_cast<std::int64_t>(taken.mapped().size());
    rows_.Add(DispatchCounters{dispatch, std::move(taken.mapped())});
  }

  void ReadDispatches() {
    static constexpr auto kColumns =
        kSpan + NamedColumns{"kernel_id"} + kPlace +
        NamedColumns{
            "agent_id",           "queue_id",         "stream_id",        "private_segment_size",
            "group_segment_size", "workgroup_size_x", "workgroup_size_y", "workgroup_size_z",
            "grid_size_x",        "grid_size_y",      "grid_size_z"};
    ForEach(Table::kDispatches, kColumns, 3, [&](const RowScan& row) {
      const Place place = PlaceOf(row, kColumns["pid"]);
      Record record = Begin(row, place, kColumns["pid"]);
      record.kernel = NumberAt(row, kColumns["kernel_id"]);
      record.agent = NumberOr(row, kColumns["agent_id"], place.track.agent);
      record.queue = NumberOr(row, kColumns["queue_id"], place.track.queue);
      record.stream = StreamAt(row, kColumns["stream_id"], place);
      record.private_bytes = NumberAt(row, kColumns["private_segment_size"]);
      record.group_bytes = NumberAt(row, kColumns["group_segment_size"]);
      record.workgroup = {NumberAt(row, kColumns["workgroup_size_x"]),
                          NumberAt(row, kColumns["workgroup_size_y"]),
                          NumberAt(row, kColumns["workgroup_size_z"])};
      record.grid = {NumberAt(row, kColumns["grid_size_x"]), NumberAt(row, kColumns["grid_size_y"]),
                     NumberAt(row, kColumns["grid_size_z"])};
      rows_.Add(record, Section::kKernels, "kernel_dispatch", -1);
      AddCounters(record, row.Integer(kColumns["event_id"], kUnknown));
    });
  }

  void ReadCopies() {
    static constexpr auto kColumns =
        kSpan + NamedColumns{"name_id"} + kPlace +
        NamedColumns{"size", "dst_agent_id", "src_agent_id", "stream_id"};
    ForEach(Table::kCopies, kColumns, 3, [&](const RowScan& row) {
      const Place place = PlaceOf(row, kColumns["pid"]);
      Record record = Begin(row, place, kColumns["pid"]);
      record.name = strings_.Of(row.Integer(kColumns["name_id"], kUnknown));
      record.bytes = NumberAt(row, kColumns["size"]);
      record.destination = NumberOr(row, kColumns["dst_agent_id"], place.track.agent);
      record.source = NumberAt(row, kColumns["src_agent_id"]);
      record.stream = StreamAt(row, kColumns["stream_id"], place);
      rows_.Add(record, Section::kCopies, "memory_copy", -1);
    });
  }

  void ReadAllocations() {
    static constexpr auto kColumns = kSpan + NamedColumns{"type", "level"} + kPlace +
                                     NamedColumns{"agent_id", "address", "size"};
    ForEach(Table::kAllocations, kColumns, 3, [&](const RowScan& row) {
      const Place place = PlaceOf(row, kColumns["pid"]);
      Record record = Begin(row, place, kColumns["pid"]);
      const bool is_scratch = row.Text(kColumns["level"]) == "SCRATCH";
      record.name = store_.strings.Intern(
          fmt::format("{}_{}", is_scratch ? "SCRATCH_MEMORY" : "MEMORY_ALLOCATION",
                      row.Text(kColumns["type"])));
      record.agent = NumberOr(row, kColumns["agent_id"], place.track.agent);
      record.address = NumberAt(row, kColumns["address"]);
      record.bytes = NumberAt(row, kColumns["size"]);
      rows_.Add(record, is_scratch ? Section::kScratch : Section::kAllocations,
                is_scratch ? "scratch_memory" : "memory_allocation", -1);
    });
  }

  const Database& database_;
  const Recording& tables_;
  const RocpdOptions& options_;
  RowWriter& rows_;
  TraceStore& store_;
  sqlite::Texts strings_;
  const StringId range_function_ = store_.strings.Intern("roctxRangePushA");
  const StringId mark_function_ = store_.strings.Intern("roctxMarkA");
  const Category no_category_ = CategoryOf({});
  std::vector<Category> categories_;
  std::vector<Event> events_;  ///< Sorted by id.
  /// Counter values by event id, until their dispatch consumes them.
  std::map<std::int64_t, std::vector<std::pair<std::uint64_t, double>>> counted_;
  std::int64_t unread_counters_ = 0;
  // Ordered maps: a file chooses these numbers and could make them collide in a hash table.
  std::map<std::string, std::uint32_t> category_names_;
  std::map<std::int64_t, std::uint32_t> category_ids_;
  /// Key: id in the file. Value: number that the row writer assigned.
  std::map<std::int64_t, std::size_t> processes_;
  std::map<std::int64_t, Thread> threads_;
  std::map<std::int64_t, Track> tracks_;
  std::map<std::size_t, Streams> streams_;  ///< Indexed by process.
};

}  // namespace

bool IsRocpd(const Database& database) {
  for (const auto& [id, tables] : RecordingsOf(database)) {
    for (const Table table : kTelling) {
      if (tables[static_cast<std::size_t>(table)] != nullptr) return true;
    }
  }
  return false;
}

Status ReadRocpd(const Database& database, const std::string& path, const RocpdOptions& options,
                 TraceStore& store) try {
  if (database.missing_bytes() > 0) {
    store.log.Add(ImportIssue::kTruncated, database.bytes(),
                  fmt::format("{} bytes are missing", database.missing_bytes()));
  }
  TraceExtent extent;
  {
    RowWriter rows(store, options.expansion);
    rows.HasRead(options.file_bytes > 0 ? options.file_bytes : database.bytes());
    for (const auto& [id, tables] : RecordingsOf(database))
      RecordingReading(database, tables, options, rows, store).Run();
    rows.Finish();
    extent = rows.extent();
  }
  store.metadata.format = kRocpdFormat;
  store.metadata.file_bytes = database.bytes();
  ClipOverflowingSpans(extent, store);
  store.Freeze(options.threads);
  ClipOverflowingTasks(extent, store);
  return Status::Ok();
} catch (const std::bad_alloc&) {
  return Status::Environment(path +
                             ": out of memory while reading, which requires about 150 bytes per "
                             "event; free memory, or use a larger machine");
}

}  // namespace headroom::rocprof
