// What can only be settled once the whole file is read.
#pragma once

#include "ingest/kineto/merge.h"
#include "store/trace_store.h"

namespace headroom::kineto {

/// Pairs `B` with `E` events per thread and appends the spans as host events. A span that never ends is closed at the
/// end of the span around it, or of the trace. Before TraceStore::Freeze().
void PairHalfSpans(const LateRows& late, TraceStore& store);

/// Proves from the data that time stamps are microseconds (decimals, or copies' bytes / bandwidth = duration); scales a
/// trace whose copies prove nanoseconds. After Freeze().
void SettleTimeUnit(const LateRows& late, TraceStore& store);

/// Clips GPU tasks that claim to run far beyond everything else in the trace to the start of the next
/// task on their stream. After Freeze().
void ClipOverflowingTasks(TraceStore& store);

}  // namespace headroom::kineto
