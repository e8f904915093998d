// The JSON that TensorBoard's profiler plugin makes of XPlane files (`*.trace.json.gz` of JAX and
// TensorFlow): events have no categories; what they are follows from the names of their tracks.
#pragma once

#include "store/trace_store.h"

namespace headroom::kineto {

/// Where the tracks are XLA's ("/device:GPU:0" with "Stream #13(Compute)", "/host:CPU"): turns the
/// spans of streams into GPU tasks and those of lines that are drawn from them into annotations,
/// tells frames, calls, steps and operators on the host, and notes where the writer's cap of a
/// million events cut the rest off. False, and nothing done, where they are not.
///
/// To be called once, before the other settling and before the store is frozen.
bool SettleXlaTracks(TraceStore& store);

}  // namespace headroom::kineto
