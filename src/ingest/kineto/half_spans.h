// Pairs spans whose beginning and end are separate events.
#pragma once

#include "ingest/kineto/merge.h"
#include "store/trace_store.h"

namespace headroom::kineto {

/// Maximum number of tracks for the asynchronous spans of a process. Further concurrent spans
/// overlap on the last track.
inline constexpr std::size_t kMaxAsyncTracks = 64;

/// Pairs the halves of spans, appends the spans as host events, and consumes the halves.
///
/// - `B` pairs with `E` on its thread, `b` with `e` (`S` with `F`) in its asynchronous operation.
/// - An end without a name ends the innermost open span.
/// - An end with a name ends the innermost span of that name. Inner spans that end later stay open,
///   so spans may overlap.
/// - A span that never ends is closed at the end of the enclosing span or of the trace. An
///   unfinished GPU task has length 0.
///
/// Asynchronous spans nest only with spans of their operation. They get separate tracks of their
/// process, named "async 1", "async 2" and so on; names that its threads already use are skipped. A
/// group of nested spans is placed on the first free track. O(n log n).
void PairHalfSpans(LateRows& late, Merger& merger, TraceStore& store);

}  // namespace headroom::kineto
