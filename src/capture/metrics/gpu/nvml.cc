#include "capture/metrics/gpu/nvml.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "capture/metrics/board/clock.h"
#include "capture/metrics/gpu/nvml_api.h"
#include "capture/metrics/gpu/shared_library.h"
#include "capture/metrics/gpu/visible_devices.h"

namespace headroom {
namespace {

constexpr double kMilli = 1e-3;
constexpr double kKibibyte = 1024, kMebibyte = 1 << 20;

GpuCall Outcome(nvml::Return result) {
  switch (result) {
    case nvml::kSuccess:
      return GpuCall::kOk;
    case nvml::kNotSupported:
    case nvml::kNoPermission:
    case nvml::kFunctionNotFound:
      return GpuCall::kPermanent;
    case nvml::kGpuIsLost:
      return GpuCall::kLost;
    default:
      return GpuCall::kTransient;
  }
}

/// Finds the entry points. Returns false if the library lacks an entry point that every driver of
/// the last ten years has.
bool FindEntries(const SharedLibrary& library, nvml::Api& api) {
  const bool enough = library.Find("nvmlInit_v2", api.init) &&
                      library.Find("nvmlShutdown", api.shutdown) &&
                      library.Find("nvmlDeviceGetCount_v2", api.count) &&
                      library.Find("nvmlDeviceGetHandleByIndex_v2", api.by_index);
  library.Find("nvmlDeviceGetHandleByUUID", api.by_uuid);
  library.Find("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", api.mig_parent);
  library.Find("nvmlDeviceGetIndex", api.index);
  library.Find("nvmlDeviceGetUUID", api.uuid);
  library.Find("nvmlDeviceGetName", api.name);
  library.Find("nvmlDeviceGetUtilizationRates", api.utilization);
  library.Find("nvmlDeviceGetMemoryInfo", api.memory);
  library.Find("nvmlDeviceGetClockInfo", api.clock);
  library.Find("nvmlDeviceGetPowerUsage", api.power);
  library.Find("nvmlDeviceGetEnforcedPowerLimit", api.power_limit);
  library.Find("nvmlDeviceGetTotalEnergyConsumption", api.energy);
  library.Find("nvmlDeviceGetTemperature", api.temperature);
  if (!library.Find("nvmlDeviceGetCurrentClocksEventReasons", api.throttle_reasons))
    library.Find("nvmlDeviceGetCurrentClocksThrottleReasons", api.throttle_reasons);
  library.Find("nvmlDeviceGetFieldValues", api.fields);
  library.Find("nvmlDeviceGetComputeRunningProcesses_v3", api.processes);
  library.Find("nvmlGpmQueryDeviceSupport", api.gpm_support);
  library.Find("nvmlGpmSampleAlloc", api.gpm_alloc);
  library.Find("nvmlGpmSampleFree", api.gpm_free);
  library.Find("nvmlGpmSampleGet", api.gpm_sample);
  library.Find("nvmlGpmMetricsGet", api.gpm_metrics);
  return enough;
}

/// GPM, the hardware counters of Hopper and later. Values are means between two GPM samples, which
/// must be at least 100 ms apart.
class Gpm {
 public:
  /// Returns null if the GPU or the library does not support GPM.
  static std::unique_ptr<Gpm> Make(const nvml::Api& api, nvml::Device device,
                                   const std::string& instance, MetricBoard& board) {
    nvml::GpmSupport support{.version = 1, .supported = 0};
    if (api.gpm_support == nullptr || api.gpm_alloc == nullptr || api.gpm_free == nullptr ||
        api.gpm_sample == nullptr || api.gpm_metrics == nullptr ||
        api.gpm_support(device, &support) != nvml::kSuccess || support.supported == 0) {
      return nullptr;
    }
    auto gpm = std::unique_ptr<Gpm>(new Gpm(api, device));
    if (api.gpm_alloc(&gpm->last_) != nvml::kSuccess ||
        api.gpm_alloc(&gpm->next_) != nvml::kSuccess)
      return nullptr;
    for (std::size_t i = 0; i < kMetrics.size(); ++i) {
      gpm->ids_[i] = board.AddGauge(GpuMetric(kMetrics[i].name, kMetrics[i].unit, instance));
    }
    return gpm;
  }
  Gpm(const Gpm&) = delete;
  Gpm& operator=(const Gpm&) = delete;
  ~Gpm() {
    if (last_ != nullptr) api_.gpm_free(last_);
    if (next_ != nullptr) api_.gpm_free(next_);
  }

