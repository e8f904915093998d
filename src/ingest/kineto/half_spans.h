// Spans whose beginning and end are events of their own.
#pragma once

#include "ingest/kineto/merge.h"
#include "store/trace_store.h"

namespace headroom::kineto {

/// So many tracks take the asynchronous spans of a process; what is under way beside them overlaps
/// on the last.
inline constexpr std::size_t kMaxAsyncTracks = 64;

/// Pairs the halves of spans and appends the spans as host events; takes the halves. `B` pairs with
/// `E` on its thread, `b` with `e` (`S` with `F`) in its asynchronous operation: an end without a
/// name ends the innermost open span, one with a name the innermost of that name. Spans inside it
/// whose ends follow stay open, so spans may overlap. A span that never ends is closed at the end
/// of the span around it, or of the trace; a GPU task has no length then. O(n log n).
///
/// Asynchronous spans nest with nothing but those of their operation, so they are on tracks of
/// their process beside its threads, "async 1", "async 2", ..., without the names that its threads
/// have: what an operation does at a stretch is on the first of them that is free.
void PairHalfSpans(LateRows& late, Merger& merger, TraceStore& store);

}  // namespace headroom::kineto
