// The stretch of a trace that holds some of its steps.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/steps/steps.h"
#include "base/interval_set.h"

namespace headroom {

struct SliceWindow {
  Interval time;
  std::int64_t steps = 0;                        ///< Requested ones; 0: requested by time.
  bool marked = true;                            ///< A part of the trace keeps their marks.
  std::optional<std::int64_t> step_before = {};  ///< Number of the step kept in front of them.
};

/// Returns the window of the steps numbered `first` to `last`; nullopt if there are none. The
/// window begins with the step before the first, as a step's time begins where the work of the one
/// before ends.
std::optional<SliceWindow> WindowOfSteps(const StepAnalysis& found, std::int64_t first,
                                         std::int64_t last);

}  // namespace headroom
