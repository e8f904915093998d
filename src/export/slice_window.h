// The time window of a trace that contains some of its steps.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/steps/steps.h"
#include "base/interval_set.h"

namespace headroom {

struct SliceWindow {
  Interval time;
  /// Number of requested steps; 0 if requested by time.
  std::int64_t steps = 0;
  /// True if annotations mark the steps; false if the steps are inferred.
  bool marked = true;
  /// Number of the additional step before the requested ones; nullopt if there is no earlier step.
  std::optional<std::int64_t> step_before = {};
};

/// Returns the window of the steps numbered `first` to `last`; nullopt without such steps. The
/// window begins with the step before the first, because a step's time begins when the previous
/// step's work ends.
std::optional<SliceWindow> WindowOfSteps(const StepAnalysis& found, std::int64_t first,
                                         std::int64_t last);

}  // namespace headroom
