// Reads the JSON that TensorBoard's profiler plugin makes of XPlane files (`*.trace.json.gz` of JAX
// and TensorFlow). Its events have no categories, so track names decide what they are.
#pragma once

#include "store/trace_store.h"

namespace headroom::kineto {

/// Classifies the events of XLA's tracks ("/device:GPU:0" with "Stream #13(Compute)", "/host:CPU"):
///
/// - Spans of streams become GPU tasks.
/// - Spans of derived lines become annotations.
/// - Host spans become frames, calls, steps and operators.
///
/// Also records whether the writer's limit of a million events truncated the trace. Returns false,
/// and does nothing, if the tracks are not XLA's.
///
/// Call it once, before the other Settle...() functions and before the store is frozen.
bool SettleXlaTracks(TraceStore& store);

}  // namespace headroom::kineto
