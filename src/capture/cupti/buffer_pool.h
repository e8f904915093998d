// Pool of the buffers that CUPTI fills.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace headroom::cupti {

/// Provides zeroed buffers of 1 MiB, up to a ceiling. Creates most of them before CUPTI asks for
/// one, because CUPTI asks during the program's launches. In traces of PyTorch's profiler, creating
/// and zeroing 4 MiB there took 1.6 ms ("Activity Buffer Request").
///
/// At the ceiling, all requests get the same scratch buffer. Its contents are discarded and
/// counted. CUPTI before CUDA 12.9 crashes if a request is refused. Concurrent requests share the
/// scratch buffer, so it may then not be zeroed.
class BufferPool {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
  static constexpr std::size_t kScratchBytes = std::size_t{256} << 10;
  static constexpr std::size_t kMaxBuffers = 4096;

  /// @param ceiling  maximum size of all buffers, in bytes; the pool has at least one buffer
  explicit BufferPool(std::size_t ceiling);
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// Returns a buffer and sets `*size` to its size in bytes. Never fails.
  std::uint8_t* Request(std::size_t* size);

  /// Returns true unless `buffer` is the scratch buffer, whose `valid` bytes count as discarded.
  bool Readable(const std::uint8_t* buffer, std::size_t valid);

  /// Takes a buffer back after it was read or discarded.
  void Return(std::uint8_t* buffer);

  /// Creates buffers until `count` are spare, or the ceiling is reached.
  void Prepare(std::size_t count);

  /// Returns the bytes discarded since the last call.
  std::int64_t TakeDiscarded() { return discarded_.exchange(0); }
  /// Adds back discarded bytes that could not be reported.
  void AddDiscarded(std::int64_t bytes) { discarded_ += bytes; }

 private:
  /// Returns null at the ceiling or if memory is exhausted. REQUIRES: the lock is held.
  std::uint8_t* Make();

  std::mutex mutex_;  ///< Guards the next three members. No CUPTI call is made under it.
  std::size_t made_ = 0, most_, spare_count_ = 0;
  std::uint8_t* spare_[kMaxBuffers];
  std::atomic<std::int64_t> discarded_ = 0;
  alignas(8) std::uint8_t scratch_[kScratchBytes];
};

}  // namespace headroom::cupti
