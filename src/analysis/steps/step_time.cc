#include "analysis/steps/step_time.h"

#include <algorithm>
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

}  // namespace headroom
