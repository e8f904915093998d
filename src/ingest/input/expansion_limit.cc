#include "ingest/input/expansion_limit.h"

#include <fmt/format.h>

namespace headroom {
namespace {

std::string Remedy(std::int64_t max_ratio) {
  return fmt::format(". If you trust the file, raise the limit with --max-expansion N (now {})",
                     max_ratio);
}

}  // namespace

Status ExpansionLimit::CheckUnpacked(const std::string& path, std::int64_t bytes,
                                     std::int64_t file_bytes) const {
  if (bytes <= BytesOf(file_bytes)) return Status::Ok();
  return Status::BadInput(
      fmt::format("{}: expands more than {} times when decompressed; real traces expand at most 30 "
                  "times",
                  path, max_ratio) +
      Remedy(max_ratio));
}

Status ExpansionLimit::CheckEvents(const std::string& path, std::int64_t events,
                                   std::int64_t file_bytes) const {
  if (events <= EventsOf(file_bytes)) return Status::Ok();
  return Status::BadInput(
      fmt::format("{}: has more than {} events, tracks and names in {} bytes; real traces have at "
                  "most one per 7 bytes",
                  path, EventsOf(file_bytes), file_bytes) +
      Remedy(max_ratio));
}

Status ExpansionLimit::CheckWritten(const std::string& path, std::int64_t bytes,
                                    std::int64_t file_bytes) const {
  if (bytes <= BytesOf(file_bytes)) return Status::Ok();
  return Status::BadInput(
      fmt::format("{}: not written: repeated long texts would make it larger than {} MB, {} times "
                  "the trace; real outputs reach at most 24 times the trace",
                  path, BytesOf(file_bytes) / 1'000'000, max_ratio) +
      Remedy(max_ratio));
}

}  // namespace headroom
