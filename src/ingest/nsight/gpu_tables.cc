#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "ingest/names/category.h"
#include "ingest/nsight/memory_kind.h"
#include "ingest/nsight/tables.h"

namespace headroom::nsight {

using sqlite::NamedColumns;
using sqlite::RowScan;

namespace {

/// Directions of a copy in Nsight's numbering, from 1: CUPTI's, then migrations of unified memory.
constexpr std::array<std::string_view, 13> kCopyKinds = {
    "HtoD", "DtoH", "HtoA", "AtoH",         "AtoA",         "AtoD",        "DtoA",
    "DtoD", "HtoH", "PtoP", "Unified HtoD", "Unified DtoH", "Unified DtoD"};

std::string_view CopyDirection(std::int64_t kind) {
  const bool known = kind >= 1 && kind <= static_cast<std::int64_t>(kCopyKinds.size());
  return known ? kCopyKinds[static_cast<std::size_t>(kind - 1)] : "";
}

SyncKind SyncKindOfType(std::int64_t type) {
  constexpr SyncKind kKinds[] = {SyncKind::kEvent, SyncKind::kStreamWaitEvent, SyncKind::kStream,
                                 SyncKind::kContext};
  return type >= 1 && type <= 4 ? kKinds[type - 1] : SyncKind::kOther;
}

std::int64_t NodeAt(const RowScan& row, int column) {
  const std::int64_t node = row.Integer(column, 0);
  return node != 0 ? node : kUnknown;
}

/// The columns of all GPU tasks and synchronizations.
constexpr NamedColumns kTask{"start",    "end",           "deviceId", "contextId",
                             "streamId", "correlationId", "globalPid"};

/// Appends a GPU task and returns its row. If its time is unknown, returns nullopt and adds a log
/// entry.
std::optional<std::size_t> AddTask(Reading& reading, const RowScan& row, GpuTaskKind kind,
                                   std::string_view table) {
  ++reading.store.metadata.events;
  if (row.Integer(kTask["start"], kUnknown) == 0 && row.Integer(kTask["end"], kUnknown) == 0) {
    reading.store.log.Add(ImportIssue::kBadTime, -1, fmt::format("{}: time not collected", table));
    return std::nullopt;
  }
  const std::optional<TimeNs> start = reading.TimeAt(row, kTask["start"], table);
  if (!start) return std::nullopt;
  auto& tasks = reading.store.gpu_tasks;
  const std::int64_t global = row.Integer(kTask["globalPid"], kUnknown);
  const StreamId stream = reading.tracks.StreamOf(
      PidOrZero(global), row.Integer(kTask["deviceId"], -1), row.Integer(kTask["contextId"], -1),
      row.Integer(kTask["streamId"], -1));
  const std::size_t task = AppendUnknown(tasks);
  tasks.start.MutablePending(task) = *start;
  tasks.duration.MutablePending(task) = reading.DurationTo(row, kTask["end"], *start, table);
  tasks.stream.MutablePending(task) = stream;
  tasks.kind.MutablePending(task) = kind;
  tasks.copy.MutablePending(task) = CopyKind::kNotACopy;
  tasks.correlation.MutablePending(task) =
      reading.CorrelationOf(row.Integer(kTask["correlationId"], 0), global);
  return task;
}

void ReadKernels(Reading& reading) {
  static constexpr auto kColumns = kTask + NamedColumns{"demangledName",
                                                        "mangledName",
                                                        "shortName",
                                                        "name",
                                                        "gridX",
                                                        "gridY",
                                                        "gridZ",
                                                        "blockX",
                                                        "blockY",
                                                        "blockZ",
                                                        "registersPerThread",
                                                        "staticSharedMemory",
                                                        "dynamicSharedMemory",
                                                        "graphNodeId"};
  reading.ForEach(kKernels, kColumns, 2, [&](const RowScan& row) {
    const std::optional<std::size_t> task = AddTask(reading, row, GpuTaskKind::kKernel, kKernels);
    if (!task) return;
    auto& tasks = reading.store.gpu_tasks;
    StringId name;
    for (const int column : {kColumns["demangledName"], kColumns["mangledName"],
                             kColumns["shortName"], kColumns["name"]}) {
      if (!name.valid()) name = reading.NameAt(row, column);
    }
    tasks.name.MutablePending(*task) = reading.NameOr(name, "(unnamed kernel)", kKernels);
    const auto integer = [&](int column) { return Fit32(row.Integer(column, kUnknown)); };
    tasks.grid_x.MutablePending(*task) = integer(kColumns["gridX"]);
    tasks.grid_y.MutablePending(*task) = integer(kColumns["gridY"]);
    tasks.grid_z.MutablePending(*task) = integer(kColumns["gridZ"]);
    tasks.block_x.MutablePending(*task) = integer(kColumns["blockX"]);
    tasks.block_y.MutablePending(*task) = integer(kColumns["blockY"]);
    tasks.block_z.MutablePending(*task) = integer(kColumns["blockZ"]);
    tasks.registers.MutablePending(*task) = integer(kColumns["registersPerThread"]);
    const std::int32_t fixed = integer(kColumns["staticSharedMemory"]);
    const std::int32_t asked = integer(kColumns["dynamicSharedMemory"]);
    if (fixed >= 0 && asked >= 0)
      tasks.shared_memory.MutablePending(*task) = Fit32(std::int64_t{fixed} + asked);
    tasks.graph_node.MutablePending(*task) = NodeAt(row, kColumns["graphNodeId"]);
  });
}

void ReadCopies(Reading& reading) {
  static constexpr auto kColumns =
      kTask + NamedColumns{"bytes", "copyKind", "srcKind", "dstKind", "graphNodeId"};
  reading.ForEach(kCopies, kColumns, 2, [&](const RowScan& row) {
    const std::optional<std::size_t> task = AddTask(reading, row, GpuTaskKind::kMemcpy, kCopies);
    if (!task) return;
    const std::string_view direction = CopyDirection(row.Integer(kColumns["copyKind"], 0));
    std::string name = "Memcpy";
    if (!direction.empty()) {
      name +=
          fmt::format(" {} ({} -> {})", direction, MemoryKind(row.Integer(kColumns["srcKind"], -1)),
                      MemoryKind(row.Integer(kColumns["dstKind"], -1)));
    }
    auto& tasks = reading.store.gpu_tasks;
    tasks.name.MutablePending(*task) = reading.store.strings.Intern(name);
    tasks.copy.MutablePending(*task) = CopyKindOf(direction);
    tasks.bytes.MutablePending(*task) = row.Integer(kColumns["bytes"], kUnknown);
    tasks.graph_node.MutablePending(*task) = NodeAt(row, kColumns["graphNodeId"]);
  });
}

void ReadSets(Reading& reading) {
  static constexpr auto kColumns = kTask + NamedColumns{"bytes", "memKind", "graphNodeId"};
  reading.ForEach(kSets, kColumns, 2, [&](const RowScan& row) {
    const std::optional<std::size_t> task = AddTask(reading, row, GpuTaskKind::kMemset, kSets);
    if (!task) return;
    auto& tasks = reading.store.gpu_tasks;
    tasks.name.MutablePending(*task) = reading.store.strings.Intern(
        fmt::format("Memset ({})", MemoryKind(row.Integer(kColumns["memKind"], kFirstDeviceKind))));
    tasks.bytes.MutablePending(*task) = row.Integer(kColumns["bytes"], kUnknown);
    tasks.graph_node.MutablePending(*task) = NodeAt(row, kColumns["graphNodeId"]);
  });
}

void ReadGraphs(Reading& reading) {
  static constexpr auto kColumns = kTask + NamedColumns{"graphId"};
  std::int64_t replays = 0;
  reading.ForEach(kGraphs, kColumns, 2, [&](const RowScan& row) {
    const std::optional<std::size_t> task = AddTask(reading, row, GpuTaskKind::kKernel, kGraphs);
    if (!task) return;
    ++replays;
    const std::int64_t graph = row.Integer(kColumns["graphId"], kUnknown);
    reading.store.gpu_tasks.name.MutablePending(*task) = reading.store.strings.Intern(
        graph == kUnknown ? std::string("CUDA graph") : fmt::format("CUDA graph {}", graph));
  });
  if (replays > 0) {
    reading.store.log.Add(ImportIssue::kOpaqueGraphs, -1, fmt::format("{} replays", replays),
                          replays);
  }
}

}  // namespace

void ReadGpuTasks(Reading& reading) {
  ReadKernels(reading);
  ReadCopies(reading);
  ReadSets(reading);
  ReadGraphs(reading);
}

void ReadSyncs(Reading& reading) {
  static constexpr auto kColumns = kTask + NamedColumns{"syncType"};
  reading.ForEach(kSyncs, kColumns, 2, [&](const RowScan& row) {
    ++reading.store.metadata.events;
    const std::optional<TimeNs> start = reading.TimeAt(row, kColumns["start"], kSyncs);
    if (!start) return;
    const std::int64_t stream = row.Integer(kColumns["streamId"], -1);
    const std::int64_t device = row.Integer(kColumns["deviceId"], -1);
    const std::int64_t global = row.Integer(kColumns["globalPid"], kUnknown);
    auto& syncs = reading.store.syncs;
    const std::size_t sync = AppendUnknown(syncs);
    syncs.start.MutablePending(sync) = *start;
    syncs.duration.MutablePending(sync) = reading.DurationTo(row, kColumns["end"], *start, kSyncs);
    syncs.kind.MutablePending(sync) = SyncKindOfType(row.Integer(kColumns["syncType"], 0));
    // Synchronizations of events and contexts refer to a stream that does not exist.
    if (stream >= 0 && stream < std::numeric_limits<std::uint32_t>::max() && device >= 0) {
      syncs.stream.MutablePending(sync) = reading.tracks.StreamOf(
          PidOrZero(global), device, row.Integer(kColumns["contextId"], -1), stream);
    }
    syncs.correlation.MutablePending(sync) =
        reading.CorrelationOf(row.Integer(kColumns["correlationId"], 0), global);
  });
}

}  // namespace headroom::nsight
