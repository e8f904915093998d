#include "capture/cupti/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace headroom::cupti {

BufferPool::BufferPool(std::size_t ceiling)
    : most_(std::clamp<std::size_t>(ceiling / kBufferBytes, 1, kMaxBuffers)) {}

std::uint8_t* BufferPool::Make() {
  if (made_ == most_) return nullptr;
  void* buffer = mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (buffer == MAP_FAILED) return nullptr;
  ++made_;
  return static_cast<std::uint8_t*>(buffer);
}

std::uint8_t* BufferPool::Request(std::size_t* size) {
  std::uint8_t* buffer = nullptr;
  {
    const std::lock_guard lock(mutex_);
    buffer = spare_count_ > 0 ? spare_[--spare_count_] : Make();
  }
  *size = buffer != nullptr ? kBufferBytes : kScratchBytes;
  return buffer != nullptr ? buffer : scratch_;
}

bool BufferPool::Readable(const std::uint8_t* buffer, std::size_t valid) {
  if (buffer != scratch_) return true;
  discarded_ += static_cast<std::int64_t>(valid);
  return false;
}

void BufferPool::Return(std::uint8_t* buffer) {
  std::memset(buffer, 0, buffer == scratch_ ? kScratchBytes : kBufferBytes);
  if (buffer == scratch_) return;
  const std::lock_guard lock(mutex_);
  spare_[spare_count_++] = buffer;
}

void BufferPool::Prepare(std::size_t count) {
  const std::lock_guard lock(mutex_);
  while (spare_count_ < count) {
    std::uint8_t* buffer = Make();
    if (buffer == nullptr) return;
    spare_[spare_count_++] = buffer;
  }
}

}  // namespace headroom::cupti
