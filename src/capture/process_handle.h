// Handle for any process, not only a child. On Linux 5.3 and later, the handle stays correct if the
// pid is reused.
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
  int descriptor_;  ///< A pidfd; -1 if it could not be opened, as before Linux 5.3.
};

}  // namespace headroom
