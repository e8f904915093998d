// Copies a program's output to a descriptor that may block.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

namespace headroom {

/// Writes from a background thread to a descriptor that may block, so callers never block. Examples
/// are a terminal stopped by Ctrl-S, and a pipe without a reader. Drops output that arrives faster
/// than the descriptor accepts it, and writes a line with the number of dropped bytes. Use it from
/// one thread.
class NonblockingOutput {
 public:
  static constexpr std::size_t kMaxWaiting = std::size_t{256} << 10;  ///< Bytes.
  static constexpr std::chrono::milliseconds kPatience{1000};

  /// @param descriptor  must stay open until the process exits
  explicit NonblockingOutput(int descriptor);
  /// Waits as Flush() does, then discards the remaining output.
  ~NonblockingOutput();
  NonblockingOutput(const NonblockingOutput&) = delete;
  NonblockingOutput& operator=(const NonblockingOutput&) = delete;

  void Append(std::string_view text);
  /// Waits until all output is written, for at most kPatience. Returns true if all is written.
  bool Flush();

 private:
  struct Queue;
  std::shared_ptr<Queue> queue_;  ///< Shared with the thread, which may outlive this object while
                                  ///< it blocks in write().
};

}  // namespace headroom
