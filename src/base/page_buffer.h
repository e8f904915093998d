// Uninitialized memory straight from the operating system, given back the moment it is freed.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace headroom {

/// From this size on a mapping asks for huge pages: one fault clears 2 MiB instead of 4 KiB. Below,
/// the unused rest of a huge page would cost more memory than the faults cost time.
inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

/// Maps `bytes` of zeroed anonymous memory; throws std::bad_alloc when the system has none left.
void* MapPages(std::size_t bytes);
/// Makes a mapping longer or shorter, with what is in it. It may move: pages change their address,
/// nothing is copied. Throws std::bad_alloc, and changes nothing, when the system has no room left.
void* RemapPages(void* address, std::size_t bytes, std::size_t new_bytes);
void UnmapPages(void* address, std::size_t bytes);

/// Mappings that are no longer needed, for others that want no more: the system clears each page
/// that is touched first, and these are touched. Thread-safe.
class PagePool {
 public:
  PagePool() = default;
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;
  ~PagePool();

  /// Maps `bytes`, of which it is not said what they hold; as MapPages() where none is left.
  void* Take(std::size_t bytes);
  /// Takes over a mapping.
  void Give(void* address, std::size_t bytes);

 private:
  struct Mapping {
    void* address;
    std::size_t bytes;
  };
  std::mutex mutex_;
  std::vector<Mapping> free_;
};

/// An array of trivial values in its own mapping.
///
/// The heap keeps freed blocks of mixed ages, so building a table in pieces and then gathering it
/// would peak at twice its size; a mapping returns at once. Only touched pages count as resident.
template <typename T>
class PageBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PageBuffer() = default;
  explicit PageBuffer(std::size_t size) {
    if (size > 0) Map(size, size * sizeof(T));
  }
  /// What it holds is not said.
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

  /// Makes the array longer or shorter. Elements keep their values but may move; what new ones hold
  /// is not said.
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

  /// Leaves it empty.
  void GiveTo(PagePool& pool) {
    if (data_ != nullptr) pool.Give(std::exchange(data_, nullptr), mapped_bytes_);
    size_ = mapped_bytes_ = 0;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::span<const T> span() const { return {data_, size_}; }

 private:
  /// What grows has whole huge pages: its end would be cleared in small ones, and stay so when it
  /// is no longer the end.
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
