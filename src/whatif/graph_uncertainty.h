// Plans with other assumptions in place of the graph's inferences. They show how much a forecast
// depends on inference.
#pragma once

#include "graph/graph.h"
#include "sim/edit.h"

namespace headroom {

/// Returns the plan without the inferred waits of one stream for another. Each of these waits may
/// be a coincidence of times.
Plan WithoutInferredWaits(const Graph& graph, const EditedPlan& edited);

/// Returns the plan with unexplained late starts of GPU tasks multiplied by `factor`. Such a delay
/// scales with the step time if its cause also limits the step.
Plan WithLateStarts(const Graph& graph, const EditedPlan& edited, double factor);

/// Returns a plan of the graph without waits whose record is missing (kUnrecordedWait).
Plan WithoutUnrecordedWaits(const Graph& graph, const Plan& plan);

}  // namespace headroom
