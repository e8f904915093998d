// A trace's rows as packets of Perfetto's protobuf format, for its viewer and for our own reader.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "store/trace_store.h"

namespace headroom {

/// Takes whole packets; the last piece may be empty.
using PacketSink = std::function<void(std::string_view piece, bool last)>;

/// Writes every row; how many events that made. Spans that overlap on one track are on further
/// tracks below it, for the viewer draws only what nests. docs/export.md says which packets stand
/// for what, and what is lost.
///
/// REQUIRES: `store` is frozen.
std::int64_t WritePerfettoPackets(const TraceStore& store, const PacketSink& sink);

}  // namespace headroom
