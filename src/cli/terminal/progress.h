// A progress line on stderr for what takes long.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace headroom::cli {

/// Shows how much of a file is read once that takes over a second, and clears the line when
/// destroyed. Used by one thread at a time.
class Progress {
 public:
  /// `enabled`: whether to show anything at all. `what`: shown as it is; REQUIRES: printable.
  Progress(bool enabled, std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `done` of `all` bytes; `all` <= 0: not known.
  void Update(std::int64_t done, std::int64_t all);

 private:
  using Clock = std::chrono::steady_clock;

  bool enabled_;
  std::string what_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_{};
  bool visible_ = false;
};

/// The line for a state, e.g. "reading x.json  45 %  3 s left"; at most 79 columns.
std::string ProgressLine(const std::string& what, std::int64_t done, std::int64_t all,
                         double seconds);

}  // namespace headroom::cli
