// Pool of the buffers that CUPTI fills.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace headroom::cupti {

/// Buffers of 1 MiB up to a ceiling. All are zero when handed out, and most are ready before CUPTI
/// asks. CUPTI asks during the program's launches, where creating and zeroing 4 MiB took 1.6 ms in
/// traces of PyTorch's profiler ("Activity Buffer Request").
///
/// At the ceiling, all requests get one scratch buffer, whose contents are discarded and counted.
/// CUPTI before CUDA 12.9 crashes if a request is refused. A single user finds the scratch buffer
/// zero; concurrent users see each other's data.
class BufferPool {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
  static constexpr std::size_t kScratchBytes = std::size_t{256} << 10;
  static constexpr std::size_t kMaxBuffers = 4096;

  /// @param ceiling  in bytes; the pool has at least one buffer
  explicit BufferPool(std::size_t ceiling);
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// Returns a buffer and sets `*size` to its bytes. Never fails.
  std::uint8_t* Request(std::size_t* size);

  /// Returns true if a buffer's records can be read. Otherwise counts `valid` bytes as lost.
  bool Readable(const std::uint8_t* buffer, std::size_t valid);

  /// Takes a buffer back after it was read or discarded.
  void Return(std::uint8_t* buffer);

  /// Creates buffers until `count` are spare, or the ceiling is reached.
  void Prepare(std::size_t count);

  /// Returns the bytes discarded since the last call.
  std::int64_t TakeDiscarded() { return discarded_.exchange(0); }
  /// Adds back an amount that could not be reported.
  void AddDiscarded(std::int64_t bytes) { discarded_ += bytes; }

 private:
  std::uint8_t*
  Make();  ///< Returns null at the ceiling and without memory. REQUIRES: the lock is held.

  std::mutex mutex_;  ///< Guards the next three members. No CUPTI call is made under it.
  std::size_t made_ = 0, most_, spare_count_ = 0;
  std::uint8_t* spare_[kMaxBuffers];
  std::atomic<std::int64_t> discarded_ = 0;
  alignas(8) std::uint8_t scratch_[kScratchBytes];
};

}  // namespace headroom::cupti
