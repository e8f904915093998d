// Reads the JSON of Ascend's profiler: `trace_view.json` of torch_npu and `msprof_*.json` of CANN.
// Its events have no categories, so the names of processes and threads decide what they are.
#pragma once

#include "store/trace_store.h"

namespace headroom::kineto {

/// Classifies the events of a trace that has a process named "Ascend Hardware":
///
/// - Spans of its streams, and the collectives of "Communication", become GPU tasks.
/// - Spans of "CANN" become runtime calls of the process "Python".
/// - Spans of "Python" become operators, ranges and frames.
/// - Waits of a stream, the parts of a collective, and derived tracks become annotations.
///
/// Does nothing in other traces. Requires that no other Settle...() function has run and that the
/// store is not frozen. Call it once.
void SettleAscendTracks(TraceStore& store);

}  // namespace headroom::kineto
