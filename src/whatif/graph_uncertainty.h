// Plans in which what a graph only infers is otherwise: how far a forecast rests on it.
#pragma once

#include "graph/graph.h"
#include "sim/edit.h"

namespace headroom {

/// The plan without the waits of one stream for another that were inferred from times: one that is
/// none was a coincidence.
Plan WithoutInferredWaits(const Graph& graph, const EditedPlan& edited);

/// The plan with the late starts of GPU tasks that no edge explains `factor` times as late: as they
/// would be if they came of what sets the pace of the step.
Plan WithLateStarts(const Graph& graph, const EditedPlan& edited, double factor);

}  // namespace headroom
