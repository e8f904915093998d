#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingest/nsight/memory_kind.h"
#include "ingest/nsight/tables.h"

namespace headroom::nsight {

using sqlite::NamedColumns;
using sqlite::RowScan;

namespace {

/// An allocation, or a free with negative bytes.
struct Allocation {
  TimeNs time;
  std::int64_t address, bytes;
  DeviceId device;
  ThreadId thread;
};

std::vector<Allocation> ReadAllocations(Reading& reading) {
  static constexpr NamedColumns kColumns{
      "start",   "globalPid",           "deviceId",     "address", "bytes",
      "memKind", "memoryOperationType", "correlationId"};
  std::vector<Allocation> allocations;
  reading.ForEach(kMemory, kColumns, 1, [&](const RowScan& row) {
    ++reading.store.metadata.events;
    const std::optional<TimeNs> time = reading.TimeAt(row, kColumns["start"], kMemory);
    const std::int64_t bytes = row.Integer(kColumns["bytes"], kUnknown);
    if (!time || bytes < 0 || bytes > kFurthest) return;
    if (row.Integer(kColumns["memKind"], kFirstDeviceKind) < kFirstDeviceKind) return;
    const std::int64_t global = row.Integer(kColumns["globalPid"], kUnknown);
    const std::int64_t pid = PidOrZero(global);
    const auto call = reading.allocating.find({pid, row.Integer(kColumns["correlationId"], 0)});
    const bool is_free = row.Integer(kColumns["memoryOperationType"], 0) != 0;
    allocations.push_back(
        {*time, row.Integer(kColumns["address"], kUnknown), is_free ? -bytes : bytes,
         reading.tracks.DeviceOf(pid, row.Integer(kColumns["deviceId"], 0)),
         call != reading.allocating.end() ? call->second
                                          : reading.tracks.TrackOf(global, "GPU memory")});
  });
  return allocations;
}

/// Names of metrics by type and metric; type kUnknown matches any.
using MetricNames = std::map<std::pair<std::int64_t, std::int64_t>, StringId>;

MetricNames ReadMetricNames(Reading& reading) {
  static constexpr NamedColumns kColumns{"metricId", "metricName", "typeId"};
  MetricNames names;
  reading.ForEach("TARGET_INFO_GPU_METRICS", kColumns, 2, [&](const RowScan& row) {
    const std::int64_t metric = row.Integer(kColumns["metricId"], kUnknown);
    if (const StringId name = reading.NameAt(row, kColumns["metricName"]); name.valid()) {
      names[{row.Integer(kColumns["typeId"], kUnknown), metric}] = name;
      names.try_emplace({kUnknown, metric}, name);
    }
  });
  return names;
}

}  // namespace

void ReadMemory(Reading& reading) {
  std::vector<Allocation> allocations = ReadAllocations(reading);
  std::stable_sort(allocations.begin(), allocations.end(),
                   [](const Allocation& a, const Allocation& b) { return a.time < b.time; });
  std::map<DeviceId, std::int64_t> totals;
  for (const Allocation& allocation : allocations) {
    std::int64_t& total = totals[allocation.device];
    // Clamps the total at 0, because memory allocated before the recording may be freed during it.
    total = std::clamp<std::int64_t>(total + allocation.bytes, 0, kFurthest);
    auto& rows = reading.store.memory_events;
    const std::size_t at = AppendUnknown(rows);
    rows.time.MutablePending(at) = allocation.time;
    rows.thread.MutablePending(at) = allocation.thread;
    rows.address.MutablePending(at) = allocation.address;
    rows.bytes.MutablePending(at) = allocation.bytes;
    rows.total_reserved_bytes.MutablePending(at) = total;
    rows.device_type.MutablePending(at) = 1;
    rows.device.MutablePending(at) =
        Fit32(reading.store.devices.ordinal.Pending(allocation.device.index()));
  }
}

void ReadMetrics(Reading& reading) {
  static constexpr NamedColumns kColumns{"timestamp", "typeId", "metricId", "value"};
  const MetricNames names = ReadMetricNames(reading);
  TraceStore& store = reading.store;
  reading.ForEach(kMetrics, kColumns, 1, [&](const RowScan& row) {
    ++store.metadata.events;
    const std::optional<TimeNs> time = reading.TimeAt(row, kColumns["timestamp"], kMetrics);
    const double value = row.Number(kColumns["value"], std::numeric_limits<double>::quiet_NaN());
    if (!time || !(std::abs(value) <= std::numeric_limits<double>::max())) return;
    const std::int64_t type = row.Integer(kColumns["typeId"], kUnknown);
    const std::int64_t metric = row.Integer(kColumns["metricId"], kUnknown);
    auto name = names.find({type, metric});
    if (name == names.end()) name = names.find({kUnknown, metric});
    if (name == names.end()) {
      store.log.Add(ImportIssue::kMissingName, -1, std::string(kMetrics));
      return;
    }
    // The low byte of the type is the number of the GPU.
    const std::int64_t gpu = type == kUnknown ? 0 : type & 0xFF;
    auto& counters = store.counters;
    const std::size_t at = AppendUnknown(counters);
    counters.time.MutablePending(at) = *time;
    counters.name.MutablePending(at) = name->second;
    counters.series.MutablePending(at) = store.strings.Intern(fmt::format("GPU {}", gpu));
    if (store.Text(name->second).find('%') != std::string_view::npos)
      counters.unit.MutablePending(at) = store.strings.Intern("%");
    counters.thread.MutablePending(at) = reading.tracks.TrackOf(kUnknown, "GPU metrics");
    counters.value.MutablePending(at) = value;
  });
}

}  // namespace headroom::nsight
