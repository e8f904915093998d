// Writes a trace's rows as packets of Perfetto's protobuf format, for its viewer and our reader.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "store/trace_store.h"

namespace headroom {

/// Takes whole packets; the last piece may be empty.
using PacketSink = std::function<void(std::string_view piece, bool last)>;

/// Writes every row and returns the number of events. Spans that overlap on one track move to
/// further tracks below it, because the viewer draws only nested spans. docs/export.md lists the
/// packets of each table, and the losses.
///
/// REQUIRES: `store` is frozen.
std::int64_t WritePerfettoPackets(const TraceStore& store, const PacketSink& sink);

}  // namespace headroom
