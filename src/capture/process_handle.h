// Handle of a process that need not be a child. A reused pid does not mislead it.
#pragma once

#include <cstdint>
#include <utility>

namespace headroom {

class ProcessHandle {
 public:
  explicit ProcessHandle(std::int32_t pid);
  ProcessHandle(ProcessHandle&& other) noexcept
      : pid_(other.pid_), descriptor_(std::exchange(other.descriptor_, -1)) {}
  ProcessHandle& operator=(ProcessHandle&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~ProcessHandle();

  std::int32_t pid() const { return pid_; }
  /// Returns false after the process ended, even before its parent collects its exit code.
  bool IsAlive() const;

 private:
  std::int32_t pid_;
  int descriptor_;  ///< -1 if the kernel has no process handles (before 5.3).
};

}  // namespace headroom
