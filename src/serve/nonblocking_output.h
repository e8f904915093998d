// What a program prints, copied to where nobody may be reading.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

namespace headroom {

/// Writes to a descriptor that may not take it, as a terminal that was stopped by Ctrl-S or a pipe
/// that nobody reads: from a thread of its own, so that who calls never waits for it. What comes
/// faster than it is taken is left out, and a line says how much. From one thread.
class NonblockingOutput {
 public:
  static constexpr std::size_t kMaxWaiting = std::size_t{256} << 10;  ///< Bytes.
  static constexpr std::chrono::milliseconds kPatience{1000};

  /// @param descriptor  stays open as long as the process
  explicit NonblockingOutput(int descriptor);
  /// Waits as Flush() does; what is not written then never is.
  ~NonblockingOutput();
  NonblockingOutput(const NonblockingOutput&) = delete;
  NonblockingOutput& operator=(const NonblockingOutput&) = delete;

  void Append(std::string_view text);
  /// Waits until all of it is written, for kPatience at most. Returns whether it is.
  bool Flush();

 private:
  struct Queue;
  std::shared_ptr<Queue> queue_;  ///< The thread's, too: it may outlive this, in a write().
};

}  // namespace headroom
