// What can only be settled once the whole file is read.
#pragma once

#include "ingest/input/trace_extent.h"
#include "ingest/kineto/merge.h"
#include "store/trace_store.h"

namespace headroom::kineto {

// Before TraceStore::Freeze(), in this order; then PairHalfSpans() (half_spans.h).

/// Removes events stamped 0 where 0 is not a time of the trace: CUPTI stamps kernels 0 when its
/// buffers overrun. That is so where most other stamps are Unix time. In a file whose stamps count
/// from a base time, it is so where events without length are at 0, and all others start over a
/// minute and further from 0 than the trace is long.
///
/// Also removes GPU tasks, at most half of them, whose stamps are no Unix times where most are,
/// or the other way round: profilers subtract a base time from a lost stamp, too.
void DropLostStamps(LateRows& late, TraceStore& store);

/// Counts the events that start before an earlier one of their track and kind. A profiler writes
/// operators, frames and calls as separate sorted runs, so only going back within one kind says
/// that order was lost; ranges that it draws over streams come in no order at all and do not count.
void CountOutOfOrder(TraceStore& store);

/// Proves from the data that time stamps are microseconds (decimals, or copies' bytes / bandwidth =
/// duration); scales a trace whose copies prove nanoseconds.
///
/// Stamps are read as microseconds first, so of a trace in nanoseconds only events in the first 26
/// days of its clock are there to be scaled: nanoseconds since 1970 are out of range and told as
/// such.
void SettleTimeUnit(LateRows& late, TraceStore& store);

/// Spans of no known kind count only where there is nothing else: some profilers draw frames
/// around the trace with stamps of another clock.
TraceExtent ExtentOf(const LateRows& late, const TraceStore& store);

}  // namespace headroom::kineto
