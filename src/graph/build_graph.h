// From a trace to its graph.
#pragma once

#include "analysis/names/name_facts.h"
#include "analysis/steps/steps.h"
#include "base/status.h"
#include "graph/graph.h"
#include "store/trace_store.h"

namespace headroom {

/// The graph of the steps' host calls and of the GPU tasks that they launch. Without steps, that of
/// the whole trace as one step.
///
/// Fails (kNoAnswer) where the trace holds no GPU tasks or no call that launched one: then there is
/// nothing to replay.
Result<Graph> BuildGraph(const TraceStore& store, NameFacts& names, const StepAnalysis& steps);

}  // namespace headroom
