// Tests of the engine on a user's own trace that need no ground truth: what must hold of any replay
// if the graph is right, whatever the job is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "whatif/job/job.h"

namespace headroom {

struct SelfCheck {
  std::string_view name;         ///< "identity", ...
  std::string_view expectation;  ///< A sentence.
  double figure = 0;             ///< In `unit`.
  std::string_view unit;         ///< "%", "x" or "" for a count.
  std::optional<double> low = {},
                        high = {};  ///< What the figure must lie between, the ends included.
  bool passed() const { return (!low || figure >= *low) && (!high || figure <= *high); }
};

/// @param replay_error_pct  of the unchanged job (Baseline::replay_error_pct)
std::vector<SelfCheck> CheckSelf(const Job& job, double replay_error_pct);

}  // namespace headroom
