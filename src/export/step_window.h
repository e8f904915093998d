// The stretch of a trace that holds some of its steps.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/steps/steps.h"
#include "base/interval_set.h"

namespace headroom {

struct StepWindow {
  std::optional<Interval> time;             ///< None: no such step.
  std::int64_t steps = 0;                   ///< That were asked for.
  bool marked = true;                       ///< Whether a part of the trace keeps their marks.
  std::optional<std::int64_t> step_before;  ///< Kept though not asked for, by number.
};

/// Returns the window of the steps numbered `first` to `last`. It begins with the step before the
/// first, as a step's time begins where the work of the one before ends.
StepWindow WindowOfSteps(const StepAnalysis& found, std::int64_t first, std::int64_t last);

}  // namespace headroom
