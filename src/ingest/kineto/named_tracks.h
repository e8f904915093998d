// Reads the JSON of older profilers. Their events have no categories, so process names decide what
// the events are.
#pragma once

#include "store/trace_store.h"

namespace headroom::kineto {

/// Recognizes three profilers by process names and turns their events into operators, calls, ranges
/// and GPU tasks:
///
/// - PyTorch's autograd profiler without Kineto: "CUDA functions". A span there is the GPU time of
///   an operator. The innermost spans become tasks, the enclosing ones ranges.
/// - Timelines of TensorFlow 1: ".../stream:13 Compute" and similar. "stream:all" and "memcpy"
///   repeat the work of other streams; these repeats become ranges.
/// - rocprof before rocprofv3: "CPU HIP API", "CPU HSA API", "COPY", "GPU0".
///
/// Arrows join tasks to their launches. In timelines, node names join them. If the profiler
/// recorded no calls, a call "(launch)" of length 0 is added where the operator begins. Returns
/// false, and does nothing, in other traces.
///
/// Call it once, before the other Settle...() functions and before the store is frozen.
bool SettleNamedTracks(TraceStore& store);

}  // namespace headroom::kineto
