#include "cli/machine/counter_check.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "base/read_file.h"
#include "capture/metrics/board/fields.h"

namespace headroom::cli {
namespace {

/// Opens a counter of this thread. Returns the error, or 0.
int OpenError(std::uint32_t type, std::uint64_t config, bool of_kernel) {
  perf_event_attr event{};
  event.size = sizeof event;
  event.type = type;
  event.config = config;
  event.disabled = 1;
  event.exclude_kernel = of_kernel ? 0 : 1;
  event.exclude_hv = event.exclude_kernel;
  const long opened = syscall(SYS_perf_event_open, &event, /*thread=*/0, /*cpu=*/-1, /*group=*/-1,
                              PERF_FLAG_FD_CLOEXEC);
  if (opened < 0) return errno;
  close(static_cast<int>(opened));
  return 0;
}

/// Returns true if this thread has a capability in effect.
bool HasCapability(std::string_view status, int capability) {
  Lines lines(status);
  for (std::string_view line; lines.Next(line);) {
    Fields fields(line);
    if (fields.Next() != "CapEff:") continue;
    const std::string mask(fields.Next());
    return (std::strtoull(mask.c_str(), nullptr, 16) >> capability & 1) != 0;
  }
  return false;
}

bool IsRefusal(int error) { return error == EACCES || error == EPERM; }

/// Returns true if the CPU has no such counter, as in some virtual machines.
bool IsMissing(int error) { return error == ENOENT || error == EOPNOTSUPP || error == ENODEV; }

}  // namespace

CounterAnswers AskForCounters() {
  constexpr int kCapPerfmon = 38;  // Kernel headers before 5.8 lack it.
  const std::string status = ReadFileOrEmpty("/proc/self/status");
  return {
      .paranoid = Fields(ReadFileOrEmpty("/proc/sys/kernel/perf_event_paranoid")).NextNumber<int>(),
      .may_perfmon = HasCapability(status, kCapPerfmon) || HasCapability(status, CAP_SYS_ADMIN),
      .software_error = OpenError(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false),
      .program_error = OpenError(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false),
      .kernel_error = OpenError(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true)};
}

MachineCheck CounterCheck(const CounterAnswers& answers) {
  MachineCheck check{.name = "counters"};
  check.state = CheckState::kLimited;
  check.matters =
      "Headroom reads no hardware counters, but tools such as perf and VTune show no cycles or "
      "cache misses here";
  const std::string setting =
      answers.paranoid ? fmt::format("kernel.perf_event_paranoid is {}", *answers.paranoid)
                       : std::string("kernel.perf_event_paranoid is unknown");
  // Maximum perf_event_paranoid that lets users count their own programs.
  constexpr int kProgramsOfOnesOwn = 2;
  const int error = answers.software_error != 0 ? answers.software_error : answers.program_error;
  if (error == ENOSYS) {
    check.finding = "the kernel has no perf_event_open";
    check.fix = "use a kernel with CONFIG_PERF_EVENTS; a sandbox such as gVisor has none";
  } else if (IsRefusal(error)) {
    // Debian and others add the values 3 and 4, which refuse everything.
    const bool by_setting =
        !answers.may_perfmon && answers.paranoid.value_or(0) > kProgramsOfOnesOwn;
    check.finding =
        fmt::format("perf_event_open is refused ({}); {}", std::strerror(error), setting);
    check.fix = by_setting ? "sudo sysctl kernel.perf_event_paranoid=2"
                           : "in a container: --cap-add PERFMON, and a seccomp profile that allows "
                             "perf_event_open (Docker: --security-opt seccomp=FILE)";
  } else if (answers.software_error != 0) {
    check.finding = fmt::format("perf_event_open fails: {}", std::strerror(error));
  } else if (IsMissing(answers.program_error)) {
    check.finding = fmt::format(
        "the CPU has no counters here; only the kernel's software counters work; {}", setting);
    check.fix =
        "enable counters in the virtual machine (QEMU: -cpu host,pmu=on), or use a machine without "
        "a hypervisor";
  } else if (answers.program_error != 0) {
    check.finding = fmt::format("perf_event_open fails: {}", std::strerror(answers.program_error));
    if (answers.program_error == EBUSY)
      check.fix = "stop the programs that use the counters (perf, a watchdog)";
  } else if (answers.kernel_error != 0) {
    check.finding = fmt::format(
        "perf can count events of programs, but not those of the operating system ({})", setting);
    check.matters = "perf shows no time in the kernel; Headroom does not use this counter";
    check.fix = "sudo sysctl kernel.perf_event_paranoid=1";
  } else {
    check = {.name = "counters",
             .finding = fmt::format("can be read, including events in the kernel ({})", setting)};
  }
  return check;
}

}  // namespace headroom::cli
