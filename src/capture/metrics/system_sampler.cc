#include "capture/metrics/system_sampler.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "capture/metrics/board/clock.h"
#include "capture/metrics/board/fields.h"
#include "capture/metrics/gpu/gpu_reader.h"
#include "capture/metrics/gpu/nvml.h"
#include "capture/metrics/gpu/rocm_smi.h"
#include "capture/metrics/host/cgroup.h"
#include "capture/metrics/host/cgroup_source.h"
#include "capture/metrics/host/cpu.h"
#include "capture/metrics/host/disk.h"
#include "capture/metrics/host/infiniband.h"
#include "capture/metrics/host/memory.h"
#include "capture/metrics/host/network.h"
#include "capture/metrics/host/pressure.h"
#include "capture/metrics/host/process_scan.h"
#include "capture/metrics/host/process_tree.h"
#include "capture/metrics/host/rapl.h"

namespace headroom {
namespace {

std::string ReadOnce(std::string path, ReadBuffer& buffer) {
  KernelFile file(std::move(path));
  const std::optional<KernelFile::Text> read = file.Read(buffer);
  return read ? std::string(read->text) : std::string();
}

/// Returns a function that opens NVIDIA's GPUs, or AMD's if there are none.
GpuReader::Open OpenGpus(const SamplerOptions& options) {
  return [options] {
    std::unique_ptr<GpuSource> gpus = OpenNvml(options.nvml_libraries, options.visible_devices);
    if (gpus == nullptr || gpus->gpus().empty()) {
      if (auto amd = OpenRocmSmi(options.rocm_libraries, options.visible_amd_devices))
        gpus = std::move(amd);
    }
    return gpus;
  };
}

}  // namespace

void SetVisibleDevices(std::optional<std::int64_t> process, SamplerOptions& options) {
  std::string environment;
  if (process) {
    ReadBuffer buffer;
    environment = ReadOnce(fmt::format("{}/proc/{}/environ", options.root, *process), buffer);
    if (environment.empty()) return;
  }
  const auto variable = [&](std::string_view name) -> std::optional<std::string> {
    if (!process) {
      const char* value = std::getenv(std::string(name).c_str());
      return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
    }
    std::string_view rest = environment;
    while (!rest.empty()) {
      const std::string_view entry = rest.substr(0, rest.find('\0'));
      rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
      if (entry.starts_with(name) && entry.substr(name.size()).starts_with('='))
        return std::string(entry.substr(name.size() + 1));
    }
    return std::nullopt;
  };
  options.visible_devices = variable("CUDA_VISIBLE_DEVICES");
  options.visible_amd_devices = options.visible_devices;
  for (const char* name : {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    if (std::optional<std::string> value = variable(name)) options.visible_amd_devices = value;
  }
}

SystemSampler::SystemSampler(SamplerOptions options) : options_(std::move(options)) {
  // Defines the order of metrics in the output: the most used first.
  const std::string& root = options_.root;
  const auto add = [&](std::unique_ptr<MetricSource> source) {
    sources_.push_back(std::move(source));
  };
  add(std::make_unique<CpuSource>(root, board_));
  add(std::make_unique<MemorySource>(root, board_));
  auto gpus = std::make_unique<GpuReader>(OpenGpus(options_), board_);
  gpus_ = gpus.get();
  add(std::move(gpus));
  add(std::make_unique<DiskSource>(root, board_));
  add(std::make_unique<NetworkSource>(root, board_));
  add(std::make_unique<InfinibandSource>(root, board_));
  add(std::make_unique<PressureSource>(PressureSource::OfHost(root, board_)));
  const std::string process =
      options_.process ? fmt::format("{}", *options_.process) : std::string("self");
  const std::string membership = ReadOnce(root + "/proc/" + process + "/cgroup", buffer_);
  const std::string mounts = ReadOnce(root + "/proc/self/mountinfo", buffer_);
  add(std::make_unique<CgroupSource>(FindCgroups(membership, mounts, root), board_));
  std::unique_ptr<ProcessTreeSource> tree;
  if (options_.process) tree = std::make_unique<ProcessTreeSource>(root, *options_.process, board_);
  tree_ = tree.get();
  // The scan comes first because it reports new processes to the tree.
  add(std::make_unique<ProcessScan>(root, tree_));
  if (tree) add(std::move(tree));
  add(std::make_unique<RaplSource>(root, board_));
  own_cpu_id_ = board_.AddRate({.name = "sampler_cpu_pct",
                                .unit = "%",
                                .scope = MetricScope::kProcess,
                                .counter = "sampler_cpu_seconds"},
                               {.rate_scale = 100 * 1e-9, .total_scale = 1e-9});
}

SystemSampler::~SystemSampler() = default;

const std::vector<GpuIdentity>& SystemSampler::gpus() const { return gpus_->gpus(); }

const std::vector<std::string>& SystemSampler::silent_gpus() const { return gpus_->silent(); }

bool SystemSampler::tree_is_gone() const { return tree_ != nullptr && tree_->empty(); }

std::vector<std::int64_t> SystemSampler::tree() const {
  return tree_ != nullptr ? tree_->pids() : std::vector<std::int64_t>();
}

const Reading& SystemSampler::Take(bool last) {
  const TimeNs cpu_before = ReadClock(CLOCK_THREAD_CPUTIME_ID);
  const TimeNs begin = MonotonicNow();
  board_.Begin();
  SampleRun run{.board = board_, .buffer = buffer_, .now = begin, .edge = last || samples_ == 0};
  // Below 1 s, so that samples 1 s apart all set `slow`.
  constexpr DurationNs kSlowPeriod(900'000'000);
  run.slow = run.edge || begin - last_slow_ >= kSlowPeriod;
  if (run.slow) last_slow_ = begin;
  for (const std::unique_ptr<MetricSource>& source : sources_) source->Read(run);
  NameUsers();
  // CPU time of all earlier samples.
  board_.Count(own_cpu_id_, begin,
               own_cpu_ns_ + static_cast<std::uint64_t>(gpus_->cpu_time().ns()));
  if (last && samples_ >= 2 && (begin - last_begin_).ns() < options_.period.ns() / 2)
    board_.DropRates();
  ++samples_;
  last_begin_ = begin;
  board_.SetTime(Middle(begin, MonotonicNow()));
  own_cpu_ns_ += static_cast<std::uint64_t>((ReadClock(CLOCK_THREAD_CPUTIME_ID) - cpu_before).ns());
  return board_.reading();
}

void SystemSampler::NameUsers() {
  for (ResourceUser& user : board_.users()) {
    user.in_tree = tree_ != nullptr && tree_->Contains(user.pid);
    if (!user.name.empty()) continue;
    KernelFile file(fmt::format("{}/proc/{}/comm", options_.root, user.pid), /*hold=*/false);
    const std::optional<KernelFile::Text> read = file.Read(buffer_);
    if (!read) continue;
    user.name = read->text;
    if (user.name.ends_with('\n')) user.name.pop_back();
  }
}

}  // namespace headroom
