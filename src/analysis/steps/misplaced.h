// Finds wrong timestamps: a GPU runs the tasks of a stream in launch order.
#pragma once

#include <vector>

#include "analysis/names/name_facts.h"
#include "base/ids.h"
#include "store/trace_store.h"

namespace headroom {

/// A task with a wrong timestamp, its own or its launch's; the trace does not show which.
struct MisplacedTask {
  GpuTaskId task;
  /// Its neighbours by start on the stream, and by launch. The task belongs at one of the two
  /// places. None() if it is first or last.
  GpuTaskId runs_after, runs_before, launched_after, launched_before;
};

/// Returns, by task, the fewest tasks that explain the disorder:
/// * tasks that start before their launch does
/// * tasks that were launched before a call that waited for the whole device, but start after it
/// * tasks that run out of launch order on their stream
///
/// A stream is a queue, so tasks start in the order of their launches. The check excludes
/// * graph launches, whose tasks run on streams of the graph,
/// * launches of several threads that overlap in time, and
/// * streams with many tasks out of order, for which the rule is wrong.
std::vector<MisplacedTask> FindMisplacedTasks(const TraceStore& store, NameFacts& names);

}  // namespace headroom
