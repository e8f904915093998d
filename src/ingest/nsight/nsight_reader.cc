#include "ingest/nsight/nsight_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/text.h"
#include "ingest/input/database.h"
#include "ingest/input/database_rows.h"
#include "ingest/input/database_texts.h"
#include "ingest/input/json_escapes.h"
#include "ingest/input/reference_budget.h"
#include "ingest/input/trace_extent.h"
#include "ingest/names/category.h"
#include "ingest/names/range_names.h"
#include "ingest/nsight/function_name.h"
#include "ingest/nsight/tracks.h"
#include "store/kineto_args.h"
#include "store/trace_formats.h"

namespace headroom::nsight {
namespace {

using sqlite::Database;
using sqlite::DatabaseTable;
using sqlite::RowScan;
using sqlite::SameName;
using sqlite::Texts;

using Columns = std::span<const std::string_view>;

// Tables whose rows are events.
constexpr std::string_view kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::string_view kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr std::string_view kSets = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr std::string_view kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr std::string_view kCalls = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr std::string_view kDriverCalls = "CUPTI_ACTIVITY_KIND_DRIVER";
constexpr std::string_view kSyncs = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
constexpr std::string_view kNvtx = "NVTX_EVENTS";
constexpr std::string_view kOsCalls = "OSRT_API";
constexpr std::string_view kMemory = "CUDA_GPU_MEMORY_USAGE_EVENTS";
constexpr std::string_view kMetrics = "GPU_METRICS";

/// What is worth recording, where it is said that it was not, and the flag of nsys that brings it.
struct Collectable {
  std::string_view table;
  std::string_view what;
  std::string_view flag;
};
constexpr Collectable kCollectable[] = {
    {kKernels, "kernels", "--trace=cuda"},
    {kCalls, "CUDA API calls", "--trace=cuda"},
    {kNvtx, "NVTX ranges", "--trace=nvtx"},
    {kOsCalls, "OS calls", "--trace=osrt"},
    {kMemory, "GPU memory", "--cuda-memory-usage=true"},
    {kMetrics, "GPU metrics", "--gpu-metrics-devices=all"},
};

/// Stamps beyond this are damage: an end, start + duration, must not overflow either.
constexpr std::int64_t kFurthest = std::numeric_limits<std::int64_t>::max() / 4;

/// Kinds of memory as Nsight numbers them.
constexpr std::array<std::string_view, 7> kMemoryKinds = {
    "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"};
constexpr std::int64_t kFirstDeviceKind = 2;

std::string_view MemoryKind(std::int64_t kind) {
  const bool known = kind >= 0 && kind < static_cast<std::int64_t>(kMemoryKinds.size());
  return known ? kMemoryKinds[static_cast<std::size_t>(kind)] : "Unknown";
}

/// Directions of a copy as Nsight numbers them, from 1: CUPTI's, then what unified memory moves by
/// itself.
constexpr std::array<std::string_view, 13> kCopyKinds = {
    "HtoD", "DtoH", "HtoA", "AtoH",         "AtoA",         "AtoD",        "DtoA",
    "DtoD", "HtoH", "PtoP", "Unified HtoD", "Unified DtoH", "Unified DtoD"};

std::string_view CopyDirection(std::int64_t kind) {
  const bool known = kind >= 1 && kind <= static_cast<std::int64_t>(kCopyKinds.size());
  return known ? kCopyKinds[static_cast<std::size_t>(kind - 1)] : "";
}

/// NVTX events as Nsight numbers them. Older versions leave halves of ranges that they could not
/// join.
enum class NvtxType : std::uint8_t {
  kCategory = 33,
  kMark = 34,
  kPush = 35,
  kPop = 36,
  kStart = 37,
  kEnd = 38,
  kThreadName = 39,
  kPushPop = 59,
  kStartEnd = 60,
  kDomainCreate = 75,
  kDomainDestroy = 76,
};

SyncKind SyncKindOfType(std::int64_t type) {
  constexpr SyncKind kKinds[] = {SyncKind::kEvent, SyncKind::kStreamWaitEvent, SyncKind::kStream,
                                 SyncKind::kContext};
  return type >= 1 && type <= 4 ? kKinds[type - 1] : SyncKind::kOther;
}

std::int32_t Fit32(std::int64_t value) {
  const bool fits = value > std::numeric_limits<std::int32_t>::min() &&
                    value <= std::numeric_limits<std::int32_t>::max();
  return fits ? static_cast<std::int32_t>(value) : kUnknown32;
}

/// What an export says of itself, cut to what a version looks like.
std::string PlainWord(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string word(text.substr(0, kLongest));
  std::erase_if(word, [](char c) { return !(IsDigit(c) || IsLetter(c) || c == '.' || c == '-'); });
  return word;
}

/// One reading of one database.
class DatabaseReading {
 public:
  DatabaseReading(const Database& database, const ReadOptions& options, TraceStore& store)
      : database_(database), options_(options), store_(store), tracks_(store), texts_(store) {
    budget_.HasRead(database.bytes());
  }

