// The JSON of Ascend's profiler (`trace_view.json` of torch_npu, `msprof_*.json` of CANN): events
// have no categories; what they are follows from the names of their processes and threads.
#pragma once

#include "store/trace_store.h"

namespace headroom::kineto {

/// Where a process is called "Ascend Hardware": turns the spans of its streams, and the collectives
/// of "Communication", into GPU tasks, the spans of "CANN" into runtime calls of the process
/// "Python", and the spans of "Python" into operators, ranges and frames. Waits of a stream, the
/// parts of a collective and the tracks that are drawn from others become annotations. Does nothing
/// in other traces.
///
/// To be called once, before the other settling and before the store is frozen.
void SettleAscendTracks(TraceStore& store);

}  // namespace headroom::kineto
