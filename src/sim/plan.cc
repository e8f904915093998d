#include "sim/plan.h"

#include <algorithm>

namespace headroom {

Plan MakePlan(const Graph& graph) {
  auto shape = std::make_shared<PlanShape>();
  Plan plan;
  const auto moments = static_cast<std::int64_t>(graph.moments());
  shape->edge_begin = graph.edge_begin;
  shape->steps = graph.steps;
  shape->periodic = graph.periodic;
  shape->gpu.reserve(graph.tasks.size());
  shape->step.reserve(graph.tasks.size());
  plan.duration.reserve(graph.tasks.size());
  for (const Task& task : graph.tasks) {
    plan.duration.push_back(task.duration.ns());
    shape->gpu.push_back(task.kind == TaskKind::kGpu ? 1 : 0);
    shape->step.push_back(task.step);
  }
  shape->from.reserve(graph.edges.size());
  plan.lag.reserve(graph.edges.size());
  for (const Edge& edge : graph.edges) {
    plan.lag.push_back(edge.lag.ns());
    shape->from.push_back(2 * std::int64_t{edge.from} + (edge.from_end ? 1 : 0) -
                          moments * edge.cycles_back);
    shape->most_cycles_back = std::max<std::int32_t>(shape->most_cycles_back, edge.cycles_back);
  }
  plan.shape = std::move(shape);
  return plan;
}

}  // namespace headroom
