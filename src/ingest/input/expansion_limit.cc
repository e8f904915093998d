#include "ingest/input/expansion_limit.h"

#include <fmt/format.h>

namespace headroom {
namespace {

constexpr const char* kRemedy =
    "if you trust the file, raise the limit with --max-expansion N (it is {})";

}  // namespace

Status ExpansionLimit::CheckUnpacked(const std::string& path, std::int64_t bytes,
                                     std::int64_t file_bytes) const {
  if (bytes <= BytesOf(file_bytes)) return Status::Ok();
  return Status::BadInput(
      fmt::format("{}: expands more than {} times when decompressed, which no real trace does "
                  "(they reach 30); ",
                  path, max_ratio) +
      fmt::format(kRemedy, max_ratio));
}

Status ExpansionLimit::CheckEvents(const std::string& path, std::int64_t events,
                                   std::int64_t file_bytes) const {
  if (events <= EventsOf(file_bytes)) return Status::Ok();
  return Status::BadInput(fmt::format("{}: has more than {} events, tracks and names in {} bytes, "
                                      "which no real trace has (they reach one in 7 bytes); ",
                                      path, EventsOf(file_bytes), file_bytes) +
                          fmt::format(kRemedy, max_ratio));
}

Status ExpansionLimit::CheckWritten(const std::string& path, std::int64_t bytes,
                                    std::int64_t file_bytes) const {
  if (bytes <= BytesOf(file_bytes)) return Status::Ok();
  return Status::BadInput(
      fmt::format("{}: not written: it would have more than {} MB, {} times the trace, which no "
                  "real one has (they reach 24), for its events share long texts; ",
                  path, BytesOf(file_bytes) / 1'000'000, max_ratio) +
      fmt::format(kRemedy, max_ratio));
}

}  // namespace headroom
