// Choosing parts of a job: GPU tasks by a predicate, host work by the events that it belongs to.
#pragma once

#include <functional>
#include <vector>

#include "sim/edit.h"
#include "whatif/job/job.h"
#include "whatif/job/operators.h"

namespace headroom {

/// GPU tasks for which the predicate holds, in order.
std::vector<TaskIndex> SelectTasks(const Job& job, const std::function<bool(TaskIndex)>& wanted);

/// Host events for which the predicate holds, and all events inside them; by row.
std::vector<bool> SelectHost(const Job& job, const std::function<bool(HostEventId)>& wanted);

/// Scales the work between calls that belongs to the selected events. Returns how many calls had
/// any before them.
std::int64_t ScaleHostWork(const Job& job, const std::vector<bool>& selected, double factor,
                           Edit& edit);

/// The same of the work of a thread in this time, whatever it belongs to.
std::int64_t ScaleHostTime(const Job& job, ThreadId thread, const IntervalSet& time, double factor,
                           Edit& edit);

/// Returns by row which host events are of loaders that the loop waits for, or lie inside such
/// events.
std::vector<bool> SelectLoaders(const Job& job);

/// Removes the selected host events' work between calls, except that of loaders and callbacks: a
/// graph's launch does not fetch a batch or write a checkpoint.
///
/// @param selected  by row of host events; empty: all work goes, also that of no event
void RemoveDispatch(const Job& job, const std::vector<bool>& selected, Edit& edit);

/// Scales the work that belongs to the selected events, and their calls.
void ScaleHost(const Job& job, const std::vector<bool>& selected, double factor, Edit& edit);

/// Removes GPU tasks, and the calls that launched nothing else.
void RemoveTasks(const Job& job, const std::vector<TaskIndex>& tasks, Edit& edit);

/// Removes operators: their GPU tasks, calls and host work, with that of the library's operators
/// around them that launch nothing else.
void RemoveOperators(const Job& job, const std::vector<LaunchingOperator>& operators, Edit& edit);

/// Whether an earlier scenario removed all of an operator's tasks, or gave them other work: its
/// shapes say nothing any more.
bool IsReplaced(const std::vector<TaskIndex>& tasks, const Edit& edit);

/// Gives an operator's tasks another time in all: the longest keeps it, the others go, where they
/// ran on several streams; else each keeps its share. Never longer than they took: false where
/// that leaves them as they are.
bool ReplaceTasks(const Job& job, const std::vector<TaskIndex>& tasks, DurationNs time, Edit& edit);

/// Closes the gaps in which these tasks ran. A wait between streams that the trace does not tell is
/// nothing but a gap of the stream that waits.
void CloseGapsDuring(const Job& job, const std::vector<TaskIndex>& gone, Edit& edit);

}  // namespace headroom
