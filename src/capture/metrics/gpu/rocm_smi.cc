#include "capture/metrics/gpu/rocm_smi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include "capture/metrics/board/clock.h"
#include "capture/metrics/gpu/shared_library.h"
#include "capture/metrics/gpu/visible_devices.h"

namespace headroom {
namespace {

/// The part of ROCm SMI (rocm_smi/rocm_smi.h) that Headroom uses.
using Status = int;
constexpr Status kSuccess = 0;
constexpr Status kNotSupported = 2, kPermission = 4, kNotImplemented = 9;
constexpr int kVideoMemory = 0;                    ///< RSMI_MEM_TYPE_VRAM
constexpr int kSystemClock = 0, kMemoryClock = 4;  ///< RSMI_CLK_TYPE_SYS, RSMI_CLK_TYPE_MEM
constexpr std::uint32_t kFirstSensor = 0;
constexpr std::uint32_t kEdge = 0, kJunction = 1;  ///< RSMI_TEMP_TYPE_EDGE, RSMI_TEMP_TYPE_JUNCTION
constexpr int kCurrentTemperature = 0;             ///< RSMI_TEMP_CURRENT
/// Room for rsmi_frequencies_t of any version: 33 frequencies of 8 bytes and a header of 16.
using FrequencyWords = std::array<std::uint32_t, 256>;

/// rsmi_process_info_t. The last field exists in later versions; earlier ones have padding there.
struct ProcessInfo {
  std::uint32_t pid, address_space;
  std::uint64_t memory, copy_us;
  std::uint32_t occupancy, evicted_ms;
};
static_assert(sizeof(ProcessInfo) == 32);
constexpr std::uint64_t kNotTold = UINT64_MAX;

struct Api {
  Status (*init)(std::uint64_t);
  Status (*shutdown)();
  Status (*count)(std::uint32_t*);
  Status (*unique_id)(std::uint32_t, std::uint64_t*);
  Status (*name)(std::uint32_t, char*, std::size_t);
  Status (*busy)(std::uint32_t, std::uint32_t*);
  Status (*memory_total)(std::uint32_t, int, std::uint64_t*);
  Status (*memory_used)(std::uint32_t, int, std::uint64_t*);
  Status (*power)(std::uint32_t, std::uint64_t*, int*);
  Status (*average_power)(std::uint32_t, std::uint32_t, std::uint64_t*);
  Status (*energy)(std::uint32_t, std::uint64_t*, float*, std::uint64_t*);
  Status (*clock)(std::uint32_t, int, void*);
  Status (*temperature)(std::uint32_t, std::uint32_t, int, std::int64_t*);
  Status (*processes)(ProcessInfo*, std::uint32_t*);
  Status (*gpus_of_process)(std::uint32_t pid, std::uint32_t* devices, std::uint32_t* count);
  Status (*process_on_gpu)(std::uint32_t pid, std::uint32_t device, ProcessInfo*);
};

bool FindEntries(const SharedLibrary& library, Api& api) {
  const bool enough = library.Find("rsmi_init", api.init) &&
                      library.Find("rsmi_shut_down", api.shutdown) &&
                      library.Find("rsmi_num_monitor_devices", api.count);
  library.Find("rsmi_dev_unique_id_get", api.unique_id);
  library.Find("rsmi_dev_name_get", api.name);
  library.Find("rsmi_dev_busy_percent_get", api.busy);
  library.Find("rsmi_dev_memory_total_get", api.memory_total);
  library.Find("rsmi_dev_memory_usage_get", api.memory_used);
  library.Find("rsmi_dev_power_get", api.power);
  library.Find("rsmi_dev_power_ave_get", api.average_power);
  library.Find("rsmi_dev_energy_count_get", api.energy);
  library.Find("rsmi_dev_gpu_clk_freq_get", api.clock);
  library.Find("rsmi_dev_temp_metric_get", api.temperature);
  library.Find("rsmi_compute_process_info_get", api.processes);
  library.Find("rsmi_compute_process_gpus_get", api.gpus_of_process);
  library.Find("rsmi_compute_process_info_by_device_get", api.process_on_gpu);
  return enough;
}

GpuCall Outcome(Status status) {
  switch (status) {
    case kSuccess:
      return GpuCall::kOk;
    case kNotSupported:
    case kPermission:
    case kNotImplemented:
      return GpuCall::kPermanent;
    default:
      return GpuCall::kTransient;
  }
}

class RocmSmi : public GpuSource {
 public:
  RocmSmi(SharedLibrary library, const Api& api) : library_(std::move(library)), api_(api) {}
  ~RocmSmi() override {
    parts_.clear();
    api_.shutdown();
  }

  void AddGpus(const std::optional<std::string>& visible);

 private:
  void AddProbes(std::uint32_t device, GpuPart& gpu);
  void AddPower(std::uint32_t device, GpuPart& gpu);
  void AddTemperature(std::uint32_t device, GpuPart& gpu);
  void AddProcesses(const std::vector<std::uint32_t>& devices);

