// Selection of parts of a job: GPU tasks by a predicate, host work by the events that it belongs
// to.
#pragma once

#include <functional>
#include <vector>

#include "sim/edit.h"
#include "whatif/job/job.h"
#include "whatif/job/operators.h"

namespace headroom {

/// Returns the GPU tasks for which the predicate is true, in order.
std::vector<TaskIndex> SelectTasks(const Job& job, const std::function<bool(TaskIndex)>& wanted);

/// Returns a flag per row of host events: true if the predicate is true for the event or for an
/// event around it.
std::vector<bool> SelectHost(const Job& job, const std::function<bool(HostEventId)>& wanted);

/// Scales the work between calls that belongs to the selected events. Returns the number of calls
/// with such work before them.
std::int64_t ScaleHostWork(const Job& job, const std::vector<bool>& selected, double factor,
                           Edit& edit);

/// Scales a thread's work during `time` in the same way, regardless of the events that it belongs
/// to.
std::int64_t ScaleHostTime(const Job& job, ThreadId thread, const IntervalSet& time, double factor,
                           Edit& edit);

/// Returns a flag per row of host events: true for data loaders that the loop waits for, and for
/// events inside them.
std::vector<bool> SelectLoaders(const Job& job);

/// Removes the selected host events' work between calls, except that of data loaders and callbacks.
/// A graph's launch does not fetch a batch or write a checkpoint.
///
/// @param selected  flag per row of host events; empty to remove all work, including work without
/// an event
void RemoveDispatch(const Job& job, const std::vector<bool>& selected, Edit& edit);

/// Scales the work that belongs to the selected events, and their calls.
void ScaleHost(const Job& job, const std::vector<bool>& selected, double factor, Edit& edit);

/// Removes GPU tasks, and the calls that launched nothing else.
void RemoveTasks(const Job& job, const std::vector<TaskIndex>& tasks, Edit& edit);

/// Removes operators: their GPU tasks, calls and host work. Also removes the library's operators
/// around them that launch nothing else.
void RemoveOperators(const Job& job, const std::vector<LaunchingOperator>& operators, Edit& edit);

/// Returns true if an earlier scenario removed all of an operator's tasks or replaced their work,
/// so that its shapes no longer apply.
bool IsReplaced(const std::vector<TaskIndex>& tasks, const Edit& edit);

/// Returns the time from the first start to the last end of GPU tasks, which may run on several
/// streams. On another GPU than the recorded one, it changes as the sum of their times.
DurationNs SpanOf(const Job& job, const std::vector<TaskIndex>& tasks);

/// Gives an operator's tasks another total time. On one stream, each task keeps its share. On
/// several streams, the longest task gets the time and the others are removed. Returns false and
/// changes nothing if the new time is not shorter.
bool ReplaceTasks(const Job& job, const std::vector<TaskIndex>& tasks, DurationNs time, Edit& edit);

/// Closes the gaps in which these tasks ran. A wait between streams that the trace does not record
/// appears only as a gap of the waiting stream.
void CloseGapsDuring(const Job& job, const std::vector<TaskIndex>& gone, Edit& edit);

}  // namespace headroom
