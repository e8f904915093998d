#include "analysis/steps/step_time.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>

namespace headroom {

bool IsOutlier(DurationNs wall, DurationNs median) {
  constexpr double kFactor = 1.5;
  return static_cast<double>(wall.ns()) >= kFactor * static_cast<double>(median.ns());
}

std::vector<bool> UsualSteps(const Steps& steps) {
  constexpr std::size_t kMin = 5, kMaxBurst = 16;
  std::vector<bool> usual;
  std::vector<std::size_t> whole, slow;  // Rows of the list; indices into `whole`.
  DurationNs spread;                     // Largest deviation from the median among the other steps.
  for (std::size_t row = 0; row < steps.list.size(); ++row) {
    usual.push_back(steps.list[row].Counts());
    if (!usual[row]) continue;
    if (steps.p50 && IsOutlier(steps.list[row].wall, *steps.p50)) {
      slow.push_back(whole.size());
    } else if (steps.p50 && row > 0) {
      spread = std::max(spread, DurationNs(std::abs((steps.list[row].wall - *steps.p50).ns())));
    }
    whole.push_back(row);
  }
  if (slow.empty() || slow.size() > 2 || whole.size() < kMin) return usual;
  // Among fewer than ten steps, two slow ones are unusual only at the start (warm-up).
  if (slow.size() == 2 && slow.front() > 0 && whole.size() < 2 * kMin) return usual;
  if (whole[slow.back()] - whole[slow.front()] + 1 != slow.size()) return usual;
  // Workers deliver in bursts, so two waits for the loader are typical of the job. So is one wait
  // among fewer steps than the longest burst. But the first wait may be the loader's start-up.
  DurationNs more, loading;
  for (const std::size_t i : slow) {
    const DurationNs excess = steps.list[whole[i]].wall - *steps.p50;
    if (excess <= spread) return usual;
    more += excess;
    loading += steps.list[whole[i]].loading;
  }
  const bool may_be_burst = whole.size() < kMaxBurst || (slow.size() > 1 && slow.front() > 0);
  if (may_be_burst && loading.ns() * 2 > more.ns()) return usual;
  for (const std::size_t i : slow) usual[whole[i]] = false;
  return usual;
}

std::optional<StepTime> StepTimeOf(const Steps& steps) {
  const std::vector<bool> usual = UsualSteps(steps);
  const auto count = std::ranges::count(usual, true);
  if (count == 0) return std::nullopt;
  StepTime time{.mean = {}, .gpu_busy = {}, .steps = count - (usual.front() && count > 1 ? 1 : 0)};
  // A cycle of optimizer_every steps has one update, regardless of its first step.
  const std::int64_t cycle = steps.optimizer_every.value_or(1);
  if (time.steps >= cycle) {
    time.steps -= time.steps % cycle;
  } else if (count >= cycle) {
    time.steps = cycle;
  }
  DurationNs sum, busy;
  std::int64_t skip = count - time.steps;
  for (std::size_t row = 0; row < usual.size(); ++row) {
    if (!usual[row] || skip-- > 0) continue;
    sum += steps.list[row].wall;
    busy += steps.list[row].gpu_busy.value_or(DurationNs(0));
  }
  time.mean = DurationNs((sum.ns() + time.steps / 2) / time.steps);
  time.gpu_busy = DurationNs((busy.ns() + time.steps / 2) / time.steps);
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
  // The standard deviation of a normal distribution is 1.25 times its mean absolute deviation.
  constexpr double kDeviationPerDistance = 1.25;
  const auto count = static_cast<double>(walls.size());
  // The error is relative to the mean step, because a loader that delivers in bursts makes the
  // median far smaller.
  return sum > 0 ? kDeviationPerDistance * distance / sum / std::sqrt(count) : 0;
}

}  // namespace headroom
