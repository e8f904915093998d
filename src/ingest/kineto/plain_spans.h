// Chrome's JSON from whoever writes it, which is no profiler that Headroom knows.
#pragma once

#include "store/trace_store.h"

namespace headroom::kineto {

/// Where nothing in a trace is of a known kind, its spans are what somebody named and timed. Sets
/// the format, and makes them annotations of the user's and the numbered ones of them steps; what
/// category they had is kept with their arguments, as "cat" (as "cat_" where they have a "cat" of
/// their own). Does nothing where the format is told already or anything is known (then a span of
/// an unknown category is a detail of that profiler's), nor to a copy, which says what its events
/// are, nor where there are no spans.
///
/// To be called once, after half spans are paired and before the store is frozen.
void SettlePlainSpans(TraceStore& store);

}  // namespace headroom::kineto
