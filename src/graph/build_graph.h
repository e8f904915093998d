// Builds the dependency graph of a trace.
#pragma once

#include "analysis/names/name_facts.h"
#include "analysis/steps/steps.h"
#include "base/status.h"
#include "graph/graph.h"
#include "store/trace_store.h"

namespace headroom {

/// Returns the graph of the steps' host calls and of the GPU tasks that they launch. Without steps,
/// the whole trace counts as one step.
///
/// Fails with kNoAnswer if the trace has no GPU tasks, or no call that launched one, because a
/// replay requires both.
Result<Graph> BuildGraph(const TraceStore& store, NameFacts& names, const StepAnalysis& steps);

}  // namespace headroom
