// Titles of the tracks of a recorded or forecast trace.
#pragma once

#include <string>

#include "base/ids.h"
#include "store/trace_store.h"

namespace headroom {

/// Returns, for example, "stream 7".
std::string StreamTitle(const TraceStore& store, StreamId stream);
/// Returns, for example, "GPU 0 NVIDIA H200".
std::string DeviceTitle(const TraceStore& store, StreamId stream);
/// Returns, for example, "thread 4711 pt_autograd_0".
std::string ThreadTitle(const TraceStore& store, ThreadId thread);
/// Returns, for example, "process 4711 python".
std::string ProcessTitle(const TraceStore& store, ThreadId thread);

}  // namespace headroom
