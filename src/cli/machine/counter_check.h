// Checks for `headroom doctor` that the processor's performance counters can be read here.
#pragma once

#include <optional>

#include "cli/machine/machine_checks.h"

namespace headroom::cli {

/// The kernel's answers. Errors are values of errno; 0 means that the counter was opened.
struct CounterAnswers {
  std::optional<int> paranoid = std::nullopt;  ///< kernel.perf_event_paranoid; nullopt: unknown.
  bool may_perfmon = false;  ///< CAP_PERFMON or CAP_SYS_ADMIN, which override the setting.
  int software_error = 0;    ///< Error of a counter that the kernel keeps: this thread's processor
                             ///< time.
  int program_error = 0;     ///< Error of a counter of cycles in this thread's own code.
  int kernel_error = 0;      ///< Error of a counter of cycles that includes the kernel's code.
};

/// Opens each of the three counters with perf_event_open and closes it again.
CounterAnswers AskForCounters();

/// Explains the answers, and names the fix.
MachineCheck CounterCheck(const CounterAnswers& answers);

}  // namespace headroom::cli
