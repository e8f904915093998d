// libFuzzer target: reads any bytes as a trace. The first byte chooses the piece size and the
// number of threads.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "ingest/input/fuzz_checks.h"
#include "ingest/input/memory_source.h"
#include "ingest/kineto/kineto_reader.h"

namespace headroom::kineto {
namespace {

std::unique_ptr<TraceStore> ReadTrace(const std::string& text, std::size_t piece_bytes, int threads,
                                      std::int64_t max_event_bytes) {
  MemoryByteSource source(text);
  ReadOptions options;
  options.piece_bytes = piece_bytes;
  options.threads = threads;
  options.max_event_bytes = max_event_bytes;
  auto store = std::make_unique<TraceStore>();
  return Read(source, "fuzz", options, *store).ok() ? std::move(store) : nullptr;
}

}  // namespace
}  // namespace headroom::kineto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;          // NOLINT(google-build-using-namespace)
  using namespace headroom::kineto;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece_bytes = std::size_t{1} << (data[0] % 11);
  const int threads = 1 + (data[0] >> 4) % 3;
  // The limit is shorter than most inputs, so that they reach it. The skipped text may depend on
  // pieces (garbage longer than the limit), so the result is not compared.
  if (const auto limited = ReadTrace(text, piece_bytes, threads, 256)) CheckInvariants(*limited);
  const auto whole = ReadTrace(text, 1 << 20, 1, 1 << 20);
  const auto pieces = ReadTrace(text, piece_bytes, threads, 1 << 20);
  Require((whole == nullptr) == (pieces == nullptr), "both piece sizes are refused or neither");
  if (whole == nullptr) return 0;
  CheckInvariants(*whole);
  CheckInvariants(*pieces);
  CheckEqual(*whole, *pieces);
  return 0;
}
