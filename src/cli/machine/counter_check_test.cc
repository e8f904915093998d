#include "cli/machine/counter_check.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace headroom::cli {
namespace counter_check_test {

TEST(CounterCheck, NamesTheFixOfWhatIsRefused) {
  const struct {
    const char* name;
    CounterAnswers answers;
    CheckState state;
    const char* finding;
    const char* fix;
  } kCases[] = {
      {"a machine of one's own, as root",
       {.paranoid = 2, .may_perfmon = true},
       CheckState::kOk,
       "including events in the kernel",
       ""},
      {"the usual setting",
       {.paranoid = 2, .kernel_error = EACCES},
       CheckState::kLimited,
       "perf_event_paranoid is 2",
       "sysctl kernel.perf_event_paranoid=1"},
      {"Debian's strict setting",
       {.paranoid = 3, .software_error = EACCES, .program_error = EACCES, .kernel_error = EACCES},
       CheckState::kLimited,
       "is refused",
       "sysctl kernel.perf_event_paranoid=2"},
      {"a container's seccomp, whatever the setting",
       {.paranoid = 1, .software_error = EPERM, .program_error = EPERM, .kernel_error = EPERM},
       CheckState::kLimited,
       "is refused",
       "seccomp"},
      {"a virtual machine without a PMU",
       {.paranoid = 2, .program_error = ENOENT, .kernel_error = ENOENT},
       CheckState::kLimited,
       "only the kernel's software counters work",
       "pmu=on"},
      {"a sandbox",
       {.software_error = ENOSYS, .program_error = ENOSYS, .kernel_error = ENOSYS},
       CheckState::kLimited,
       "has no perf_event_open",
       "CONFIG_PERF_EVENTS"},
      {"the watchdog has the counter",
       {.paranoid = 0, .program_error = EBUSY, .kernel_error = EBUSY},
       CheckState::kLimited,
       "busy",
       "watchdog"},
  };
  for (const auto& c : kCases) {
    const MachineCheck check = CounterCheck(c.answers);
    EXPECT_EQ(check.state, c.state) << c.name;
    EXPECT_NE(check.finding.find(c.finding), std::string::npos) << c.name << ": " << check.finding;
    EXPECT_NE(check.fix.find(c.fix), std::string::npos) << c.name << ": " << check.fix;
    EXPECT_EQ(check.fix.empty(), *c.fix == 0) << c.name;
    EXPECT_EQ(check.matters.empty(), c.state == CheckState::kOk) << c.name;
  }
}

}  // namespace counter_check_test
}  // namespace headroom::cli
