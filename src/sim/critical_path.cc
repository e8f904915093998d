#include "sim/critical_path.h"

#include <algorithm>

namespace headroom {

std::vector<CriticalLink> FindCriticalPath(const Plan& plan, const Replayer& replayer) {
  std::vector<CriticalLink> path;
  const int last = replayer.cycles() - 1;
  if (last < 0 || plan.tasks() == 0) return path;
  const auto moments = static_cast<std::int64_t>(2 * plan.tasks());
  const std::int64_t* const base = replayer.Cycle(plan, 0);
  const auto end_of_work = [&](int cycle) {
    std::size_t best = 0;
    const std::int64_t* const times = replayer.Cycle(plan, cycle);
    for (std::size_t task = 0; task < plan.tasks(); ++task) {
      const bool better = plan.shape->gpu[task] != plan.shape->gpu[best]
                              ? plan.shape->gpu[task] > plan.shape->gpu[best]
                              : times[2 * task + 1] > times[2 * best + 1];
      if (better) best = task;
    }
    return best;
  };
  // Numbers moments continuously from the first cycle.
  const auto end_moment = [&](int cycle) {
    return cycle * moments + 2 * static_cast<std::int64_t>(end_of_work(cycle)) + 1;
  };
  // A cycle ends with its last task, even if the next cycle does not wait for that task. The last
  // cycle's path may therefore end differently. Only earlier cycles contain the path that repeats.
  const bool repeats = last >= 2;
  std::int64_t moment = end_moment(last);
  const std::int64_t until = repeats ? base[end_moment(last - 1)] : base[moment];
  const std::int64_t since = repeats     ? base[end_moment(last - 2)]
                             : last == 1 ? base[end_moment(0)]
                                         : 0;
  const auto within = [&](std::int64_t time) { return std::clamp(time, since, until); };
  while (moment >= 0 && base[moment] > since) {
    const std::int64_t cycle = moment / moments;
    const auto task = static_cast<std::size_t>(moment % moments / 2);
    CriticalLink link{.task = static_cast<TaskIndex>(task)};
    const std::int64_t start = base[cycle * moments + 2 * static_cast<std::int64_t>(task)];
    link.ran_ns = within(base[moment]) - within(start);
    std::int64_t from = -1;
    for (std::uint32_t edge = plan.shape->edge_begin[task]; edge < plan.shape->edge_begin[task + 1];
         ++edge) {
      const std::int64_t before = cycle * moments + plan.shape->from[edge];
      if (before < 0 || base[before] + plan.lag[edge] != start) continue;
      from = before;
      link.edge = edge;
      link.spent_ns = within(start) - within(base[before]);
      break;
    }
    // On a channel, the previous task can release this one without an edge.
    if (from < 0) {
      const std::int64_t held_by =
          replayer.HeldBackBy(plan, static_cast<int>(cycle), static_cast<TaskIndex>(task));
      if (held_by >= 0) {
        from = 2 * held_by + 1;
        link.edge = kNoCriticalEdge;
      }
    }
    const bool inside = start < until || link.ran_ns != 0 || link.spent_ns != 0;
    if (inside) path.push_back(link);
    moment = from;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace headroom
