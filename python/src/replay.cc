#include "replay.h"

#include <algorithm>

#include "sim/critical_path.h"
#include "sim/schedule.h"

namespace headroom::python {
namespace {

/// Returns nullptr if the path begins here.
const char* NameOfEdge(const Graph& graph, const EditedPlan& edited, const CriticalLink& link) {
  if (link.edge == kNoCriticalEdge) return "channel";
  const std::vector<std::uint32_t>& begin = edited.plan.shape->edge_begin;
  if (link.edge < begin[link.task] || link.edge >= begin[link.task + 1]) return nullptr;
  return Name(KindOfEdge(graph, edited, link.task, link.edge)).data();
}

}  // namespace

ReplayResult ReplayEdited(const Job& job, const EditedPlan& edited, std::size_t tasks) {
  const Plan& plan = edited.plan;
  Replayer replayer;
  const Replayed replayed = replayer.Run(plan);
  ReplayResult result;
  result.step_ms = job.step_scale().Ms(plan, replayed.step_ns);
  result.settled = replayed.settled;
  // Scales all walls by one factor, so that their mean is the step time.
  const double factor = job.step_scale().FactorOf(plan, replayed.step_ns);
  for (const double wall : replayed.step_walls_ns)
    result.step_walls_ms.push_back((factor * wall + job.step_scale().BeforeNs(plan)) / 1e6);

  result.starts.assign(tasks, ReplayResult::kNotThere);
  result.ends.assign(tasks, ReplayResult::kNotThere);
  const std::int64_t* const moments = replayer.Cycle(plan, replayer.cycles() - 1);
  std::int64_t first = INT64_MAX;
  for (std::size_t place = 0; place < plan.tasks(); ++place)
    first = std::min(first, moments[2 * place]);
  for (std::size_t place = 0; place < plan.tasks(); ++place) {
    const TaskIndex number = edited.number[place];
    if (number == kNoTask) continue;
    result.starts[number] = moments[2 * place] - first;
    result.ends[number] = moments[2 * place + 1] - first;
  }
  for (const CriticalLink& link : FindCriticalPath(plan, replayer)) {
    const TaskIndex number = edited.number[link.task];
    result.critical_path.push_back({.task = number == kNoTask ? -1 : std::int64_t{number},
                                    .edge = NameOfEdge(job.graph(), edited, link),
                                    .lag_ns = link.edge == kNoCriticalEdge ? 0 : link.spent_ns,
                                    .ran_ns = link.ran_ns});
  }
  return result;
}

}  // namespace headroom::python
