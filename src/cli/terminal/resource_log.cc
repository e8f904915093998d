#include "cli/terminal/resource_log.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace headroom::cli {
namespace {

/// Returns the peak resident size of the process in bytes.
std::int64_t PeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

double Milliseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

double Megabytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

void ResourceLog::Enter(const char* stage) {
  Leave();
  const auto known = std::find_if(stages_.begin(), stages_.end(), [&](const Stage& s) {
    return std::string_view(s.name) == stage;
  });
  current_ = static_cast<std::size_t>(known - stages_.begin());
  if (known == stages_.end()) stages_.push_back({stage});
  entered_ = Clock::now();
}

void ResourceLog::Leave() {
  if (current_ == kNone) return;
  stages_[current_].time += Clock::now() - entered_;
  stages_[current_].peak_bytes = PeakBytes();
  current_ = kNone;
}

void ResourceLog::AddStore(std::int64_t events, std::int64_t bytes) {
  stores_.emplace_back(events, bytes);
}

std::string ResourceLog::Text() {
  Leave();
  std::string text;
  auto out = std::back_inserter(text);
  for (const Stage& stage : stages_) {
    fmt::format_to(out, "time: {} {:.1f} ms\n", stage.name, Milliseconds(stage.time));
    fmt::format_to(out, "memory: {} {:.1f} MB\n", stage.name, Megabytes(stage.peak_bytes));
  }
  fmt::format_to(out, "time: total {:.1f} ms\n", Milliseconds(Clock::now() - begin_));
  fmt::format_to(out, "memory: peak {:.1f} MB\n", Megabytes(PeakBytes()));
  for (const auto& [events, bytes] : stores_) {
    fmt::format_to(out, "store: {} events, {} bytes", events, bytes);
    if (events > 0)
      fmt::format_to(out, " ({:.1f} bytes/event)",
                     static_cast<double>(bytes) / static_cast<double>(events));
    text.push_back('\n');
  }
  return text;
}

}  // namespace headroom::cli
