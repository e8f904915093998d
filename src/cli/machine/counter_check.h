// Whether performance counters of the processor can be read here: for `headroom doctor`.
#pragma once

#include <optional>

#include "cli/machine/machine_checks.h"

namespace headroom::cli {

/// What the kernel answered. Errors are those of errno; 0: the counter was opened.
struct CounterAnswers {
  std::optional<int> paranoid = std::nullopt;  ///< kernel.perf_event_paranoid; nullopt: not told.
  bool may_perfmon = false;  ///< CAP_PERFMON or CAP_SYS_ADMIN: the setting does not matter then.
  int software_error = 0;    ///< Of a counter that the kernel keeps: this thread's processor time.
  int program_error = 0;     ///< Of cycles in this thread's own code.
  int kernel_error = 0;      ///< Of cycles in the kernel's code as well.
};

/// Opens each of the three counters with perf_event_open and closes it again.
CounterAnswers AskForCounters();

/// What the answers mean, and the fix.
MachineCheck CounterCheck(const CounterAnswers& answers);

}  // namespace headroom::cli
