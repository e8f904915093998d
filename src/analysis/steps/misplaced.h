// Finds wrong timestamps: a GPU runs the tasks of a stream in launch order.
#pragma once

#include <vector>

#include "analysis/names/name_facts.h"
#include "base/ids.h"
#include "store/trace_store.h"

namespace headroom {

/// A task whose own timestamp or whose launch's timestamp is wrong. The trace does not show which.
struct MisplacedTask {
  GpuTaskId task;
  /// Neighbours on the stream in order of start, and in order of launch. The task belongs between
  /// one of these two pairs. None() if there is no such neighbour.
  GpuTaskId runs_after, runs_before, launched_after, launched_before;
};

/// Returns, in task order, the smallest set of tasks that explains the disorder:
/// * tasks that start before their launch does
/// * tasks launched before a call that waited for the whole device, but that start after the call
/// * tasks that run out of launch order on their stream
///
/// A stream is a queue, so tasks start in the order of their launches. The check excludes
/// * graph launches, whose tasks run on streams of the graph,
/// * launches of several threads that overlap in time, and
/// * streams with many tasks out of order, for which the rule is wrong.
std::vector<MisplacedTask> FindMisplacedTasks(const TraceStore& store, NameFacts& names);

}  // namespace headroom
