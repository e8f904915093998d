#include "analysis/gpu/gpu_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "cost/device_spec.h"

namespace headroom {
namespace {

bool IsDescribed(const DeviceInfo& gpu) {
  return !gpu.name.empty() || gpu.memory_bytes || gpu.sms || !gpu.compute_capability.empty();
}

/// Returns true if the trace describes both GPUs identically.
bool AreAlike(const DeviceInfo& a, const DeviceInfo& b) {
  return a.name == b.name && a.memory_bytes == b.memory_bytes && a.sms == b.sms &&
         a.compute_capability == b.compute_capability;
}

DeviceInfo GpuAt(const TraceStore& store, DeviceId device) {
  const auto& rows = store.devices;
  const std::size_t row = device.index();
  DeviceInfo gpu;
  gpu.id = rows.ordinal[row];
  gpu.name = store.Text(rows.name[row]);
  if (rows.memory_bytes[row] != kUnknown) gpu.memory_bytes = rows.memory_bytes[row];
  if (rows.sm_count[row] != kUnknown32) gpu.sms = rows.sm_count[row];
  if (rows.compute_major[row] != kUnknown32 && rows.compute_minor[row] != kUnknown32) {
    gpu.compute_capability = fmt::format("{}.{}", rows.compute_major[row], rows.compute_minor[row]);
  }
  return gpu;
}

/// Returns all devices of the store by row. A device without a description gets that of the others
/// if they agree.
std::vector<DeviceInfo> AllGpus(const TraceStore& store) {
  std::vector<DeviceInfo> gpus;
  std::optional<DeviceInfo> like;
  bool differ = false;
  for (std::size_t row = 0; row < store.devices.rows(); ++row) {
    const DeviceInfo& gpu = gpus.emplace_back(GpuAt(store, DeviceId(row)));
    if (!IsDescribed(gpu)) continue;
    differ = differ || (like && !AreAlike(*like, gpu));
    if (!like) like = gpu;
  }
  for (DeviceInfo& gpu : gpus) {
    if (!like || differ || IsDescribed(gpu)) continue;
    const std::int64_t id = gpu.id;
    gpu = *like;
    gpu.id = id;
  }
  return gpus;
}

std::vector<bool> WithWork(const TraceStore& store) {
  std::vector<bool> worked(store.devices.rows());
  for (std::size_t s = 0; s < store.streams.rows(); ++s) {
    if (!store.TasksOf(StreamId(s)).empty()) worked[store.streams.device[s].index()] = true;
  }
  return worked;
}

bool IsNamed(const DeviceInfo& gpu) {
  // HIP's name for a GPU whose product name its driver does not know.
  constexpr std::string_view kUnknownOfAmd = "AMD Radeon Graphics";
  return !gpu.name.empty() && gpu.name != kUnknownOfAmd;
}

const DeviceSpec* SpecOf(const DeviceInfo& gpu, const DeviceCatalog& catalog) {
  if (IsNamed(gpu)) return catalog.Find(gpu.name);
  if (!gpu.sms || !gpu.memory_bytes) return nullptr;
  return catalog.FindBySize(*gpu.sms, *gpu.memory_bytes, gpu.compute_capability);
}

}  // namespace

std::vector<DeviceInfo> DescribeGpus(const TraceStore& store, const DeviceCatalog& catalog) {
  std::vector<DeviceInfo> gpus;
  for (DeviceInfo& gpu : AllGpus(store)) {
    if (!IsDescribed(gpu) || gpu.id < 0) continue;
    const DeviceSpec* const spec = SpecOf(gpu, catalog);
    if (spec != nullptr) {
      gpu.model = spec->name;
      gpu.told_by_size = !IsNamed(gpu);
      gpu.vendor = spec->vendor;
      if (gpu.vendor == "AMD") gpu.architecture = spec->compute_capability;
    } else if (gpu.name.find("AMD") != std::string::npos) {
      gpu.vendor = "AMD";
    }
    gpus.push_back(std::move(gpu));
  }
  std::sort(gpus.begin(), gpus.end(),
            [](const DeviceInfo& a, const DeviceInfo& b) { return a.id < b.id; });
  return gpus;
}

const DeviceSpec* SpecOf(const TraceStore& store, const DeviceCatalog& catalog) {
  const std::vector<DeviceInfo> gpus = AllGpus(store);
  const std::vector<bool> worked = WithWork(store);
  std::set<const DeviceSpec*> specs;
  for (std::size_t row = 0; row < gpus.size(); ++row) {
    if (worked[row]) specs.insert(SpecOf(gpus[row], catalog));
  }
  return specs.size() == 1 ? *specs.begin() : nullptr;
}

}  // namespace headroom
