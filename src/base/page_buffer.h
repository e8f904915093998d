// Uninitialized memory from the operating system, returned immediately when freed.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace headroom {

/// Minimum size of mappings with huge pages. One fault then clears 2 MiB instead of 4 KiB. In
/// smaller mappings, the unused part of a huge page would cost more memory than the faults cost
/// time.
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

/// Maps `bytes` of zeroed anonymous memory. Throws std::bad_alloc if the system has none left.
void* MapPages(std::size_t bytes);
/// Changes the length of a mapping and keeps its content. The mapping may move to another address
/// without a copy. If the system has no memory left, throws std::bad_alloc and changes nothing.
void* RemapPages(void* address, std::size_t bytes, std::size_t new_bytes);
void UnmapPages(void* address, std::size_t bytes);

/// Freed mappings for reuse at the same or a smaller size. Reuse saves time because the system
/// clears each page on first touch, and these pages are touched already. Thread-safe.
class PagePool {
 public:
  PagePool() = default;
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;
  ~PagePool();

  /// Maps `bytes` with unspecified content. Uses MapPages() if no mapping fits.
  void* Take(std::size_t bytes);
  /// Takes ownership of a mapping.
  void Give(void* address, std::size_t bytes);

 private:
  struct Mapping {
    void* address;
    std::size_t bytes;
  };
  std::mutex mutex_;
  std::vector<Mapping> free_;
};

/// An array of trivial values in a separate mapping.
///
/// The heap keeps freed blocks of different ages, so building a table in pieces and then gathering
/// it would double peak memory. A mapping returns its memory immediately. Only touched pages count
/// as resident.
template <typename T>
class PageBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PageBuffer() = default;
  explicit PageBuffer(std::size_t size) {
    if (size > 0) Map(size, size * sizeof(T));
  }
  /// The content is unspecified.
  PageBuffer(std::size_t size, PagePool& pool) {
    if (size == 0) return;
    mapped_bytes_ = size * sizeof(T);
    data_ = static_cast<T*>(pool.Take(mapped_bytes_));
    size_ = size;
  }
  PageBuffer(PageBuffer&& other) noexcept { *this = std::move(other); }
  PageBuffer& operator=(PageBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    return *this;
  }
  ~PageBuffer() {
    if (data_ != nullptr) UnmapPages(data_, mapped_bytes_);
  }

  /// Changes the length. Elements keep their values but may move; new elements are unspecified.
  void Resize(std::size_t size) {
    if (size == size_) return;
    if (size == 0) {
      *this = PageBuffer();
      return;
    }
    const std::size_t bytes = size * sizeof(T);
    const std::size_t wanted = size < size_ ? bytes : WithRoom(bytes);
    if (size_ == 0) return Map(size, wanted);
    if (size < size_ || bytes > mapped_bytes_) {
      data_ = static_cast<T*>(RemapPages(data_, mapped_bytes_, wanted));
      mapped_bytes_ = wanted;
    }
    size_ = size;
  }

  /// Gives the memory to the pool; the array is empty afterwards.
  void GiveTo(PagePool& pool) {
    if (data_ != nullptr) pool.Give(std::exchange(data_, nullptr), mapped_bytes_);
    size_ = mapped_bytes_ = 0;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::span<const T> span() const { return {data_, size_}; }

 private:
  /// Rounds up to whole huge pages. Otherwise the end would consist of small pages, and remain so
  /// after further growth.
  static std::size_t WithRoom(std::size_t bytes) {
    if (bytes < kHugePageBytes) return bytes;
    return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  }

  void Map(std::size_t size, std::size_t bytes) {
    data_ = static_cast<T*>(MapPages(bytes));
    size_ = size;
    mapped_bytes_ = bytes;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace headroom