  GpuCall Read(SampleRun& run) {
    constexpr DurationNs kShortest(100'000'000);
    if (last_at_ && run.now - *last_at_ < kShortest) return GpuCall::kOk;
    const nvml::Return taken = api_.gpm_sample(device_, next_);
    if (taken != nvml::kSuccess) return Outcome(taken);
    GpuCall outcome = GpuCall::kOk;
    if (last_at_) {
      request_->version = 1;
      request_->count = kMetrics.size();
      request_->first = last_;
      request_->second = next_;
      for (std::size_t i = 0; i < kMetrics.size(); ++i) {
        request_->metrics[i] = {};
        request_->metrics[i].id = kMetrics[i].id;
      }
      const nvml::Return result = api_.gpm_metrics(request_.get());
      outcome = Outcome(result);
      for (std::size_t i = 0; i < kMetrics.size() && outcome == GpuCall::kOk; ++i) {
        const nvml::GpmMetric& metric = request_->metrics[i];
        if (metric.result == nvml::kSuccess)
          run.board.Set(ids_[i], metric.value * kMetrics[i].scale);
      }
    }
    std::swap(last_, next_);
    last_at_ = run.now;
    return outcome;
  }

 private:
  struct Known {
    unsigned id;
    const char* name;
    const char* unit;
    double scale;
  };
  static constexpr std::array<Known, 13> kMetrics = {{
      {2, "gpu_sm_util_pct", "%", 1},
      {3, "gpu_sm_occupancy_pct", "%", 1},
      {5, "gpu_tensor_util_pct", "%", 1},
      {6, "gpu_tensor_fp64_util_pct", "%", 1},
      {7, "gpu_tensor_fp16_util_pct", "%", 1},
      {9, "gpu_tensor_int8_util_pct", "%", 1},
      {10, "gpu_dram_util_pct", "%", 1},
      {11, "gpu_fp64_util_pct", "%", 1},
      {12, "gpu_fp32_util_pct", "%", 1},
      {13, "gpu_fp16_util_pct", "%", 1},
      {20, "gpu_pcie_sent_bytes_per_s", "bytes/s", kMebibyte},
      {21, "gpu_pcie_recv_bytes_per_s", "bytes/s", kMebibyte},
      {1, "gpu_graphics_util_pct", "%", 1},
  }};

  Gpm(const nvml::Api& api, nvml::Device device) : api_(api), device_(device) {}

  nvml::Api api_;
  nvml::Device device_;
  nvml::GpmSample last_ = nullptr, next_ = nullptr;
  std::optional<TimeNs> last_at_;
  std::unique_ptr<nvml::GpmMetrics> request_ = std::make_unique<nvml::GpmMetrics>();
  std::array<MetricBoard::Id, kMetrics.size()> ids_{};
};

class Nvml : public GpuSource {
 public:
  Nvml(SharedLibrary library, const nvml::Api& api) : library_(std::move(library)), api_(api) {}
  ~Nvml() override {
    parts_.clear();
    api_.shutdown();
  }

  void AddGpus(const std::optional<std::string>& visible);

 private:
  /// `device` is the GPU. `part` is the part that the program sees: the same, or a MIG instance.
  void AddProbes(nvml::Device device, nvml::Device part, GpuPart& gpu);
  /// Adds a call that returns one number.
  template <typename Value, typename Call>
  void AddGauge(GpuPart& gpu, const char* name, const char* unit, double scale, Call call) {
    const MetricBoard::Id id = gpu.board.AddGauge(GpuMetric(name, unit, gpu.instance));
    gpu.probes.Add([id, scale, call](SampleRun& run) {
      Value value{};
      const nvml::Return result = call(&value);
      if (result == nvml::kSuccess) run.board.Set(id, static_cast<double>(value) * scale);
      return Outcome(result);
    });
  }
  void AddNvlink(nvml::Device device, GpuPart& gpu);
  void AddThrottling(nvml::Device device, GpuPart& gpu);
  void AddProcesses(nvml::Device device, GpuPart& gpu);

