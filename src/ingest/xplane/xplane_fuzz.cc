// libFuzzer target: reads any bytes as an XPlane profile. The first byte chooses the number of
// bytes per read, and whether large events are refused.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "ingest/input/fuzz_checks.h"
#include "ingest/input/memory_source.h"
#include "ingest/xplane/plane_stream.h"
#include "ingest/xplane/xplane_reader.h"

namespace headroom::xplane {
namespace {

std::unique_ptr<TraceStore> ReadTrace(const std::string& bytes, std::size_t chunk_bytes,
                                      std::int64_t max_event_bytes) {
  MemoryByteSource source(bytes);
  ReadOptions options;
  options.chunk_bytes = chunk_bytes;
  options.max_event_bytes = max_event_bytes;
  auto store = std::make_unique<TraceStore>();
  Require(Read(source, "fuzz", options, *store).ok(), "bytes in memory are always read");
  return store;
}

}  // namespace
}  // namespace headroom::xplane

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;          // NOLINT(google-build-using-namespace)
  using namespace headroom::xplane;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t chunk_bytes = std::size_t{1} << (data[0] % 11);
  const std::int64_t limit = data[0] >= 0x80 ? 64 : 1 << 20;
  LooksLikeTrace(bytes);
  const auto whole = ReadTrace(bytes, 1 << 16, limit);
  const auto pieces = ReadTrace(bytes, chunk_bytes, limit);
  CheckInvariants(*whole);
  CheckInvariants(*pieces);
  CheckEqual(*whole, *pieces);
  return 0;
}