  Status Run(const std::string& path) {
    if (Status status = Recognize(path); !status.ok()) return status;
    if (database_.missing_bytes() > 0) {
      store_.log.Add(ImportIssue::kTruncated, database_.bytes(),
                     fmt::format("{} bytes are missing", database_.missing_bytes()));
    }
    ReadTexts();
    ReadTarget();
    tells_processes_ = TasksTellProcesses();
    ReadKernels();
    ReadCopies();
    ReadSets();
    ReadGraphs();
    ReadCalls(kCalls);
    ReadCalls(kDriverCalls);
    ReadSyncs();
    ReadNvtx();
    ReadOsCalls();
    ReadMemory();
    ReadMetrics();
    ReadNames();
    ReadDiagnostics();
    CloseRanges();
    NameDomains();
    ranges_.Mark(store_);
    tracks_.Settle();
    TellMissing();
    return Status::Ok();
  }
  /// By all events.
  const TraceExtent& extent() const { return extent_; }

 private:
  Status Recognize(const std::string& path) const {
    for (const std::string_view table : {kKernels, kCalls, kNvtx, kCopies, kGraphs, kOsCalls}) {
      if (database_.Find(table) != nullptr) return Status::Ok();
    }
    const auto any = [&](std::string_view prefix) {
      return std::any_of(
          database_.tables().begin(), database_.tables().end(),
          [&](const DatabaseTable& table) { return table.name.starts_with(prefix); });
    };
    if (any("rocpd_")) {
      return Status::BadInput(
          path +
          ": is a database of rocmProfileData or another tool of ROCm, which is not read; convert "
          "it to JSON (rpd2tracing.py FILE trace.json)");
    }
    if (any("StringIds")) {
      return Status::BadInput(
          path +
          ": an export of Nsight Systems without CUDA or NVTX events; record with nsys profile "
          "--trace=cuda,nvtx,osrt");
    }
    return Status::BadInput(fmt::format(
        "{}: an SQLite database, but neither of Nsight Systems nor of rocprofv3: it has no table "
        "{}, {} or rocpd_kernel_dispatch; pass what `nsys export --type sqlite` or rocprofv3 wrote",
        path, kKernels, kNvtx));
  }

  /// Calls `row` for each row of a table, if it is there. The first `needed` columns must be, too.
  template <typename Row>
  void ForEach(std::string_view name, Columns columns, std::size_t needed, Row row) {
    const DatabaseTable* const table = database_.Find(name);
    if (table == nullptr) return;
    sqlite::ForEachRow(database_, *table, columns, needed, store_.log, options_.progress, row);
  }

  /// A time stamp; nothing, and a note in the log, where it is none.
  std::optional<TimeNs> TimeAt(const RowScan& row, int column, std::string_view table) {
    const std::int64_t ns = row.Integer(column, kUnknown);
    if (ns >= -kFurthest && ns <= kFurthest) {
      extent_.See(TimeNs(ns));
      return TimeNs(ns);
    }
    store_.log.Add(ImportIssue::kBadTime, -1, std::string(table));
    return std::nullopt;
  }

  DurationNs DurationTo(const RowScan& row, int end_column, TimeNs start, std::string_view table) {
    const std::int64_t end = row.Integer(end_column, kUnknown);
    if (end == kUnknown) {
      store_.log.Add(ImportIssue::kMissingDuration, -1, std::string(table));
    } else if (end < start.ns()) {
      store_.log.Add(ImportIssue::kNegativeDuration, -1, std::string(table));
    } else if (end > kFurthest) {
      store_.log.Add(ImportIssue::kBadDuration, -1, std::string(table));
    } else {
      last_ = std::max(last_, TimeNs(end));
      return TimeNs(end) - start;
    }
    return DurationNs(0);
  }

  /// A name in its column: the id of a text, or in some exports the text itself.
  StringId NameAt(const RowScan& row, int column) {
    if (row.IsText(column)) return store_.strings.Intern(row.Text(column));
    const std::int64_t id = row.Integer(column, kUnknown);
    return id == kUnknown ? StringId::None() : texts_.Of(id);
  }

  /// The same, of an event that must have a name.
  StringId NameOr(StringId name, std::string_view otherwise, std::string_view table) {
    if (name.valid()) return name;
    store_.log.Add(ImportIssue::kMissingName, -1, std::string(table));
    return store_.strings.Intern(otherwise);
  }

  void ReadTexts() {
    static constexpr std::string_view kColumns[] = {"id", "value"};
    ForEach("StringIds", kColumns, 2, [&](const RowScan& row) {
      if (const std::int64_t id = row.Integer(0, kUnknown); id != kUnknown && row.IsText(1))
        texts_.Set(id, row.Text(1));
    });
  }

