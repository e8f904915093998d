// libFuzzer target: reads any bytes as JSON of rocprofv3, at once and in pieces of a few bytes.
// Both must give the same result.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "ingest/input/fuzz_checks.h"
#include "ingest/input/memory_source.h"
#include "ingest/rocprof/rocprof_reader.h"

namespace headroom::rocprof {
namespace {

std::unique_ptr<TraceStore> ReadBytes(const std::string& bytes, std::size_t chunk_bytes) {
  MemoryByteSource source(bytes);
  ReadOptions options;
  options.chunk_bytes = chunk_bytes;
  auto store = std::make_unique<TraceStore>();
  Require(Read(source, "fuzz", options, *store).ok(), "bytes in memory can be read");
  return store;
}

}  // namespace
}  // namespace headroom::rocprof

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto once = headroom::rocprof::ReadBytes(bytes, std::size_t{1} << 20);
  const auto again = headroom::rocprof::ReadBytes(bytes, 1 + size % 13);
  headroom::CheckInvariants(*once);
  headroom::CheckEqual(*once, *again);
  return 0;
}
