// libFuzzer target: reads any bytes as a Chakra execution trace. The first byte chooses the number
// of bytes per read, and whether large nodes are refused.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "ingest/chakra/chakra_reader.h"
#include "ingest/chakra/node_stream.h"
#include "ingest/input/fuzz_checks.h"
#include "ingest/input/memory_source.h"

namespace headroom::chakra {
namespace {

std::unique_ptr<TraceStore> ReadTrace(const std::string& bytes, std::size_t chunk_bytes,
                                      std::int64_t max_node_bytes) {
  MemoryByteSource source(bytes);
  ReadOptions options;
  options.chunk_bytes = chunk_bytes;
  options.max_node_bytes = max_node_bytes;
  auto store = std::make_unique<TraceStore>();
  Require(Read(source, "fuzz", options, *store).ok(), "bytes in memory are always read");
  return store;
}

}  // namespace
}  // namespace headroom::chakra

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;          // NOLINT(google-build-using-namespace)
  using namespace headroom::chakra;  // NOLINT(google-build-using-namespace)
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