  /// Devices, the clock, and which version wrote this.
  void ReadTarget() {
    static constexpr std::string_view kOfCuda[] = {"gpuId", "cudaId", "pid"};
    ForEach("TARGET_INFO_CUDA_DEVICE", kOfCuda, 2, [&](const RowScan& row) {
      const std::int64_t gpu = row.Integer(0, kUnknown), ordinal = row.Integer(1, kUnknown);
      if (gpu != kUnknown && ordinal != kUnknown)
        tracks_.MapDevice(row.Integer(2, 0), ordinal, gpu);
    });
    static constexpr std::string_view kOfGpu[] = {"id",      "name",         "totalMemory",
                                                  "smCount", "computeMajor", "computeMinor"};
    ForEach("TARGET_INFO_GPU", kOfGpu, 1, [&](const RowScan& row) {
      const std::int64_t gpu = row.Integer(0, kUnknown);
      if (gpu == kUnknown) return;
      const auto above = [&](int column, std::int64_t least) {
        const std::int64_t value = row.Integer(column, kUnknown);
        return value >= least ? value : kUnknown;
      };
      Tracks::Properties& properties = tracks_.PropertiesOf(gpu);
      if (const StringId name = NameAt(row, 1); name.valid() && !store_.Text(name).empty())
        properties.name = name;
      properties.memory_bytes = above(2, 1);
      properties.sm_count = Fit32(above(3, 1));
      properties.compute_major = Fit32(above(4, 1));
      properties.compute_minor = Fit32(above(5, 0));
    });
    static constexpr std::string_view kOfSession[] = {"utcEpochNs"};
    ForEach("TARGET_INFO_SESSION_START_TIME", kOfSession, 1, [&](const RowScan& row) {
      const std::int64_t ns = row.Integer(0, kUnknown);
      if (ns > 0 && ns <= kFurthest) store_.metadata.base_time_ns = ns;
    });
    static constexpr std::string_view kOfExport[] = {"name", "value"};
    std::string version, schema;
    const auto keep = [&](const RowScan& row) {
      if (row.Text(0) == "EXPORT_PRODUCT_VERSION") version = PlainWord(row.Text(1));
      if (row.Text(0) == "EXPORT_SCHEMA_VERSION") schema = PlainWord(row.Text(1));
    };
    ForEach("META_DATA_EXPORT", kOfExport, 2, keep);
    ForEach("EXPORT_META_DATA", kOfExport, 2, keep);
    if (version.empty() && schema.empty()) return;
    std::string says = "exported by Nsight Systems";
    if (!version.empty()) says += " " + version;
    if (!schema.empty()) says += fmt::format(", schema {}", schema);
    store_.log.Add(ImportIssue::kRecorder, -1, std::move(says));
  }

  /// Whether every table of GPU tasks names their process.
  bool TasksTellProcesses() const {
    return std::ranges::all_of(
        std::array{kKernels, kCopies, kSets, kGraphs}, [&](std::string_view name) {
          const DatabaseTable* const table = database_.Find(name);
          return table == nullptr ||
                 std::ranges::any_of(table->columns, [](const std::string& column) {
                   return SameName(column, "globalPid");
                 });
        });
  }

