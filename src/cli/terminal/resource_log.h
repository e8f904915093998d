// Records Headroom's own time and memory, for `--time`.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headroom::cli {

/// Adds up wall time per stage. A stage that is entered again continues.
class ResourceLog {
 public:
  /// Ends the current stage and begins or continues another. Requires that `stage` outlives this
  /// object.
  void Enter(const char* stage);
  /// Ends the current stage.
  void Leave();
  /// Adds one trace store, with its size after reading.
  void AddStore(std::int64_t events, std::int64_t bytes);

  /// Lines for stderr:
  ///   time: read 812.3 ms
  ///   memory: read 331.2 MB           (peak of the process until the end of the stage)
  ///   time: total 901.0 ms            (since this was made)
  ///   memory: peak 331.2 MB
  ///   store: 12345 events, 678900 bytes (55.0 bytes/event)
  std::string Text();

 private:
  using Clock = std::chrono::steady_clock;
  struct Stage {
    const char* name;
    Clock::duration time{};
    std::int64_t peak_bytes = 0;
  };

  Clock::time_point begin_ = Clock::now();
  Clock::time_point entered_{};
  std::vector<Stage> stages_;
  std::size_t current_ = kNone;
  std::vector<std::pair<std::int64_t, std::int64_t>> stores_;

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
};

}  // namespace headroom::cli
