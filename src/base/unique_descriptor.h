// An open file descriptor with one owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace headroom {

/// Closes its descriptor on destruction.
class UniqueDescriptor {
 public:
  /// @param number  -1 if none is open
  explicit UniqueDescriptor(int number) : number_(number) {}
  UniqueDescriptor(UniqueDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  UniqueDescriptor& operator=(UniqueDescriptor&&) = delete;
  ~UniqueDescriptor() {
    if (number_ >= 0) close(number_);
  }

  bool is_open() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace headroom