  /// A correlation id that no other process uses: CUPTI counts in 32 bits, the bits above are the
  /// number of the process in this file, so that the first one's ids stay as they are. kUnknown
  /// where the file has no id: exports that know no nulls write 0.
  std::int64_t CorrelationOf(const RowScan& row, int column, std::int64_t global) {
    const std::int64_t id = row.Integer(column, 0);
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

  /// The columns that all GPU tasks have, in this order.
  enum TaskColumn { kStart, kEndTime, kDevice, kContext, kStream, kCorrelation, kPid, kOwn };

  std::optional<std::size_t> AddTask(const RowScan& row, GpuTaskKind kind, std::string_view table) {
    ++store_.metadata.events;
    if (row.Integer(kStart, kUnknown) == 0 && row.Integer(kEndTime, kUnknown) == 0) {
      store_.log.Add(ImportIssue::kBadTime, -1, fmt::format("{}: time not collected", table));
      return std::nullopt;
    }
    const std::optional<TimeNs> start = TimeAt(row, kStart, table);
    if (!start) return std::nullopt;
    auto& tasks = store_.gpu_tasks;
    const std::int64_t global = row.Integer(kPid, kUnknown);
    const StreamId stream =
        tracks_.StreamOf(global == kUnknown ? 0 : PidOf(global), row.Integer(kDevice, -1),
                         row.Integer(kContext, -1), row.Integer(kStream, -1));
    const std::size_t task = AppendUnknown(tasks);
    tasks.start.MutablePending(task) = *start;
    tasks.duration.MutablePending(task) = DurationTo(row, kEndTime, *start, table);
    tasks.stream.MutablePending(task) = stream;
    tasks.kind.MutablePending(task) = kind;
    tasks.copy.MutablePending(task) = CopyKind::kNotACopy;
    tasks.correlation.MutablePending(task) = CorrelationOf(row, kCorrelation, global);
    return task;
  }

  void ReadKernels() {
    static constexpr std::string_view kColumns[] = {"start",
                                                    "end",
                                                    "deviceId",
                                                    "contextId",
                                                    "streamId",
                                                    "correlationId",
                                                    "globalPid",
                                                    "demangledName",
                                                    "mangledName",
                                                    "shortName",
                                                    "gridX",
                                                    "gridY",
                                                    "gridZ",
                                                    "blockX",
                                                    "blockY",
                                                    "blockZ",
                                                    "registersPerThread",
                                                    "staticSharedMemory",
                                                    "dynamicSharedMemory",
                                                    "graphNodeId",
                                                    "name"};
    ForEach(kKernels, kColumns, 2, [&](const RowScan& row) {
      const std::optional<std::size_t> task = AddTask(row, GpuTaskKind::kKernel, kKernels);
      if (!task) return;
      auto& tasks = store_.gpu_tasks;
      StringId name;
      for (const int column : {kOwn + 0, kOwn + 1, kOwn + 2, kOwn + 13}) {
        if (!name.valid()) name = NameAt(row, column);
      }
      tasks.name.MutablePending(*task) = NameOr(name, "(unnamed kernel)", kKernels);
      const auto integer = [&](int column) { return Fit32(row.Integer(column, kUnknown)); };
      tasks.grid_x.MutablePending(*task) = integer(kOwn + 3);
      tasks.grid_y.MutablePending(*task) = integer(kOwn + 4);
      tasks.grid_z.MutablePending(*task) = integer(kOwn + 5);
      tasks.block_x.MutablePending(*task) = integer(kOwn + 6);
      tasks.block_y.MutablePending(*task) = integer(kOwn + 7);
      tasks.block_z.MutablePending(*task) = integer(kOwn + 8);
      tasks.registers.MutablePending(*task) = integer(kOwn + 9);
      const std::int32_t fixed = integer(kOwn + 10), asked = integer(kOwn + 11);
      if (fixed >= 0 && asked >= 0)
        tasks.shared_memory.MutablePending(*task) = Fit32(std::int64_t{fixed} + asked);
      tasks.graph_node.MutablePending(*task) = NodeAt(row, kOwn + 12);
    });
  }

  static std::int64_t NodeAt(const RowScan& row, int column) {
    const std::int64_t node = row.Integer(column, 0);
    return node != 0 ? node : kUnknown;
  }

  void ReadCopies() {
    static constexpr std::string_view kColumns[] = {
        "start",     "end",   "deviceId", "contextId", "streamId", "correlationId",
        "globalPid", "bytes", "copyKind", "srcKind",   "dstKind",  "graphNodeId"};
    ForEach(kCopies, kColumns, 2, [&](const RowScan& row) {
      const std::optional<std::size_t> task = AddTask(row, GpuTaskKind::kMemcpy, kCopies);
      if (!task) return;
      const std::string_view direction = CopyDirection(row.Integer(kOwn + 1, 0));
      std::string name = "Memcpy";
      if (!direction.empty()) {
        name += fmt::format(" {} ({} -> {})", direction, MemoryKind(row.Integer(kOwn + 2, -1)),
                            MemoryKind(row.Integer(kOwn + 3, -1)));
      }
      auto& tasks = store_.gpu_tasks;
      tasks.name.MutablePending(*task) = store_.strings.Intern(name);
      tasks.copy.MutablePending(*task) = CopyKindOf(direction);
      tasks.bytes.MutablePending(*task) = row.Integer(kOwn, kUnknown);
      tasks.graph_node.MutablePending(*task) = NodeAt(row, kOwn + 4);
    });
  }

  void ReadSets() {
    static constexpr std::string_view kColumns[] = {
        "start",         "end",       "deviceId", "contextId", "streamId",
        "correlationId", "globalPid", "bytes",    "memKind",   "graphNodeId"};
    ForEach(kSets, kColumns, 2, [&](const RowScan& row) {
      const std::optional<std::size_t> task = AddTask(row, GpuTaskKind::kMemset, kSets);
      if (!task) return;
      auto& tasks = store_.gpu_tasks;
      tasks.name.MutablePending(*task) = store_.strings.Intern(
          fmt::format("Memset ({})", MemoryKind(row.Integer(kOwn + 1, kFirstDeviceKind))));
      tasks.bytes.MutablePending(*task) = row.Integer(kOwn, kUnknown);
      tasks.graph_node.MutablePending(*task) = NodeAt(row, kOwn + 2);
    });
  }

  void ReadGraphs() {
    static constexpr std::string_view kColumns[] = {"start",     "end",      "deviceId",
                                                    "contextId", "streamId", "correlationId",
                                                    "globalPid", "graphId"};
    std::int64_t replays = 0;
    ForEach(kGraphs, kColumns, 2, [&](const RowScan& row) {
      const std::optional<std::size_t> task = AddTask(row, GpuTaskKind::kKernel, kGraphs);
      if (!task) return;
      ++replays;
      const std::int64_t graph = row.Integer(kOwn, kUnknown);
      store_.gpu_tasks.name.MutablePending(*task) = store_.strings.Intern(
          graph == kUnknown ? std::string("CUDA graph") : fmt::format("CUDA graph {}", graph));
    });
    if (replays > 0)
      store_.log.Add(ImportIssue::kOpaqueGraphs, -1, fmt::format("{} replays", replays), replays);
  }

  /// What a table tells of a host event.
  struct HostEvent {
    TimeNs start;
    DurationNs duration;
    StringId name, category;
    ThreadId thread;
    HostEventKind kind;
    std::int64_t correlation = kUnknown, external_id = kUnknown, sequence = kUnknown;
    StringId args = StringId::None();
  };
  std::size_t AddHostEvent(const HostEvent& event) {
    auto& rows = store_.host_events;
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

  /// A function of CUDA by its name in the file.
  struct Function {
    StringId name;
    HostEventKind kind = HostEventKind::kOther;
    bool allocates = false;
  };

  const Function& FunctionOf(StringId written) {
    if (written.index() >= functions_.size()) functions_.resize(written.index() + 1);
    if (!functions_[written.index()].name.valid()) {
      const std::string_view name = FunctionName(store_.Text(written));
      Function function = {store_.strings.Intern(name), HostEventKind::kRuntimeCall, false};
      // cuLaunchKernel and the like; cudaLaunchKernel, cublas... and cusparse... are libraries'.
      if (name.starts_with("cu") && name.size() > 2 && IsUpper(name[2]))
        function.kind = HostEventKind::kDriverCall;
      function.allocates = name.find("Malloc") != std::string_view::npos ||
                           name.find("MemAlloc") != std::string_view::npos ||
                           name.find("Free") != std::string_view::npos;
      functions_[written.index()] = function;
    }
    return functions_[written.index()];
  }

  void ReadCalls(std::string_view table) {
    static constexpr std::string_view kColumns[] = {"start",         "end",    "globalTid",
                                                    "correlationId", "nameId", "name"};
    const StringId runtime = store_.strings.Intern("cuda_runtime");
    const StringId driver = store_.strings.Intern("cuda_driver");
    ForEach(table, kColumns, 2, [&](const RowScan& row) {
      ++store_.metadata.events;
      const std::optional<TimeNs> start = TimeAt(row, 0, table);
      if (!start) return;
      StringId name = NameAt(row, 4);
      if (!name.valid()) name = NameAt(row, 5);
      const Function function = FunctionOf(NameOr(name, "(unnamed call)", table));
      const std::int64_t global = row.Integer(2, kUnknown);
      const ThreadId thread = tracks_.ThreadOf(global);
      const std::int64_t correlation = row.Integer(3, 0);
      AddHostEvent({.start = *start,
                    .duration = DurationTo(row, 1, *start, table),
                    .name = function.name,
                    .category = function.kind == HostEventKind::kDriverCall ? driver : runtime,
                    .thread = thread,
                    .kind = function.kind,
                    .correlation = CorrelationOf(row, 3, global)});
      if (correlation == 0) return;
      if (function.allocates)
        allocating_[{global == kUnknown ? 0 : PidOf(global), correlation}] = thread;
    });
  }

  void ReadSyncs() {
    static constexpr std::string_view kColumns[] = {"start",     "end",      "deviceId",
                                                    "contextId", "streamId", "correlationId",
                                                    "globalPid", "syncType"};
    ForEach(kSyncs, kColumns, 2, [&](const RowScan& row) {
      ++store_.metadata.events;
      const std::optional<TimeNs> start = TimeAt(row, kStart, kSyncs);
      if (!start) return;
      const std::int64_t stream = row.Integer(kStream, -1);
      const std::int64_t global = row.Integer(kPid, kUnknown);
      auto& syncs = store_.syncs;
      const std::size_t sync = AppendUnknown(syncs);
      syncs.start.MutablePending(sync) = *start;
      syncs.duration.MutablePending(sync) = DurationTo(row, kEndTime, *start, kSyncs);
      syncs.kind.MutablePending(sync) = SyncKindOfType(row.Integer(kOwn, 0));
      // Of events and contexts, the stream is a number that no stream has.
      if (stream >= 0 && stream < std::numeric_limits<std::uint32_t>::max() &&
          row.Integer(kDevice, -1) >= 0) {
        syncs.stream.MutablePending(sync) =
            tracks_.StreamOf(global == kUnknown ? 0 : PidOf(global), row.Integer(kDevice, -1),
                             row.Integer(kContext, -1), stream);
      }
      syncs.correlation.MutablePending(sync) = CorrelationOf(row, kCorrelation, global);
    });
  }

  void ReadNvtx() {
    static constexpr std::string_view kColumns[] = {"start",  "end",       "eventType", "text",
                                                    "textId", "globalTid", "domainId"};
    operator_category_ = store_.strings.Intern("cpu_op");
    range_category_ = store_.strings.Intern("user_annotation");
    mark_category_ = store_.strings.Intern("nvtx");
    ForEach(kNvtx, kColumns, 1, [&](const RowScan& row) { AddNvtx(row); });
  }

  void AddNvtx(const RowScan& row) {
    // PyTorch numbers operators in the text, so that each is another: those are not kept.
    std::string_view text = row.IsText(3) ? row.Text(3) : texts_.TextOf(row.Integer(4, -1));
    if (!budget_.Take(text.size())) {
      store_.log.Add(ImportIssue::kOversizedEvent, -1,
                     "texts of ranges left out: they name the same long one over and over");
      text = {};
    }
    const std::int64_t global = row.Integer(5, kUnknown);
    const std::int64_t domain = row.Integer(6, 0);
    const std::int64_t pid = global == kUnknown ? 0 : PidOf(global);
    const bool ends = row.Integer(1, kUnknown) != kUnknown;
    const auto type = static_cast<NvtxType>(
        std::clamp<std::int64_t>(row.Integer(2, ends ? 59 : 34), 0, UINT8_MAX));
    switch (type) {
      case NvtxType::kDomainCreate:
        if (!text.empty()) domains_[{pid, domain}] = store_.strings.Intern(text);
        return;
      case NvtxType::kThreadName:
        if (!text.empty()) thread_names_.emplace_back(global, store_.strings.Intern(text));
        return;
      case NvtxType::kCategory:
      case NvtxType::kDomainDestroy:
        return;
      default:
        break;
    }
    ++store_.metadata.events;
    if (type == NvtxType::kPop || type == NvtxType::kEnd) {
      store_.log.Add(ImportIssue::kUnmatchedEnd, -1, std::string(kNvtx));
      return;
    }
    const std::optional<TimeNs> start = TimeAt(row, 0, kNvtx);
    if (!start) return;
    const auto name_of = [&](std::string_view name) {
      return store_.strings.Intern(name.empty() ? "(unnamed range)" : name);
    };
    const bool any_thread = type == NvtxType::kStartEnd || type == NvtxType::kStart;
    // Ranges that begin and end on any thread do not nest, so they have a track of their own.
    const ThreadId thread =
        any_thread ? tracks_.TrackOf(global, "NVTX start-end ranges") : tracks_.ThreadOf(global);
    if (type == NvtxType::kMark) {
      auto& instants = store_.instants;
      const std::size_t instant = AppendUnknown(instants);
      instants.time.MutablePending(instant) = *start;
      instants.name.MutablePending(instant) = name_of(text);
      instants.category.MutablePending(instant) = mark_category_;
      instants.thread.MutablePending(instant) = thread;
      last_ = std::max(last_, *start);
      return;
    }
    const std::optional<OperatorRange> op = ParseOperatorRange(text);
    const bool is_half = type == NvtxType::kPush || type == NvtxType::kStart || !ends;
    HostEvent event = {.start = *start,
                       .duration = is_half ? DurationNs(0) : DurationTo(row, 1, *start, kNvtx),
                       .name = name_of(op ? op->name : text),
                       .category = op ? operator_category_ : range_category_,
                       .thread = thread,
                       .kind = op ? HostEventKind::kOperator : HostEventKind::kAnnotation};
    if (op) {
      event.sequence = op->sequence;
      event.external_id = op->id;
      if (!op->sizes.empty())
        event.args = store_.strings.Intern(fmt::format("\"{}\": {}", kInputDimsArg, op->sizes));
    }
    const std::size_t added = AddHostEvent(event);
    if (is_half) unfinished_.push_back(added);
    if (op) return;
    ranges_.Note(added, text);
    if (domain != 0) in_domains_.push_back({added, {pid, domain}});
  }

  void ReadOsCalls() {
    static constexpr std::string_view kColumns[] = {"start", "end", "globalTid", "nameId"};
    const StringId category = store_.strings.Intern("osrt");
    ForEach(kOsCalls, kColumns, 2, [&](const RowScan& row) {
      ++store_.metadata.events;
      const std::optional<TimeNs> start = TimeAt(row, 0, kOsCalls);
      if (!start) return;
      AddHostEvent({.start = *start,
                    .duration = DurationTo(row, 1, *start, kOsCalls),
                    .name = NameOr(NameAt(row, 3), "(unnamed call)", kOsCalls),
                    .category = category,
                    .thread = tracks_.ThreadOf(row.Integer(2, kUnknown)),
                    .kind = HostEventKind::kOther});
    });
  }

  /// Allocations and frees of device memory. What stays allocated is summed up in order of time.
  void ReadMemory() {
    static constexpr std::string_view kColumns[] = {
        "start",   "globalPid",           "deviceId",     "address", "bytes",
        "memKind", "memoryOperationType", "correlationId"};
    struct Record {
      TimeNs time;
      std::int64_t address, bytes;
      DeviceId device;
      ThreadId thread;
    };
    std::vector<Record> records;
    ForEach(kMemory, kColumns, 1, [&](const RowScan& row) {
      ++store_.metadata.events;
      const std::optional<TimeNs> time = TimeAt(row, 0, kMemory);
      const std::int64_t bytes = row.Integer(4, kUnknown);
      if (!time || bytes < 0 || bytes > kFurthest) return;
      if (row.Integer(5, kFirstDeviceKind) < kFirstDeviceKind) return;  // Of the host.
      const std::int64_t global = row.Integer(1, kUnknown);
      const std::int64_t pid = global == kUnknown ? 0 : PidOf(global);
      const auto call = allocating_.find({pid, row.Integer(7, 0)});
      const bool is_free = row.Integer(6, 0) != 0;
      records.push_back(
          {*time, row.Integer(3, kUnknown), is_free ? -bytes : bytes,
           tracks_.DeviceOf(pid, row.Integer(2, 0)),
           call != allocating_.end() ? call->second : tracks_.TrackOf(global, "GPU memory")});
    });
    std::stable_sort(records.begin(), records.end(),
                     [](const Record& a, const Record& b) { return a.time < b.time; });
    std::map<DeviceId, std::int64_t> totals;
    for (const Record& record : records) {
      std::int64_t& total = totals[record.device];
      // What was allocated before the recording is freed in it, too.
      total = std::clamp<std::int64_t>(total + record.bytes, 0, kFurthest);
      auto& rows = store_.memory_events;
      const std::size_t at = AppendUnknown(rows);
      rows.time.MutablePending(at) = record.time;
      rows.thread.MutablePending(at) = record.thread;
      rows.address.MutablePending(at) = record.address;
      rows.bytes.MutablePending(at) = record.bytes;
      rows.total_reserved_bytes.MutablePending(at) = total;
      rows.device_type.MutablePending(at) = 1;
      rows.device.MutablePending(at) = Fit32(store_.devices.ordinal.Pending(record.device.index()));
    }
  }

  void ReadMetrics() {
    static constexpr std::string_view kOfMetric[] = {"metricId", "metricName", "typeId"};
    std::map<std::pair<std::int64_t, std::int64_t>, StringId> names;  // By type and metric.
    ForEach("TARGET_INFO_GPU_METRICS", kOfMetric, 2, [&](const RowScan& row) {
      const std::int64_t metric = row.Integer(0, kUnknown);
      if (const StringId name = NameAt(row, 1); name.valid()) {
        names[{row.Integer(2, kUnknown), metric}] = name;
        names.try_emplace({kUnknown, metric}, name);
      }
    });
    static constexpr std::string_view kColumns[] = {"timestamp", "typeId", "metricId", "value"};
    ForEach(kMetrics, kColumns, 1, [&](const RowScan& row) {
      ++store_.metadata.events;
      const std::optional<TimeNs> time = TimeAt(row, 0, kMetrics);
      const double value = row.Number(3, std::numeric_limits<double>::quiet_NaN());
      if (!time || !(std::abs(value) <= std::numeric_limits<double>::max())) return;
      const std::int64_t type = row.Integer(1, kUnknown), metric = row.Integer(2, kUnknown);
      auto name = names.find({type, metric});
      if (name == names.end()) name = names.find({kUnknown, metric});
      if (name == names.end()) {
        store_.log.Add(ImportIssue::kMissingName, -1, std::string(kMetrics));
        return;
      }
      // The low byte of the type is the number of the GPU.
      const std::int64_t gpu = type == kUnknown ? 0 : type & 0xFF;
      auto& counters = store_.counters;
      const std::size_t at = AppendUnknown(counters);
      counters.time.MutablePending(at) = *time;
      counters.name.MutablePending(at) = name->second;
      counters.series.MutablePending(at) = store_.strings.Intern(fmt::format("GPU {}", gpu));
      if (store_.Text(name->second).find('%') != std::string_view::npos)
        counters.unit.MutablePending(at) = store_.strings.Intern("%");
      counters.thread.MutablePending(at) = tracks_.TrackOf(kUnknown, "GPU metrics");
      counters.value.MutablePending(at) = value;
    });
  }

  void ReadNames() {
    for (const auto& [global, name] : thread_names_) tracks_.NameThread(global, name);
    static constexpr std::string_view kOfThread[] = {"globalTid", "nameId"};
    ForEach("ThreadNames", kOfThread, 2, [&](const RowScan& row) {
      if (const StringId name = NameAt(row, 1); name.valid())
        tracks_.NameThread(row.Integer(0, kUnknown), name);
    });
    static constexpr std::string_view kOfProcess[] = {"globalPid", "pid", "name"};
    ForEach("PROCESSES", kOfProcess, 0, [&](const RowScan& row) {
      const std::int64_t global = row.Integer(0, kUnknown);
      if (const StringId name = NameAt(row, 2); name.valid())
        tracks_.NameProcess(row.Integer(1, global == kUnknown ? -1 : PidOf(global)), name);
    });
  }

  void ReadDiagnostics() {
    static constexpr std::string_view kColumns[] = {"severity", "text"};
    constexpr std::int64_t kWarning = 2;
    constexpr std::size_t kLongest = 200;
    struct Told {
      std::int64_t count = 0;
      std::string first;
    };
    std::map<ImportIssue, Told> told;
    ForEach("DIAGNOSTIC_EVENT", kColumns, 2, [&](const RowScan& row) {
      if (row.Integer(0, 0) < kWarning) return;
      const std::string text(row.Text(1).substr(0, kLongest));
      const auto [issue, count] = MeaningOf(text);
      Told& same = told[issue];
      if (same.count == 0) same.first = text;
      same.count += count;
    });
    for (auto& [issue, same] : told) {
      while (!same.first.empty() && (IsSpace(same.first.back()) || same.first.back() == '.'))
        same.first.pop_back();
      store_.log.Add(issue, -1, same.first, same.count);
    }
  }

  /// Returns what a diagnostic reports, and the number of records that it states, or 1.
  static std::pair<ImportIssue, std::int64_t> MeaningOf(std::string_view diagnostic) {
    const std::string text = LowerCase(diagnostic);
    const auto has = [&](std::initializer_list<std::string_view> words) {
      return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
        return text.find(word) != std::string::npos;
      });
    };
    if (has({"sampl", "backtrace", "cpu ip", "context switch", "thread sched", "unwind"}))
      return {ImportIssue::kCollectionNote, 1};
    const std::size_t digit = text.find_first_of("0123456789");
    if (digit == std::string::npos || !has({"lost", "dropped"}) ||
        !has({"gpu", "cuda", "cupti", "kernel"}))
      return {ImportIssue::kCollectionProblem, 1};
    std::int64_t count = 0;
    std::from_chars(text.data() + digit, text.data() + text.size(), count);
    // Sums over many diagnostics must not overflow.
    constexpr std::int64_t kMaxCount = 1'000'000'000;
    return {ImportIssue::kDroppedRecords, std::clamp<std::int64_t>(count, 1, kMaxCount)};
  }

