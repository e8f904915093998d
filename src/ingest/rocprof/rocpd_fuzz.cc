// libFuzzer target: reads any bytes as a database of rocprofv3. Reads them twice, because a read
// outside valid memory makes the results differ.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ingest/input/fuzz_checks.h"
#include "ingest/rocprof/rocpd_reader.h"

namespace headroom::rocprof {
namespace {

std::unique_ptr<TraceStore> ReadBytes(std::span<const char> bytes) {
  constexpr std::int64_t kLongestText = 1 << 16;
  const Result<sqlite::Database> database =
      sqlite::Database::OpenBytes(bytes, "fuzz", kLongestText);
  if (!database.ok() || !IsRocpd(database.value())) return nullptr;
  auto store = std::make_unique<TraceStore>();
  return ReadRocpd(database.value(), "fuzz", {}, *store).ok() ? std::move(store) : nullptr;
}

}  // namespace
}  // namespace headroom::rocprof

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const char> bytes(reinterpret_cast<const char*>(data), size);
  const auto once = headroom::rocprof::ReadBytes(bytes);
  const auto again = headroom::rocprof::ReadBytes(bytes);
  headroom::Require((once == nullptr) == (again == nullptr), "both readings have the same result");
  if (once == nullptr) return 0;
  headroom::CheckInvariants(*once);
  headroom::CheckEqual(*once, *again);
  return 0;
}