  SharedLibrary library_;
  nvml::Api api_;
};

std::string TextOf(nvml::Return (*call)(nvml::Device, char*, unsigned), nvml::Device device) {
  std::array<char, 96> text{};
  const bool told = call != nullptr && device != nullptr &&
                    call(device, text.data(), text.size() - 1) == nvml::kSuccess;
  return told ? text.data() : "";
}

void Nvml::AddGpus(const std::optional<std::string>& visible) {
  unsigned count = 0;
  if (api_.count(&count) != nvml::kSuccess) return;
  std::vector<nvml::Device> devices(count, nullptr);
  std::vector<std::string> uuids(count);
  for (unsigned i = 0; i < count; ++i) {
    // A GPU that cannot be opened keeps its number, but all its metrics are missing.
    if (api_.by_index(i, &devices[i]) != nvml::kSuccess) devices[i] = nullptr;
    uuids[i] = TextOf(api_.uuid, devices[i]);
  }
  const auto part_of = [&](const std::string& mig) {
    nvml::Device part = nullptr;
    const bool found = !mig.empty() && api_.by_uuid != nullptr &&
                       api_.by_uuid(mig.c_str(), &part) == nvml::kSuccess;
    return found ? part : nullptr;
  };
  const auto parent = [&](const std::string& mig) -> std::optional<std::size_t> {
    const nvml::Device part = part_of(mig);
    nvml::Device whole = nullptr;
    unsigned index = 0;
    if (part == nullptr || api_.mig_parent == nullptr || api_.index == nullptr ||
        api_.mig_parent(part, &whole) != nvml::kSuccess ||
        api_.index(whole, &index) != nvml::kSuccess || index >= count) {
      return std::nullopt;
    }
    return index;
  };
  for (const VisibleDevice& gpu : ResolveVisible(visible, uuids, parent)) {
    const std::string instance = fmt::format("GPU {}", gpus_.size());
    const nvml::Device device = devices[gpu.index];
    const nvml::Device part = part_of(gpu.mig);
    gpus_.push_back({.instance = instance,
                     .name = TextOf(api_.name, device),
                     .uuid = gpu.mig.empty() ? uuids[gpu.index] : gpu.mig});
    AddProbes(device, part != nullptr ? part : device, parts_.emplace_back(instance));
  }
}

void Nvml::AddProbes(nvml::Device device, nvml::Device part, GpuPart& gpu) {
  const std::string& instance = gpu.instance;
  MetricBoard& board = gpu.board;
  // Every GPU has these two metrics, with Determined's names, even if it does not report them.
  const MetricBoard::Id util = board.AddGauge(GpuMetric("gpu_util", "%", instance));
  const MetricBoard::Id free = board.AddGauge(GpuMetric("gpu_free_memory", "bytes", instance));
  if (device == nullptr) return;
  const nvml::Api& api = api_;
  if (api.utilization != nullptr) {
    const MetricBoard::Id memory = board.AddGauge(GpuMetric("gpu_memory_util_pct", "%", instance));
    gpu.probes.Add([=](SampleRun& run) {
      nvml::Utilization now{};
      const nvml::Return result = api.utilization(device, &now);
      if (result == nvml::kSuccess) {
        run.board.Set(util, now.gpu);
        run.board.Set(memory, now.memory);
      }
      return Outcome(result);
    });
  }
  if (api.memory != nullptr) {
    const MetricBoard::Id used =
        board.AddGauge(GpuMetric("gpu_memory_used_bytes", "bytes", instance));
    gpu.probes.Add([=](SampleRun& run) {
      nvml::Memory now{};
      const nvml::Return result = api.memory(part, &now);
      if (result == nvml::kSuccess) {
        run.board.Set(free, static_cast<double>(now.free));
        run.board.Set(used, static_cast<double>(now.used));
      }
      return Outcome(result);
    });
  }
  if (api.clock != nullptr) {
    AddGauge<unsigned>(gpu, "gpu_sm_clock_mhz", "MHz", 1,
                       [=](unsigned* mhz) { return api.clock(device, nvml::kClockSm, mhz); });
    AddGauge<unsigned>(gpu, "gpu_memory_clock_mhz", "MHz", 1,
                       [=](unsigned* mhz) { return api.clock(device, nvml::kClockMemory, mhz); });
  }
  if (api.power != nullptr) {
    AddGauge<unsigned>(gpu, "gpu_power_w", "W", kMilli,
                       [=](unsigned* mw) { return api.power(device, mw); });
  }
  if (api.power_limit != nullptr) {
    AddGauge<unsigned>(gpu, "gpu_power_limit_w", "W", kMilli,
                       [=](unsigned* mw) { return api.power_limit(device, mw); });
  }
  if (api.energy != nullptr) {
    const MetricBoard::Id energy = board.AddTotal(GpuMetric("gpu_energy_j", "J", instance), kMilli);
    const MetricBoard::Id mean = board.AddRate(GpuMetric("gpu_mean_power_w", "W", instance),
                                               {.rate_scale = kMilli, .total_scale = kMilli});
    gpu.probes.Add([=](SampleRun& run) {
      unsigned long long millijoule = 0;
      const nvml::Return result = api.energy(device, &millijoule);
      if (result == nvml::kSuccess) {
        const TimeNs now = MonotonicNow();
        run.board.Count(energy, now, millijoule);
        run.board.Count(mean, now, millijoule);
      }
      return Outcome(result);
    });
  }
  if (api.temperature != nullptr) {
    AddGauge<unsigned>(gpu, "gpu_temperature_c", "C", 1, [=](unsigned* celsius) {
      return api.temperature(device, nvml::kTemperatureGpu, celsius);
    });
  }
  AddThrottling(device, gpu);
  AddNvlink(device, gpu);
  if (std::shared_ptr<Gpm> gpm = Gpm::Make(api, device, instance, board))
    gpu.probes.Add([gpm](SampleRun& run) { return gpm->Read(run); });
  AddProcesses(device, gpu);
}

void Nvml::AddThrottling(nvml::Device device, GpuPart& gpu) {
  if (api_.throttle_reasons == nullptr) return;
  struct Reason {
    unsigned long long bit;
    MetricBoard::Id id;
  };
  std::vector<Reason> reasons;
  const auto add = [&](unsigned long long bit, const char* name) {
    reasons.push_back({bit, gpu.board.AddGauge(GpuMetric(name, "%", gpu.instance))});
  };
  add(nvml::kReasonPowerCap, "gpu_throttle_power_cap_pct");
  add(nvml::kReasonHwSlowdown, "gpu_throttle_hw_slowdown_pct");
  add(nvml::kReasonSyncBoost, "gpu_throttle_sync_boost_pct");
  add(nvml::kReasonSwThermal, "gpu_throttle_sw_thermal_pct");
  add(nvml::kReasonHwThermal, "gpu_throttle_hw_thermal_pct");
  add(nvml::kReasonPowerBrake, "gpu_throttle_power_brake_pct");
  const MetricBoard::Id bits =
      gpu.board.AddGauge(GpuMetric("gpu_throttle_reasons", "bits", gpu.instance));
  gpu.probes.Add([call = api_.throttle_reasons, device, bits, reasons](SampleRun& run) {
    unsigned long long now = 0;
    const nvml::Return result = call(device, &now);
    if (result == nvml::kSuccess) {
      run.board.Set(bits, static_cast<double>(now));
      for (const Reason& reason : reasons) run.board.Set(reason.id, (now & reason.bit) ? 100 : 0);
    }
    return Outcome(result);
  });
}

void Nvml::AddNvlink(nvml::Device device, GpuPart& gpu) {
  if (api_.fields == nullptr) return;
  const auto read = [call = api_.fields, device](std::array<nvml::FieldValue, 2>& values) {
    values = {};
    values[0].field = nvml::kNvlinkSent;
    values[1].field = nvml::kNvlinkReceived;
    for (nvml::FieldValue& value : values) value.scope = nvml::kAllLinks;
    const nvml::Return result = call(device, static_cast<int>(values.size()), values.data());
    return result != nvml::kSuccess ? result : values[0].result;
  };
  // GPUs without NVLink get no metrics for it.
  std::array<nvml::FieldValue, 2> values;
  if (Outcome(read(values)) != GpuCall::kOk) return;
  const auto add = [&](const char* name, const char* counter) {
    return gpu.board.AddRate(GpuMetric(name, "bytes/s", gpu.instance, counter),
                             {.rate_scale = kKibibyte, .total_scale = kKibibyte});
  };
  const MetricBoard::Id sent = add("gpu_nvlink_sent_bytes_per_s", "gpu_nvlink_sent_bytes");
  const MetricBoard::Id received = add("gpu_nvlink_recv_bytes_per_s", "gpu_nvlink_received_bytes");
  gpu.probes.Add([=](SampleRun& run) {
    std::array<nvml::FieldValue, 2> now;
    const nvml::Return result = read(now);
    if (result == nvml::kSuccess) {
      const TimeNs at = MonotonicNow();
      run.board.Count(sent, at, now[0].value);
      if (now[1].result == nvml::kSuccess) run.board.Count(received, at, now[1].value);
    }
    return Outcome(result);
  });
}

void Nvml::AddProcesses(nvml::Device device, GpuPart& gpu) {
  if (api_.processes == nullptr) return;
  gpu.probes.Add([call = api_.processes, device, instance = gpu.instance](SampleRun& run) {
    std::array<nvml::ProcessInfo, 64> processes{};
    unsigned count = processes.size();
    const nvml::Return result = call(device, &count, processes.data());
    if (result == nvml::kInsufficientSize)
      return GpuCall::kOk;  // More processes than a user would read.
    for (unsigned i = 0; result == nvml::kSuccess && i < count; ++i) {
      const nvml::ProcessInfo& process = processes[i];
      run.board.users().push_back({.resource = instance,
                                   .pid = process.pid,
                                   .name = "",
                                   .value = process.memory == nvml::kNotAvailable
                                                ? std::numeric_limits<double>::quiet_NaN()
                                                : static_cast<double>(process.memory)});
    }
    return Outcome(result);
  });
}

}  // namespace

std::unique_ptr<GpuSource> OpenNvml(const std::vector<std::string>& libraries,
                                    const std::optional<std::string>& visible) {
  SharedLibrary library(libraries);
  nvml::Api api{};
  if (!library.ok() || !FindEntries(library, api) || api.init() != nvml::kSuccess) return nullptr;
  auto source = std::make_unique<Nvml>(std::move(library), api);
  source->AddGpus(visible);
  return source;
}

}  // namespace headroom
