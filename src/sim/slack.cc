#include "sim/slack.h"

#include <algorithm>

namespace headroom {
namespace {

/// Number of cycles after the analyzed one.
constexpr int kHorizon = 2;

/// Latest time of a moment without dependents. Subtracting lags does not overflow.
constexpr std::int64_t kAnyTime = INT64_MAX / 4;

}  // namespace

std::vector<std::int64_t> FindSlack(const Plan& plan, const Replayer& replayer) {
  const std::size_t tasks = plan.tasks();
  std::vector<std::int64_t> slack(tasks);
  if (tasks == 0 || replayer.cycles() == 0) return slack;
  const PlanShape& shape = *plan.shape;
  const int last = replayer.cycles() - 1;
  const int first = std::max(0, last - kHorizon);
  const auto moments = static_cast<std::int64_t>(2 * tasks);

  // Latest times, in the cycles from `first` on. A moment must precede each of its dependents by
  // the lag.
  std::vector<std::int64_t> latest(static_cast<std::size_t>(moments * (last - first + 1)),
                                   kAnyTime);
  const std::int64_t* const times = replayer.Cycle(plan, last);
  const bool any_gpu =
      std::any_of(shape.gpu.begin(), shape.gpu.end(), [](std::uint8_t gpu) { return gpu != 0; });
  std::int64_t end = INT64_MIN;
  for (std::size_t task = 0; task < tasks; ++task) {
    if (!any_gpu || shape.gpu[task] != 0) end = std::max(end, times[2 * task + 1]);
  }
  const std::int64_t last_base = moments * (last - first);
  for (std::size_t task = 0; task < tasks; ++task) {
    if (!any_gpu || shape.gpu[task] != 0)
      latest[static_cast<std::size_t>(last_base) + 2 * task + 1] = end;
  }
  for (int cycle = last; cycle >= first; --cycle) {
    const std::int64_t base = moments * (cycle - first);
    for (std::size_t task = tasks; task-- > 0;) {
      std::int64_t& start = latest[static_cast<std::size_t>(base) + 2 * task];
      start = std::min(start,
                       latest[static_cast<std::size_t>(base) + 2 * task + 1] - plan.duration[task]);
      for (std::uint32_t edge = shape.edge_begin[task]; edge < shape.edge_begin[task + 1]; ++edge) {
        if (plan.lag[edge] == kNoEdge) continue;
        const std::int64_t from = base + shape.from[edge];
        if (from < 0) continue;
        std::int64_t& before = latest[static_cast<std::size_t>(from)];
        before = std::min(before, start - plan.lag[edge]);
      }
    }
  }
  const std::int64_t* const begun = replayer.Cycle(plan, first);
  // Length of a cycle, from the last two ends. A single cycle counts in full.
  std::int64_t cycle_length = end;
  if (last > 0) {
    const std::int64_t* const before = replayer.Cycle(plan, last - 1);
    std::int64_t end_before = INT64_MIN;
    for (std::size_t task = 0; task < tasks; ++task) {
      if (!any_gpu || shape.gpu[task] != 0) end_before = std::max(end_before, before[2 * task + 1]);
    }
    cycle_length = end - end_before;
  }
  for (std::size_t task = 0; task < tasks; ++task)
    slack[task] = std::clamp<std::int64_t>(latest[2 * task] - begun[2 * task], 0, cycle_length);
  return slack;
}

}  // namespace headroom
