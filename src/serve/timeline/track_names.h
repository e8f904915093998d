// What the tracks of a trace are called, recorded or forecast.
#pragma once

#include <string>

#include "base/ids.h"
#include "store/trace_store.h"

namespace headroom {

/// "stream 7".
std::string StreamTitle(const TraceStore& store, StreamId stream);
/// "GPU 0 NVIDIA H200".
std::string DeviceTitle(const TraceStore& store, StreamId stream);
/// "thread 4711 pt_autograd_0".
std::string ThreadTitle(const TraceStore& store, ThreadId thread);
/// "process 4711 python".
std::string ProcessTitle(const TraceStore& store, ThreadId thread);

}  // namespace headroom
