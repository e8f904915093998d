#include "cli/machine/machine_checks.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "base/read_file.h"
#include "capture/cupti/library.h"
#include "capture/metrics/board/metric_board.h"
#include "capture/metrics/gpu/nvml.h"
#include "capture/metrics/gpu/rocm_smi.h"
#include "capture/metrics/gpu/shared_library.h"
#include "capture/metrics/host/cgroup.h"
#include "capture/metrics/system_sampler.h"
#include "cli/machine/counter_check.h"
#include "embedded/doctor_programs.h"
#include "headroom/detail/hip_library.h"
#include "headroom/timer.h"
#include "render/number_format.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

/// Time limit for the answer of a driver. A driver that is not in use first initializes its GPUs,
/// one after the other.
constexpr std::chrono::seconds kDriverPatience{10};

/// Returns the result of `check`. Runs it on a separate thread, because a faulty driver may never
/// answer. After the time limit, returns nullopt and abandons the thread.
std::optional<MachineCheck> AskDriver(MachineCheck (*check)()) {
  std::packaged_task<MachineCheck()> task(check);
  std::future<MachineCheck> answer = task.get_future();
  std::thread thread(std::move(task));
  if (answer.wait_for(kDriverPatience) != std::future_status::ready) {
    thread.detach();
    return std::nullopt;
  }
  thread.join();
  return answer.get();
}

