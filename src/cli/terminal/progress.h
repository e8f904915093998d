// Shows a progress line on stderr for long work.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace headroom::cli {

/// Shows how much of a file has been read, after the first second. The destructor clears the line.
/// Not thread-safe.
class Progress {
 public:
  /// `enabled` false shows nothing. `what` is shown verbatim. Requires printable text.
  Progress(bool enabled, std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Reports that `done` of `all` bytes have been read. `all` <= 0 means that the size is unknown.
  void Update(std::int64_t done, std::int64_t all);

 private:
  using Clock = std::chrono::steady_clock;

  bool enabled_;
  std::string what_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_{};
  bool visible_ = false;
};

/// Returns the line for a state, e.g. "reading x.json  45 %  3 s left", in at most 79 columns.
std::string ProgressLine(const std::string& what, std::int64_t done, std::int64_t all,
                         double seconds);

}  // namespace headroom::cli
