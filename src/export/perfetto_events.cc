#include "export/perfetto_events.h"
namespace headroom {
std::int64_t WritePerfettoPackets(const TraceStore&, const PacketSink& sink) {
  sink({}, true);
  return 0;
}
}  // namespace headroom
