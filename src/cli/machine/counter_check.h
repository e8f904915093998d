// Checks for `headroom doctor` whether the CPU's performance counters can be read.
#pragma once

#include <optional>

#include "cli/machine/machine_checks.h"

namespace headroom::cli {

/// The kernel's answers. Errors are values of errno; 0 means that the counter was opened.
struct CounterAnswers {
  std::optional<int> paranoid = std::nullopt;  ///< kernel.perf_event_paranoid; nullopt: unknown.
  bool may_perfmon = false;  ///< True with CAP_PERFMON or CAP_SYS_ADMIN, which override `paranoid`.
  int software_error = 0;  ///< Error of a software counter of the kernel: CPU time of this thread.
  int program_error = 0;   ///< Error of a counter of cycles in this thread's own code.
  int kernel_error = 0;    ///< Error of a counter of cycles that includes the kernel's code.
};

/// Opens each of the three counters with perf_event_open and closes it again.
CounterAnswers AskForCounters();

/// Returns the check result that explains the answers, with the fix.
MachineCheck CounterCheck(const CounterAnswers& answers);

}  // namespace headroom::cli
