// How much the steps of one rank differ, for what waiting for the slowest of many costs.
#pragma once

#include <optional>
#include <vector>

#include "analysis/values/report.h"

namespace headroom {

/// Standard deviation of times as a share of their median, from their median distance to it, so
/// that one that stands out tells nothing. nullopt for fewer than kMinSteps.
std::optional<double> StepDeviation(std::vector<double> times);

/// Of whole recorded steps, without the first, which began in the middle of what came before.
std::optional<double> StepDeviation(const Steps& steps);

inline constexpr int kMinSteps = 4;

}  // namespace headroom
