#include "predict/job_memory.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "whatif/batch_curve.h"

namespace headroom {
namespace {

constexpr std::int32_t kHost = 0;  ///< Among the framework's types of devices.

/// nullopt: there are no memory records of a GPU.
std::optional<double> RecordedPeak(const TraceStore& store) {
  std::optional<double> most;
  const auto& events = store.memory_events;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const std::int64_t allocated = events.total_allocated_bytes[row];
    if (allocated == kUnknown || events.device_type[row] == kHost ||
        events.device_type[row] == kUnknown32)
      continue;
    most = std::max(most.value_or(0), static_cast<double>(allocated));
  }
  return most;
}

}  // namespace

Result<JobMemory> MemoryOf(const Job& job) {
  const Result<StepMemory> peak = PeakMemory(job, {});
  if (!peak.ok()) return peak.status();
  JobMemory memory{.peak = peak.value(),
                   .recorded_bytes = RecordedPeak(job.store()),
                   .samples = SamplesPerStep(job)};
  constexpr int kRanks = 8;
  for (const int stage : {1, 2, 3}) {
    const Sharding sharding = {.stage = stage, .ranks = kRanks};
    const Result<StepMemory> shard = PeakMemory(job, {}, sharding);
    if (shard.ok()) memory.sharded.push_back({sharding, shard.value().peak_bytes});
  }
  return memory;
}

std::optional<double> UsableBytes(const DeviceSpec& device) {
  if (!device.memory_bytes) return std::nullopt;
  constexpr double kOfGddr = 0.92, kOfHbm = 0.99;
  if (device.SourceOf("memory_bytes").find("nominal") == std::string_view::npos)
    return device.memory_bytes;
  return *device.memory_bytes * (device.memory_type.starts_with("GDDR") ? kOfGddr : kOfHbm);
}

std::vector<MemoryFit> FitsOf(const Job& job, const JobMemory& memory,
                              std::span<const double> memory_bytes) {
  const double needed = memory.recorded_bytes.value_or(memory.peak.peak_bytes);
  std::vector<MemoryFit> fits(memory_bytes.size());
  for (std::size_t i = 0; i < fits.size(); ++i) {
    if (memory.peak.reserved_bytes <= memory_bytes[i] * (1 - kMemoryMargin)) {
      fits[i].fits = true;
    } else if (needed > memory_bytes[i]) {
      fits[i].fits = false;
    }
  }
  const Result<std::vector<std::optional<double>>> ratios =
      LargestBatches(job, {}, memory_bytes, kMemoryMargin);
  if (!memory.samples || !ratios.ok()) return fits;
  for (std::size_t i = 0; i < fits.size(); ++i) {
    if (ratios.value()[i])
      fits[i].samples = std::floor(*ratios.value()[i] * static_cast<double>(*memory.samples));
  }
  return fits;
}

}  // namespace headroom