/// Returns the content of a small file without the newline; empty if it is unreadable.
std::string LineOf(const std::string& path) {
  std::string content = ReadFileOrEmpty(path);
  while (content.ends_with('\n')) content.pop_back();
  return content;
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// Quotes a word of any bytes, including newlines, for sh. ShellQuote() in escape.h is for commands
/// that people copy.
std::string ShellWord(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

MachineCheck CheckClock() {
  const std::string source =
      LineOf("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (headroom_impl_has_counter() != 0) {
    return {.name = "clock",
            .finding = fmt::format("invariant counter; kernel clock source: {}",
                                   source.empty() ? "unknown" : source)};
  }
  return {
      .name = "clock",
      .state = CheckState::kLimited,
      .finding = fmt::format("no invariant counter (kernel clock source: {})",
                             source.empty() ? "unknown" : source),
      .matters =
          "each region calls clock_gettime twice, so timing it takes two to three times as long as "
          "with the counter",
      .fix =
          source == "hpet" || source == "acpi_pm"
              ? "boot with tsc=reliable if the time-stamp counters of all CPUs are known to agree"
              : ""};
}

MachineCheck CheckTimers() {
  constexpr int kRegions = 200'000;
  if (headroom_enabled() == 0) {
    return {.name = "timers",
            .state = CheckState::kMissing,
            .finding = "switched off by HEADROOM=0 in the environment",
            .matters = "regions are neither counted nor recorded",
            .fix = "unset HEADROOM"};
  }
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {  // Keeps the least disturbed round.
    const std::uint64_t begin = headroom_impl_gettime(HEADROOM_IMPL_CLOCK_MONOTONIC);
    for (int i = 0; i < kRegions / 5; ++i) headroom_end(HEADROOM_BEGIN("doctor"));
    const std::uint64_t end = headroom_impl_gettime(HEADROOM_IMPL_CLOCK_MONOTONIC);
    best = std::min(best, static_cast<double>(end - begin) / kRegions * 5);
  }
  return {.name = "timers", .finding = fmt::format("a region costs {:.0f} ns here", best)};
}

MachineCheck CheckRecording() {
  const int memory = memfd_create("headroom-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory < 0) {
    return {.name = "recording",
            .state = CheckState::kMissing,
            .finding = fmt::format("no shared memory: memfd_create: {}", std::strerror(errno)),
            .matters = "timers cannot send their events; headroom record writes only metrics",
            .fix =
                "use Linux 3.17 or later; in a container, also a seccomp profile that allows "
                "memfd_create"};
  }
  close(memory);
  const std::string runtime = Environment("XDG_RUNTIME_DIR");
  for (const std::string& folder : {runtime, std::string("/tmp")}) {
    if (!folder.empty() && access(folder.c_str(), W_OK | X_OK) == 0)
      return {.name = "recording", .finding = fmt::format("shared memory; socket in {}", folder)};
  }
  return {.name = "recording",
          .state = CheckState::kMissing,
          .finding = "no folder for a socket: neither XDG_RUNTIME_DIR nor /tmp can be written",
          .matters = "processes cannot reach the recorder",
          .fix = "set XDG_RUNTIME_DIR to a folder that you can write"};
}

MachineCheck CheckDisk(const std::string& folder) {
  struct statvfs space {};
  if (statvfs(folder.c_str(), &space) != 0 || access(folder.c_str(), W_OK) != 0) {
    return {.name = "disk",
            .state = CheckState::kMissing,
            .finding = fmt::format("cannot write in {}", folder),
            .matters = "headroom record writes recordings in this folder",
            .fix = "change to another folder, or use -o FILE"};
  }
  const double free = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
  constexpr double kComfortable = 2e9;
  MachineCheck check{.name = "disk",
                     .finding = fmt::format("{} free in {}", FormatBytes(free), folder)};
  if (free < kComfortable) {
    check.state = CheckState::kLimited;
    check.matters =
        "GPU work takes about 200 bytes per launch: 2 MB/s at 10,000 launches per second";
    check.fix = "use -o FILE on another disk, or --steps A:B for a part of the run";
  }
  return check;
}

MachineCheck CheckCgroup() {
  const Cgroups groups =
      FindCgroups(LineOf("/proc/self/cgroup"), LineOf("/proc/self/mountinfo"), "");
  if (groups.cpu.folders.empty() && groups.memory.folders.empty()) {
    return {.name = "cgroup",
            .state = CheckState::kLimited,
            .finding = "no CPU or memory controller is visible",
            .matters = "limits and throttling of a container are unknown",
            .fix = "in a container, mount /sys/fs/cgroup (read-only is enough)"};
  }
  std::optional<double> cores, memory;
  const auto least = [](std::optional<double>& into, std::optional<double> value) {
    if (value && (!into || *value < *into)) into = value;
  };
  for (const std::string& level : groups.cpu.folders) {
    least(cores, groups.cpu.v2 ? ParseCpuMax(LineOf(level + "/cpu.max"))
                               : CpuQuota(LineOf(level + "/cpu.cfs_quota_us"),
                                          LineOf(level + "/cpu.cfs_period_us")));
  }
  for (const std::string& level : groups.memory.folders) {
    const auto limit = ParseMemoryLimit(
        LineOf(level + (groups.memory.v2 ? "/memory.max" : "/memory.limit_in_bytes")));
    if (limit) least(memory, static_cast<double>(*limit));
  }
  return {.name = "cgroup",
          .finding = fmt::format("version {}; CPU {}, memory {}", groups.cpu.v2 ? 2 : 1,
                                 cores ? fmt::format("at most {:.3g} cores", *cores) : "unlimited",
                                 memory ? "at most " + FormatBytes(*memory) : "unlimited")};
}

MachineCheck CheckPressure() {
  if (!LineOf("/proc/pressure/cpu").empty())
    return {.name = "pressure", .finding = "/proc/pressure can be read"};
  return {.name = "pressure",
          .state = CheckState::kLimited,
          .finding = "no /proc/pressure",
          .matters = "waits of processes for CPU, memory and disk stay unknown",
          .fix = "use a kernel with CONFIG_PSI, booted with psi=1"};
}

MachineCheck CheckEnergy() {
  std::error_code error;
  bool there = false;
  for (const auto& entry : fs::directory_iterator("/sys/class/powercap", error)) {
    const std::string path = entry.path().string() + "/energy_uj";
    if (!fs::exists(path, error)) continue;
    there = true;
    if (access(path.c_str(), R_OK) == 0)
      return {.name = "energy", .finding = "the CPU energy counters can be read"};
  }
  if (there) {
    return {.name = "energy",
            .state = CheckState::kLimited,
            .finding = "only root can read the CPU energy counters",
            .matters = "energy of the host stays unknown",
            .fix = "sudo chmod a+r /sys/class/powercap/*/energy_uj"};
  }
  return {.name = "energy",
          .state = CheckState::kLimited,
          .finding = "the CPUs have no energy counters (typical of a virtual machine)",
          .matters = "energy of the host stays unknown"};
}

/// @param ask_gpus  true if PyTorch looks for GPUs, which takes as long as their driver takes to
/// answer
std::vector<MachineCheck> CheckPython(const std::string& python, bool ask_gpus) {
  constexpr const char* kNameThePython = "name the Python that trains with --python PATH";
  const bool is_named = python != kUsualPython;
  MachineCheck interpreter{.name = "python"}, torch{.name = "pytorch"}, module{.name = "module"};
  const std::string command =
      fmt::format("{} -c {}{} 2>/dev/null", ShellWord(python),
                  ShellWord(DoctorPrograms().front().content), ask_gpus ? "" : " --no-gpus");
  std::string printed;
  if (FILE* pipe = popen(command.c_str(), "r"); pipe != nullptr) {
    std::array<char, 4096> buffer{};
    for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
      printed.append(buffer.data(), n);
    pclose(pipe);
  }
  // Start-up code of the Python installation may print text before the JSON.
  const std::size_t begin = printed.rfind("\n{");
  const nlohmann::json found = nlohmann::json::parse(
      begin == std::string::npos ? printed : printed.substr(begin + 1), nullptr, false);
  if (!found.is_object()) {
    return {{.name = "python",
             .state = CheckState::kLimited,
             .finding = fmt::format("{} cannot be run", python),
             .matters = "PyTorch and Headroom's module cannot be checked",
             .fix = is_named ? fmt::format("{} -V shows the reason; name a Python that runs",
                                           ShellWord(python))
                             : kNameThePython}};
  }
  const auto text = [&](const char* key) { return found.value(key, std::string()); };
  interpreter.finding = fmt::format("{} ({})", text("python"), text("executable"));

  if (found.contains("torch")) {
    const bool kineto = found.value("kineto", false);
    const auto version = [&](const char* key) {
      return found.contains(key) && found[key].is_string() ? found[key].get<std::string>() : "";
    };
    torch.finding = fmt::format("{}{}{}", text("torch"),
                                version("cuda").empty() ? "" : ", CUDA " + version("cuda"),
                                version("hip").empty() ? "" : ", HIP " + version("hip"));
    torch.finding += ask_gpus ? fmt::format(", {} GPU{}", found.value("gpus", 0),
                                            found.value("gpus", 0) == 1 ? "" : "s")
                              : "; its GPUs were not checked, because their driver does not answer";
    if (!kineto) {
      torch.state = CheckState::kLimited;
      torch.finding += ", built without Kineto";
      torch.matters =
          "PyTorch's profiler records no GPU work; headroom record works without Kineto";
    }
  } else {
    torch.state = CheckState::kLimited;
    torch.finding = text("torch_error");
    torch.matters = "no training loop in PyTorch can be recorded with this Python";
    torch.fix =
        is_named ? fmt::format("{} -m pip install torch", ShellWord(python)) : kNameThePython;
  }

  if (found.contains("headroom")) {
    module.finding = text("headroom");
  } else {
    module.state = CheckState::kLimited;
    module.finding = text("headroom_error");
    module.matters = "`import headroom` fails in a program that is not recorded";
    module.fix =
        "install the wheel of Headroom into this Python, or add lib/headroom/python of the "
        "installed folder to PYTHONPATH";
  }
  return {interpreter, torch, module};
}

MachineCheck CheckNvidia() {
  const SharedLibrary driver({"libcuda.so.1"});
  int (*init)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  int (*count)(int*) = nullptr;
  if (!driver.ok() || !driver.Find("cuInit", init) || !driver.Find("cuDriverGetVersion", version) ||
      !driver.Find("cuDeviceGetCount", count)) {
    const bool device = access("/dev/nvidiactl", F_OK) == 0;
    return {.name = "nvidia",
            .state = CheckState::kMissing,
            .finding = device ? "a device, but no libcuda.so.1" : "no NVIDIA driver (libcuda.so.1)",
            .matters = "no GPU work of NVIDIA GPUs can be recorded here",
            .fix = device ? "install the driver's libraries; in a container, start it with --gpus"
                          : ""};
  }
  int number = 0, devices = 0;
  const int started = init(0);
  version(&number);
  if (started != 0 || count(&devices) != 0 || devices == 0) {
    return {.name = "nvidia",
            .state = CheckState::kMissing,
            .finding = fmt::format("a driver for CUDA {}.{}, but no GPU (cuInit: {})",
                                   number / 1000, number % 1000 / 10, started),
            .matters = "no GPU work can be recorded here",
            .fix = "run nvidia-smi for details; in a container, start it with --gpus"};
  }
  return {.name = "nvidia",
          .finding = fmt::format("{} GPU{}, driver for CUDA {}.{}", devices,
                                 devices == 1 ? "" : "s", number / 1000, number % 1000 / 10)};
}

/// Asks CUPTI for permission to record kernels, as `record` does, and undoes it.
cupti::Result AskForKernels(const cupti::Library& library, std::string* why) {
  cupti::Subscriber subscriber = nullptr;
  const auto ignore = [](void*, cupti::Domain, std::uint32_t, const void*) {};
  const cupti::Result subscribed = cupti::Subscribe(library, ignore, nullptr, &subscriber, why);
  if (subscribed != cupti::kSuccess) return subscribed;
  const cupti::Result result = library.enable(cupti::kConcurrentKernel);
  if (result == cupti::kSuccess) {
    library.disable(cupti::kConcurrentKernel);
  } else {
    *why = "CUPTI records no kernels: " + library.Explain(result);
  }
  library.unsubscribe(subscriber);
  return result;
}

std::string FixOf(cupti::Result result) {
  switch (result) {
    case cupti::kMultipleSubscribers:
      return "stop the other profiler, or do not start the program under it";
    case cupti::kInsufficientPrivileges:
    case cupti::kVirtualInsufficientPrivileges:
      return "echo options nvidia NVreg_RestrictProfilingToAdminUsers=0 | sudo tee "
             "/etc/modprobe.d/nvidia-profiling.conf, and reboot; in a container: --cap-add "
             "SYS_ADMIN";
    default:
      return "add the folder of a CUPTI for the driver's CUDA version to LD_LIBRARY_PATH";
  }
}

MachineCheck CheckCupti(bool has_gpu) {
  MachineCheck check{
      .name = "cupti",
      .state = CheckState::kMissing,
      .matters = "headroom record records no kernels and copies here, only regions and metrics"};
  cupti::Library library;
  std::string why;
  if (!cupti::OpenLibrary(&library, &why)) {
    check.finding = why;
    if (has_gpu) {
      check.fix =
          "pip install nvidia-cuda-cupti (for CUDA 13; nvidia-cuda-cupti-cu12 for 12), or add the "
          "toolkit's extras/CUPTI/lib64 to LD_LIBRARY_PATH";
    }
    return check;
  }
  const std::string version = fmt::format("version {} ({})", library.version, library.path);
  if (!has_gpu) return {.name = "cupti", .finding = version};
  if (const cupti::Result result = AskForKernels(library, &why); result != cupti::kSuccess) {
    check.finding = why;
    check.fix = FixOf(result);
    return check;
  }
  return {.name = "cupti", .finding = version + " lets this user record kernels"};
}
/// Without a working driver, CUPTI refuses everything.
MachineCheck CheckCuptiAlone() { return CheckCupti(/*has_gpu=*/false); }
MachineCheck CheckCuptiOnGpu() { return CheckCupti(/*has_gpu=*/true); }

MachineCheck CheckNvml() {
  const std::unique_ptr<GpuSource> nvml = OpenNvml(SamplerOptions().nvml_libraries, std::nullopt);
  if (nvml != nullptr)
    return {.name = "nvml", .finding = fmt::format("{} GPUs answer", nvml->gpus().size())};
  return {.name = "nvml",
          .state = CheckState::kMissing,
          .finding = "libnvidia-ml.so.1 is missing or finds no driver",
          .matters = "use, memory, power and clocks of NVIDIA GPUs stay unknown",
          .fix = access("/dev/nvidiactl", F_OK) == 0
                     ? "install the driver's libraries; in a container, "
                       "NVIDIA_DRIVER_CAPABILITIES=compute,utility"
                     : ""};
}

/// Returns true if the kernel offers an AMD GPU to programs.
bool HasAmdDevice() { return access("/dev/kfd", F_OK) == 0; }

MachineCheck CheckAmd() {
  const SharedLibrary hip({std::begin(detail::kHipLibraries), std::end(detail::kHipLibraries)});
  if (hip.ok()) return {.name = "amd", .finding = "the HIP runtime is installed"};
  return {.name = "amd",
          .state = CheckState::kMissing,
          .finding = "no HIP runtime (libamdhip64.so)",
          .matters = "no GPU work of AMD GPUs can be timed here",
          .fix = HasAmdDevice()
                     ? "install ROCm's hip-runtime-amd, or add its lib folder to LD_LIBRARY_PATH"
                     : ""};
}

MachineCheck CheckRocmSmi() {
  const std::unique_ptr<GpuSource> rocm =
      OpenRocmSmi(SamplerOptions().rocm_libraries, std::nullopt);
  if (rocm != nullptr)
    return {.name = "rocm-smi", .finding = fmt::format("{} GPUs answer", rocm->gpus().size())};
  return {.name = "rocm-smi",
          .state = CheckState::kMissing,
          .finding = "librocm_smi64.so is missing or finds no GPU",
          .matters = "use, memory, power and clocks of AMD GPUs stay unknown",
          .fix = HasAmdDevice()
                     ? "install ROCm's rocm-smi-lib, or add its lib folder to LD_LIBRARY_PATH"
                     : ""};
}

struct GpuChecks {
  MachineCheck nvidia, cupti, nvml, rocm_smi;
  bool silent = false;  ///< True if a driver did not answer.
};

/// Queries NVML first, because it is most likely to answer if the driver is faulty. Does not query
/// a driver again after it hangs.
GpuChecks CheckGpus() {
  constexpr const char* kNoWork = "no GPU work can be recorded here";
  constexpr const char* kNoMetrics = "use, memory, power and clocks of GPUs stay unknown";
  constexpr const char* kNvidiaFix =
      "check if nvidia-smi answers, and read dmesg (Xid, NVRM); stop the programs on the GPUs and "
      "reload the driver, or reboot";
  constexpr const char* kAmdFix = "check if rocm-smi answers, and read dmesg (amdgpu); reboot";
  GpuChecks checks;
  const auto ask = [&](MachineCheck (*check)(), const char* name, const char* who,
                       const char* matters, const char* fix) {
    std::optional<MachineCheck> found = AskDriver(check);
    if (found) return *found;
    checks.silent = true;
    return MachineCheck{.name = name,
                        .state = CheckState::kMissing,
                        .finding = fmt::format("{} does not answer within {} s: the driver hangs",
                                               who, kDriverPatience.count()),
                        .matters = matters,
                        .fix = fix};
  };
  const auto leave = [&](const char* name, const char* silent) {
    return MachineCheck{.name = name,
                        .state = CheckState::kMissing,
                        .finding = fmt::format("not asked, because {} does not answer", silent),
                        .matters = kNoWork,
                        .fix = kNvidiaFix};
  };
  checks.nvml = ask(CheckNvml, "nvml", "libnvidia-ml.so.1", kNoMetrics, kNvidiaFix);
  if (checks.silent) {
    checks.nvidia = leave("nvidia", "NVML");
    checks.cupti = leave("cupti", "NVML");
  } else {
    checks.nvidia = ask(CheckNvidia, "nvidia", "cuInit of libcuda.so.1", kNoWork, kNvidiaFix);
    const bool works = checks.nvidia.state == CheckState::kOk;
    checks.cupti = checks.silent ? leave("cupti", "cuInit")
                                 : ask(works ? CheckCuptiOnGpu : CheckCuptiAlone, "cupti", "CUPTI",
                                       kNoWork, kNvidiaFix);
  }
  checks.rocm_smi = ask(CheckRocmSmi, "rocm-smi", "librocm_smi64.so", kNoMetrics, kAmdFix);
  return checks;
}

MachineCheck CheckInjection() {
  const std::string path = Environment("CUDA_INJECTION64_PATH");
  if (path.empty()) return {.name = "injection", .finding = "no other tool is set to be loaded"};
  return {.name = "injection",
          .state = CheckState::kLimited,
          .finding = fmt::format("CUDA_INJECTION64_PATH is {}", path),
          .matters = "another tool uses the variable that headroom record requires for GPU work",
          .fix = "unset CUDA_INJECTION64_PATH"};
}

}  // namespace

std::string_view Name(CheckState state) {
  switch (state) {
    case CheckState::kOk:
      return "ok";
    case CheckState::kLimited:
      return "limited";
    case CheckState::kMissing:
      return "missing";
  }
  return "";
}

std::vector<MachineCheck> CheckMachine(const std::string& python, const std::string& folder) {
  std::vector<MachineCheck> checks = {
      CheckClock(),  CheckTimers(),   CheckRecording(), CheckDisk(folder),
      CheckCgroup(), CheckPressure(), CheckEnergy(),    CounterCheck(AskForCounters())};
  // Queries the GPUs before Python does, because a driver that hangs would block Python.
  GpuChecks gpus = CheckGpus();
  for (MachineCheck& check : CheckPython(python, /*ask_gpus=*/!gpus.silent))
    checks.push_back(std::move(check));
  for (MachineCheck* check : {&gpus.nvidia, &gpus.cupti, &gpus.nvml})
    checks.push_back(std::move(*check));
  checks.push_back(CheckInjection());
  checks.push_back(CheckAmd());
  checks.push_back(std::move(gpus.rocm_smi));
  return checks;
}

}  // namespace headroom::cli
