// Variation of one rank's steps, which determines the cost of waiting for the slowest of many
// ranks.
#pragma once

#include <optional>
#include <vector>

#include "analysis/values/report.h"

namespace headroom {

/// Returns the standard deviation of times as a share of their median. Derived from the median
/// absolute deviation, so that outliers have no effect. nullopt for fewer than kMinSteps.
std::optional<double> StepDeviation(std::vector<double> times);

/// Uses complete recorded steps except the first, whose start is not a step boundary.
std::optional<double> StepDeviation(const Steps& steps);

inline constexpr int kMinSteps = 4;

}  // namespace headroom