  /// Ranges without an end go on to the end of the trace.
  void CloseRanges() {
    for (const std::size_t event : unfinished_) {
      const TimeNs start = store_.host_events.start.Pending(event);
      store_.host_events.duration.MutablePending(event) = std::max(last_, start) - start;
      store_.log.Add(ImportIssue::kUnfinishedSpan, -1, std::string(kNvtx));
    }
  }

  void NameDomains() {
    std::map<std::pair<std::int64_t, std::int64_t>, StringId> members;
    for (const auto& [key, name] : domains_) {
      std::string member = "\"domain\": ";
      AppendQuoted(store_.Text(name), member);
      members[key] = store_.strings.Intern(member);
    }
    for (const auto& [event, key] : in_domains_) {
      if (const auto it = members.find(key); it != members.end())
        store_.host_events.args.MutablePending(event) = it->second;
    }
  }

  void TellMissing() {
    std::string kinds;
    for (const Collectable& kind : kCollectable) {
      const bool whole_graphs = kind.table == kKernels && database_.Find(kGraphs) != nullptr;
      if (database_.Find(kind.table) != nullptr || whole_graphs) continue;
      kinds += fmt::format("{}{} ({})", kinds.empty() ? "" : ", ", kind.what, kind.flag);
    }
    if (!kinds.empty())
      store_.log.Add(ImportIssue::kNotCollected, -1, "nsys profile brings them: " + kinds);
  }

