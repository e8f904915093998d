#include "analysis/steps/step_time.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace headroom {

bool IsOutlier(DurationNs wall, DurationNs median) {
  constexpr double kFactor = 1.5;
  return static_cast<double>(wall.ns()) >= kFactor * static_cast<double>(median.ns());
}

std::vector<bool> UsualSteps(const Steps& steps) {
  constexpr std::int64_t kFewest = 5;
  std::vector<bool> usual;
  std::int64_t whole = 0, slow = 0;
  std::size_t slow_row = 0;
  for (std::size_t row = 0; row < steps.list.size(); ++row) {
    usual.push_back(steps.list[row].Counts());
    if (!usual[row]) continue;
    ++whole;
    if (!steps.p50 || !IsOutlier(steps.list[row].wall, *steps.p50)) continue;
    ++slow;
    slow_row = row;
  }
  if (slow == 1 && whole >= kFewest) usual[slow_row] = false;
  return usual;
}

std::optional<StepTime> StepTimeOf(const Steps& steps) {
  const std::vector<bool> usual = UsualSteps(steps);
  const auto count = std::ranges::count(usual, true);
  if (count == 0) return std::nullopt;
  const bool without_first = usual.front() && count > 1;
  StepTime time{.mean = {}, .steps = count - (without_first ? 1 : 0)};
  DurationNs sum;
  for (std::size_t row = without_first ? 1 : 0; row < usual.size(); ++row) {
    if (usual[row]) sum += steps.list[row].wall;
  }
  time.mean = DurationNs((sum.ns() + time.steps / 2) / time.steps);
  return time;
}

double StepTimeError(const Steps& steps) {
  const std::vector<bool> usual = UsualSteps(steps);
  std::vector<double> walls;
  for (std::size_t row = 1; row < usual.size(); ++row) {
    if (usual[row]) walls.push_back(static_cast<double>(steps.list[row].wall.ns()));
  }
  if (walls.size() < 2) return 0;
  const auto middle = walls.begin() + static_cast<std::ptrdiff_t>(walls.size() / 2);
  std::nth_element(walls.begin(), middle, walls.end());
  const double median = *middle;
  double distance = 0, sum = 0;
  for (const double wall : walls) {
    distance += std::abs(wall - median);
    sum += wall;
  }
  // The standard deviation of a normal distribution is 1.25 times the mean distance.
  constexpr double kDeviationPerDistance = 1.25;
  const auto count = static_cast<double>(walls.size());
  // As a share of the mean step: a loader that delivers in bursts has a far smaller median.
  return sum > 0 ? kDeviationPerDistance * distance / sum / std::sqrt(count) : 0;
}

}  // namespace headroom
