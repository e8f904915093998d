// Steps that require the whole file to be read.
#pragma once

#include "ingest/input/trace_extent.h"
#include "ingest/kineto/merge.h"
#include "store/trace_store.h"

namespace headroom::kineto {

// Call these before TraceStore::Freeze(), in this order; then PairHalfSpans() (half_spans.h).

/// Removes events with timestamp 0 if 0 is not a time of the trace: CUPTI writes 0 for kernels when
/// its buffers overrun. Timestamp 0 counts as lost in two cases:
///
/// - Most other timestamps are Unix times.
/// - The file has a base time, only events without duration are at 0, and all others start over a
///   minute later. The time from 0 to the first of them must also exceed the length of the trace.
///
/// Also removes GPU tasks whose timestamps are not Unix times while most others are, or the
/// reverse. Profilers subtract a base time from a lost timestamp, too. At most half of the GPU
/// tasks are removed this way.
void DropLostStamps(LateRows& late, TraceStore& store);

/// Counts the events that start before the previous event of their track and kind in the file. A
/// profiler writes operators, frames and calls as separate sorted runs, so only a step back within
/// one kind shows lost order. Annotations on streams have no order and do not count.
void CountOutOfOrder(TraceStore& store);

/// Tries to prove from the data that timestamps are microseconds: they have decimals, or copies
/// satisfy bytes / bandwidth = duration. Scales a trace whose copies prove nanoseconds.
///
/// All timestamps are first read as microseconds. A trace in nanoseconds therefore keeps only
/// events in the first 26 days of its clock. Nanoseconds since 1970 are out of range and reported
/// as such.
void SettleTimeUnit(LateRows& late, TraceStore& store);

/// Returns the extent of the trace. Spans of unknown kinds count only if there are no others: some
/// profilers write spans around the whole trace with timestamps of another clock.
TraceExtent ExtentOf(const LateRows& late, const TraceStore& store);

}  // namespace headroom::kineto
