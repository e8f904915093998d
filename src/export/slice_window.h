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
  /// True if the part of the trace keeps the steps' marks.
  bool marked = true;
  std::optional<std::int64_t> step_before = {};  ///< Number of the step kept before them.
};

/// Returns the window of the steps numbered `first` to `last`; nullopt if there are none. The
/// window begins with the step before the first, because a step's time begins when the previous
/// step's work ends.
std::optional<SliceWindow> WindowOfSteps(const StepAnalysis& found, std::int64_t first,
                                         std::int64_t last);

}  // namespace headroom