  const Database& database_;
  const ReadOptions& options_;
  TraceStore& store_;
  Tracks tracks_;
  Texts texts_;
  ReferenceBudget budget_;  ///< Of texts of ranges.
  TraceExtent extent_;
  TimeNs last_ = TimeNs(std::numeric_limits<std::int64_t>::min() / 4);

  bool tells_processes_ = false;
  /// By serialized id without its thread. Ordered: a file chooses these numbers.
  std::map<std::int64_t, std::int64_t> process_numbers_;
  std::int64_t last_process_ = kUnknown, last_process_number_ = 0;

  std::vector<Function> functions_;  ///< By string of the store.
  /// Threads of calls that allocate or free, by process and correlation.
  std::map<std::pair<std::int64_t, std::int64_t>, ThreadId> allocating_;

  StringId operator_category_, range_category_, mark_category_;
  NamedRanges ranges_;
  std::vector<std::size_t> unfinished_;
  std::map<std::pair<std::int64_t, std::int64_t>, StringId> domains_;  ///< By process and number.
  std::vector<std::pair<std::size_t, std::pair<std::int64_t, std::int64_t>>> in_domains_;
  std::vector<std::pair<std::int64_t, StringId>> thread_names_;
};

}  // namespace

Status Read(const sqlite::Database& database, const std::string& path, const ReadOptions& options,
            TraceStore& store) try {
  DatabaseReading reading(database, options, store);
  if (Status status = reading.Run(path); !status.ok()) return status;
  store.metadata.format = kNsightFormat;
  store.metadata.file_bytes = database.bytes();
  store.Freeze(options.threads);
  ClipOverflowingTasks(reading.extent(), store);
  return Status::Ok();
} catch (const std::bad_alloc&) {
  return Status::Environment(
      path + ": out of memory while reading; the trace needs about 120 bytes an event");
}

}  // namespace headroom::nsight
