// libFuzzer target: reads any bytes as a pickle. The first byte chooses the number of bytes per
// read.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "ingest/input/fuzz_checks.h"
#include "ingest/input/memory_source.h"
#include "ingest/memory_snapshot/pickle_parser.h"
#include "ingest/memory_snapshot/snapshot_reader.h"

namespace headroom::memory_snapshot {
namespace {

std::unique_ptr<TraceStore> ReadTrace(const std::string& bytes, std::size_t chunk_bytes) {
  MemoryByteSource source(bytes);
  ReadOptions options;
  options.chunk_bytes = chunk_bytes;
  options.max_string_bytes = 64;
  auto store = std::make_unique<TraceStore>();
  return Read(source, "fuzz", options, *store).ok() ? std::move(store) : nullptr;
}

}  // namespace
}  // namespace headroom::memory_snapshot

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;                   // NOLINT(google-build-using-namespace)
  using namespace headroom::memory_snapshot;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  LooksLikePickle(bytes);
  const auto whole = ReadTrace(bytes, 1 << 16);
  const auto pieces = ReadTrace(bytes, std::size_t{1} << (data[0] % 11));
  Require((whole == nullptr) == (pieces == nullptr), "both piece sizes are refused or neither");
  if (whole == nullptr) return 0;
  CheckInvariants(*whole);
  CheckInvariants(*pieces);
  CheckEqual(*whole, *pieces);
  return 0;
}
