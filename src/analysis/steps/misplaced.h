// Time stamps that cannot be right, by the order that a GPU keeps.
#pragma once

#include <vector>

#include "analysis/names/name_facts.h"
#include "base/ids.h"
#include "store/trace_store.h"

namespace headroom {

/// A task whose stamp or whose launch's stamp is wrong; nobody knows which.
struct MisplacedTask {
  GpuTaskId task;
  /// The tasks of the stream between which it runs, and those between whose launches it was
  /// launched: at one of the two places it belongs. None: it is the first or the last.
  GpuTaskId runs_after, runs_before, launched_after, launched_before;
};

/// Tasks that start before their launch does, or after a call that waited for the whole device
/// although launched before it, and tasks that run on their stream on the wrong side
/// of tasks launched earlier or later; the fewest that explain the disorder. By task.
///
/// A stream is a queue, so what is launched first starts first. Not judged: graph launches, whose
/// tasks run on streams of the graph; launches that overlap in time (of several threads); and
/// streams whose tasks are out of order in numbers, for which the rule does not hold.
std::vector<MisplacedTask> FindMisplacedTasks(const TraceStore& store, NameFacts& names);

}  // namespace headroom