  SharedLibrary library_;
  Api api_;
};

void RocmSmi::AddGpus(const std::optional<std::string>& visible) {
  std::uint32_t count = 0;
  if (api_.count(&count) != kSuccess) return;
  std::vector<std::string> uuids(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint64_t id = 0;
    if (api_.unique_id != nullptr && api_.unique_id(i, &id) == kSuccess)
      uuids[i] = fmt::format("GPU-{:016x}", id);
  }
  const auto no_parts = [](const std::string&) -> std::optional<std::size_t> {
    return std::nullopt;
  };
  std::vector<std::uint32_t> devices;
  for (const VisibleDevice& gpu : ResolveVisible(visible, uuids, no_parts)) {
    const auto device = static_cast<std::uint32_t>(gpu.index);
    const std::string instance = fmt::format("GPU {}", gpus_.size());
    std::array<char, 128> name{};
    const bool named =
        api_.name != nullptr && api_.name(device, name.data(), name.size() - 1) == kSuccess;
    gpus_.push_back(
        {.instance = instance, .name = named ? name.data() : "", .uuid = uuids[gpu.index]});
    AddProbes(device, parts_.emplace_back(instance));
    devices.push_back(device);
  }
  AddProcesses(devices);
}

void RocmSmi::AddProbes(std::uint32_t device, GpuPart& gpu) {
  const std::string& instance = gpu.instance;
  MetricBoard& board = gpu.board;
  const Api& api = api_;
  const MetricBoard::Id util = board.AddGauge(GpuMetric("gpu_util", "%", instance));
  const MetricBoard::Id free = board.AddGauge(GpuMetric("gpu_free_memory", "bytes", instance));
  if (api.busy != nullptr) {
    gpu.probes.Add([=](SampleRun& run) {
      std::uint32_t percent = 0;
      const Status status = api.busy(device, &percent);
      if (status == kSuccess) run.board.Set(util, percent);
      return Outcome(status);
    });
  }
  if (api.memory_used != nullptr && api.memory_total != nullptr) {
    const MetricBoard::Id used_id =
        board.AddGauge(GpuMetric("gpu_memory_used_bytes", "bytes", instance));
    gpu.probes.Add([=](SampleRun& run) {
      std::uint64_t total = 0, used = 0;
      Status status = api.memory_total(device, kVideoMemory, &total);
      if (status == kSuccess) status = api.memory_used(device, kVideoMemory, &used);
      if (status == kSuccess && used <= total) {
        run.board.Set(free, static_cast<double>(total - used));
        run.board.Set(used_id, static_cast<double>(used));
      }
      return Outcome(status);
    });
  }
  if (api.clock != nullptr) {
    const auto add = [&](const char* name, int clock) {
      const MetricBoard::Id id = board.AddGauge(GpuMetric(name, "MHz", instance));
      gpu.probes.Add([=](SampleRun& run) {
        FrequencyWords words{};
        const Status status = api.clock(device, clock, words.data());
        const auto hertz = status == kSuccess ? CurrentFrequency(words) : std::nullopt;
        if (hertz) run.board.Set(id, static_cast<double>(*hertz) / 1e6);
        return Outcome(status);
      });
    };
    add("gpu_sm_clock_mhz", kSystemClock);
    add("gpu_memory_clock_mhz", kMemoryClock);
  }
  AddPower(device, gpu);
  AddTemperature(device, gpu);
}

void RocmSmi::AddPower(std::uint32_t device, GpuPart& gpu) {
  const Api& api = api_;
  MetricBoard& board = gpu.board;
  if (api.power != nullptr || api.average_power != nullptr) {
    const MetricBoard::Id id = board.AddGauge(GpuMetric("gpu_power_w", "W", gpu.instance));
    gpu.probes.Add([=](SampleRun& run) {
      constexpr double kMicrowatt = 1e-6;
      std::uint64_t microwatts = 0;
      int kind = 0;
      Status status = api.power != nullptr ? api.power(device, &microwatts, &kind) : kNotSupported;
      // Before ROCm 6, only the average was available.
      if (status != kSuccess && api.average_power != nullptr)
        status = api.average_power(device, kFirstSensor, &microwatts);
      if (status == kSuccess) run.board.Set(id, static_cast<double>(microwatts) * kMicrowatt);
      return Outcome(status);
    });
  }
  if (api.energy != nullptr) {
    std::uint64_t count = 0, stamp = 0;
    float resolution = 0;
    // The hardware determines the counter's unit, in microjoules.
    if (api.energy(device, &count, &resolution, &stamp) != kSuccess || !(resolution > 0)) return;
    const double joules = static_cast<double>(resolution) * 1e-6;
    const MetricBoard::Id energy =
        board.AddTotal(GpuMetric("gpu_energy_j", "J", gpu.instance), joules);
    const MetricBoard::Id mean = board.AddRate(GpuMetric("gpu_mean_power_w", "W", gpu.instance),
                                               {.rate_scale = joules, .total_scale = joules});
    gpu.probes.Add([=](SampleRun& run) {
      std::uint64_t now = 0, at = 0;
      float unit = 0;
      const Status status = api.energy(device, &now, &unit, &at);
      if (status == kSuccess) {
        const TimeNs read_at = MonotonicNow();
        run.board.Count(energy, read_at, now);
        run.board.Count(mean, read_at, now);
      }
      return Outcome(status);
    });
  }
}

void RocmSmi::AddTemperature(std::uint32_t device, GpuPart& gpu) {
  if (api_.temperature == nullptr) return;
  const MetricBoard::Id id = gpu.board.AddGauge(GpuMetric("gpu_temperature_c", "C", gpu.instance));
  gpu.probes.Add([=, call = api_.temperature](SampleRun& run) {
    std::int64_t millidegrees = 0;
    Status status = call(device, kEdge, kCurrentTemperature, &millidegrees);
    // The MI300 has no edge sensor.
    if (status != kSuccess) status = call(device, kJunction, kCurrentTemperature, &millidegrees);
    if (status == kSuccess) run.board.Set(id, static_cast<double>(millidegrees) * 1e-3);
    return Outcome(status);
  });
}

void RocmSmi::AddProcesses(const std::vector<std::uint32_t>& devices) {
  if (devices.empty() || api_.processes == nullptr || api_.gpus_of_process == nullptr) return;
  // The library lists the processes of all GPUs together.
  parts_.emplace_back("").probes.Add([api = api_, devices](SampleRun& run) {
    std::array<ProcessInfo, 64> processes{};
    std::uint32_t count = processes.size();
    const Status status = api.processes(processes.data(), &count);
    if (status != kSuccess) return Outcome(status);
    std::vector<std::vector<ResourceUser>> users(devices.size());
    for (const ProcessInfo& process :
         std::span(processes).first(std::min<std::size_t>(count, processes.size()))) {
      std::array<std::uint32_t, 64> used{};
      std::uint32_t number = used.size();
      if (api.gpus_of_process(process.pid, used.data(), &number) != kSuccess)
        continue;  // The process has exited.
      for (const std::uint32_t device :
           std::span(used).first(std::min<std::size_t>(number, used.size()))) {
        const auto gpu = std::find(devices.begin(), devices.end(), device) - devices.begin();
        if (static_cast<std::size_t>(gpu) == devices.size()) continue;
        ProcessInfo there{};
        const bool told = api.process_on_gpu != nullptr &&
                          api.process_on_gpu(process.pid, device, &there) == kSuccess &&
                          there.memory != kNotTold;
        users[static_cast<std::size_t>(gpu)].push_back(
            {.resource = fmt::format("GPU {}", gpu),
             .pid = process.pid,
             .name = "",
             .value = told ? static_cast<double>(there.memory)
                           : std::numeric_limits<double>::quiet_NaN()});
      }
    }
    std::vector<ResourceUser>& all = run.board.users();
    for (const std::vector<ResourceUser>& of_gpu : users)
      all.insert(all.end(), of_gpu.begin(), of_gpu.end());
    return GpuCall::kOk;
  });
}

}  // namespace

std::optional<std::uint64_t> CurrentFrequency(std::span<const std::uint32_t> words) {
  constexpr std::uint32_t kMax = 33;
  constexpr std::uint64_t kFastest = 10'000'000'000;
  const auto entry = [&](std::size_t first_word, std::uint32_t index) {
    const std::size_t at = first_word + 2 * std::size_t{index};
    return at + 1 < words.size() ? words[at] | (static_cast<std::uint64_t>(words[at + 1]) << 32)
                                 : 0;
  };
  // Old: number, current, frequencies. New: flag, number, current, padding, frequencies. Words
  // three and four contain either the first frequency, which is at least 1 MHz, or the current
  // index.
  const bool old = entry(2, 0) > kMax && entry(2, 0) != UINT32_MAX;
  const std::uint32_t number = words[old ? 0 : 1];
  const std::uint32_t current = words[old ? 1 : 2];
  if (number > kMax || current >= number) return std::nullopt;
  const std::uint64_t hertz = entry(old ? 2 : 4, current);
  return hertz > 0 && hertz <= kFastest ? std::optional(hertz) : std::nullopt;
}

std::unique_ptr<GpuSource> OpenRocmSmi(const std::vector<std::string>& libraries,
                                       const std::optional<std::string>& visible) {
  SharedLibrary library(libraries);
  Api api{};
  if (!library.ok() || !FindEntries(library, api) || api.init(0) != kSuccess) return nullptr;
  auto source = std::make_unique<RocmSmi>(std::move(library), api);
  source->AddGpus(visible);
  return source;
}

}  // namespace headroom
