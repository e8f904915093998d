// The JSON of older profilers, whose events have no categories that say what they are: the names of
// their processes do.
#pragma once

#include "store/trace_store.h"

namespace headroom::kineto {

/// Recognizes, by the names of processes, and turns into operators, calls, ranges and GPU tasks:
///
/// - PyTorch's autograd profiler without Kineto: "CUDA functions". A span there is the GPU time of
///   an operator; the innermost ones are tasks, those around them ranges.
/// - Timelines of TensorFlow 1: ".../stream:13 Compute" and the like. What "stream:all" and
///   "memcpy" repeat of other streams are ranges.
/// - rocprof before rocprofv3: "CPU HIP API", "CPU HSA API", "COPY", "GPU0".
///
/// Tasks get their launches by arrows, in timelines by the names of their nodes. Where the profiler
/// recorded no calls, a call "(launch)" of no length stands where the operator begins. Returns
/// false, and does nothing, in other traces.
///
/// To be called once, before the other settling and before the store is frozen.
bool SettleNamedTracks(TraceStore& store);

}  // namespace headroom::kineto
