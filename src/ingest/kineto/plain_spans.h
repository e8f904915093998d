// Reads Chrome's JSON from programs that are not profilers known to Headroom.
#pragma once

#include "store/trace_store.h"

namespace headroom::kineto {

/// If no event of a trace has a known kind, its spans are user-named timings. Sets the format,
/// turns the spans into user annotations, and turns numbered ones into steps. Their category is
/// kept in their arguments as "cat", or "cat_" if they already have a "cat".
///
/// Does nothing in these cases:
///
/// - The format is already known, or any kind is known: a span of an unknown category is then a
///   detail of that profiler.
/// - The trace is a copy, which states what its events are.
/// - There are no spans.
///
/// Call it once, after half spans are paired and before the store is frozen.
void SettlePlainSpans(TraceStore& store);

}  // namespace headroom::kineto
