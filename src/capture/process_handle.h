// A process that is another's child, by a handle that its number, once free, cannot mislead.
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
  /// False from its end on, also while its parent has not asked for its exit code yet.
  bool IsAlive() const;

 private:
  std::int32_t pid_;
  int descriptor_;  ///< -1: this kernel has no such handles (before 5.3).
};

}  // namespace headroom
