// libFuzzer target: reads any bytes as an SQLite database. Reads them twice, because a read outside
// valid memory makes the results differ.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ingest/input/fuzz_checks.h"
#include "ingest/nsight/nsight_reader.h"

namespace headroom::nsight {
namespace {

std::unique_ptr<TraceStore> ReadBytes(std::span<const char> bytes) {
  constexpr std::int64_t kLongestText = 1 << 16;
  const Result<sqlite::Database> database =
      sqlite::Database::OpenBytes(bytes, "fuzz", kLongestText);
  if (!database.ok()) return nullptr;
  auto store = std::make_unique<TraceStore>();
  return Read(database.value(), "fuzz", {}, *store).ok() ? std::move(store) : nullptr;
}

}  // namespace
}  // namespace headroom::nsight

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const char> bytes(reinterpret_cast<const char*>(data), size);
  const auto once = headroom::nsight::ReadBytes(bytes);
  const auto again = headroom::nsight::ReadBytes(bytes);
  headroom::Require((once == nullptr) == (again == nullptr), "both readings have the same result");
  if (once == nullptr) return 0;
  headroom::CheckInvariants(*once);
  headroom::CheckEqual(*once, *again);
  return 0;
}
