#include "whatif/memory/memory_room.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace headroom {
namespace {

constexpr std::int32_t kHost = 0;  ///< The framework's device type for the host.

/// Returns the bytes of a GPU's memory: the driver's figure if the trace has it, otherwise the
/// usable part of the data sheet's size.
std::optional<std::int64_t> CapacityOf(const Job& job, std::int64_t ordinal) {
  const auto& devices = job.store().devices;
  for (std::size_t d = 0; d < devices.rows(); ++d) {
    if (devices.ordinal[d] == ordinal && devices.memory_bytes[d] != kUnknown)
      return devices.memory_bytes[d];
  }
  const std::optional<double> usable =
      job.device() == nullptr ? std::nullopt : job.device()->UsableBytes();
  if (!usable) return std::nullopt;
  return std::llround(*usable);
}

/// Returns the ordinal of a device that the job uses.
std::int64_t OrdinalOf(const Job& job) {
  for (const Task& task : job.graph().tasks) {
    if (task.kind == TaskKind::kGpu)
      return job.store().devices.ordinal[job.store().DeviceOf(GpuTaskId(task.row)).index()];
  }
  return 0;
}

}  // namespace

std::string WhyNoRoom(const Job& job, const MemoryDelta& delta) {
  const auto& events = job.store().memory_events;
  std::map<std::int32_t, std::int64_t> peaks;  // Bytes by ordinal.
  for (std::size_t e = 0; e < events.rows(); ++e) {
    const std::int64_t allocated = events.total_allocated_bytes[e];
    if (allocated == kUnknown || events.device_type[e] == kHost ||
        events.device_type[e] == kUnknown32)
      continue;
    std::int64_t& peak = peaks[events.device[e]];
    peak = std::max(peak, allocated);
  }
  for (const auto& [ordinal, peak] : peaks) {
    const std::optional<std::int64_t> capacity = CapacityOf(job, ordinal);
    if (!capacity || peak <= *capacity - delta.bytes) continue;
    return fmt::format(
        "does not fit: the recording allocated up to {:.1f} GB, and {:.1f} GB more exceed the "
        "GPU's {:.1f} GB",
        static_cast<double>(peak) / 1e9, static_cast<double>(delta.bytes) / 1e9,
        static_cast<double>(*capacity) / 1e9);
  }
  if (!peaks.empty()) return {};
  const std::optional<std::int64_t> capacity = CapacityOf(job, OrdinalOf(job));
  if (!capacity) return {};
  const auto room = static_cast<double>(*capacity);
  if (delta.peak_bytes && *delta.peak_bytes > room) {
    return fmt::format("does not fit: the modelled peak of {:.1f} GB exceeds the GPU's {:.1f} GB",
                       *delta.peak_bytes / 1e9, room / 1e9);
  }
  if (delta.bytes <= *capacity) return {};
  return fmt::format("does not fit: the additional {:.1f} GB alone exceed the GPU's {:.1f} GB",
                     static_cast<double>(delta.bytes) / 1e9, room / 1e9);
}

}  // namespace headroom
