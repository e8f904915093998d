// What can only be settled once the whole file is read.
#pragma once

#include "ingest/kineto/merge.h"
#include "store/trace_store.h"

namespace headroom::kineto {

/// Counts the events that start before an earlier one of their track and kind. A profiler writes
/// operators, frames and calls as separate sorted runs, so only going back within one kind says
/// that order was lost; ranges that it draws over streams come in no order at all and do not count.
/// Before PairHalfSpans().
void CountOutOfOrder(TraceStore& store);

/// Pairs `B` with `E` events per thread and appends the spans as host events. A span that never
/// ends is closed at the end of the span around it, or of the trace. Before TraceStore::Freeze().
/// O(n log n).
void PairHalfSpans(const LateRows& late, TraceStore& store);

/// Proves from the data that time stamps are microseconds (decimals, or copies' bytes / bandwidth =
/// duration); scales a trace whose copies prove nanoseconds. After Freeze().
void SettleTimeUnit(const LateRows& late, TraceStore& store);

/// Clips GPU tasks that claim to run far beyond everything else in the trace to the start of the
/// next task on their stream. After Freeze().
void ClipOverflowingTasks(TraceStore& store);

}  // namespace headroom::kineto
