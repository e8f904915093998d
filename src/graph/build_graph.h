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
/// A recording of a framework's operators without GPU tasks and without calls becomes a chain of
/// host work, as of a job on the CPU. Callers that need GPU tasks refuse it with NothingToReplay().
///
/// Fails with kNoAnswer if no call of the trace launched a GPU task, and no operators were
/// recorded.
Result<Graph> BuildGraph(const TraceStore& store, NameFacts& names, const StepAnalysis& steps);

/// Returns the failure of a replay that needs GPU tasks and the calls that launched them.
Status NothingToReplay(const TraceStore& store);

}  // namespace headroom
