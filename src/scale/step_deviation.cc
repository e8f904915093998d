#include "scale/step_deviation.h"

#include <algorithm>
#include <cmath>

namespace headroom {

std::optional<double> StepDeviation(std::vector<double> times) {
  if (times.size() < kMinSteps) return std::nullopt;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  const double median = *middle;
  if (median <= 0) return std::nullopt;
  for (double& time : times) time = std::abs(time - median);
  std::nth_element(times.begin(), middle, times.end());
  // Ratio of the standard deviation to the median absolute deviation of a normal distribution.
  constexpr double kOfNormal = 1.4826;
  return kOfNormal * *middle / median;
}

std::optional<double> StepDeviation(const Steps& steps) {
  std::vector<double> walls;
  for (std::size_t row = 1; row < steps.list.size(); ++row) {
    if (steps.list[row].Counts()) walls.push_back(static_cast<double>(steps.list[row].wall.ns()));
  }
  return StepDeviation(std::move(walls));
}

}  // namespace headroom
