// Checks of the engine on a user's trace that need no ground truth. They must hold for any replay
// of a correct graph, for any job.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "whatif/job/job.h"

namespace headroom {

struct SelfCheck {
  std::string_view name;                      ///< "identity", ...
  std::string_view expectation;               ///< The expected outcome in words.
  double figure = 0;                          ///< Result in `unit`.
  std::string_view unit;                      ///< "%", "x", or "" for a count.
  std::optional<double> low = {}, high = {};  ///< Inclusive limits of the figure.
  bool passed() const { return (!low || figure >= *low) && (!high || figure <= *high); }
};

/// Runs all checks.
///
/// @param replay_error_pct  error of the unchanged job (Baseline::replay_error_pct)
std::vector<SelfCheck> CheckSelf(const Job& job, double replay_error_pct);

}  // namespace headroom
