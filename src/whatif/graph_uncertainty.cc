#include "whatif/graph_uncertainty.h"

#include <cmath>
#include <functional>

namespace headroom {
namespace {

/// Calls `visit(edge of the plan, edge of the graph)` for the graph's edges into GPU tasks.
void ForEachGpuEdge(const Graph& graph, const EditedPlan& edited,
                    const std::function<void(std::uint32_t, const Edge&)>& visit) {
  const PlanShape& shape = *edited.plan.shape;
  for (std::size_t task = 0; task < edited.plan.tasks(); ++task) {
    const TaskIndex origin = edited.origin[task];
    if (shape.gpu[task] == 0 || origin == kNoTask) continue;
    const std::uint32_t own = graph.edge_begin[origin + 1] - graph.edge_begin[origin];
    for (std::uint32_t place = 0; place < own; ++place)
      visit(shape.edge_begin[task] + place, graph.edges[graph.edge_begin[origin] + place]);
  }
}

}  // namespace

Plan WithoutInferredWaits(const Graph& graph, const EditedPlan& edited) {
  Plan out = edited.plan;
  ForEachGpuEdge(graph, edited, [&](std::uint32_t edge, const Edge& recorded) {
    if (recorded.kind == EdgeKind::kCrossStream && recorded.provenance == Provenance::kInferred)
      out.lag[edge] = kNoEdge;
  });
  return out;
}

Plan WithoutUnrecordedWaits(const Graph& graph, const Plan& plan) {
  Plan out = plan;
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    if (graph.tasks[task].kind != TaskKind::kGpu) continue;
    for (std::uint32_t edge = graph.edge_begin[task]; edge < graph.edge_begin[task + 1]; ++edge) {
      if (out.lag[edge] > 0)
        out.lag[edge] -= std::min(out.lag[edge], UnrecordedWaitOf(graph, edge).ns());
    }
  }
  return out;
}

Plan WithLateStarts(const Graph& graph, const EditedPlan& edited, double factor) {
  Plan out = edited.plan;
  ForEachGpuEdge(graph, edited, [&](std::uint32_t edge, const Edge& recorded) {
    if (recorded.kind == EdgeKind::kLaunch || recorded.lag <= kLateStart) return;
    if (out.lag[edge] <= 0) return;  // Skips kNoEdge too, which is negative.
    out.lag[edge] = std::llround(static_cast<double>(out.lag[edge]) * factor);
  });
  return out;
}

}  // namespace headroom
