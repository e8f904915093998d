// The buffers that CUPTI fills.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace headroom::cupti {

/// Buffers of 1 MiB up to a ceiling. All are zero when they are handed out, and most are there
/// before they are asked for: CUPTI asks in the middle of the program's launches, where making and
/// zeroing 4 MiB took 1.6 ms in traces of PyTorch's profiler ("Activity Buffer Request").
///
/// At the ceiling everyone gets the same scratch buffer, whose contents are thrown away and
/// counted: CUPTI before CUDA 12.9 crashes where it is refused one. It is zero for who gets it
/// alone; who gets it while others have it finds what they write.
class BufferPool {
 public:
  static constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
  static constexpr std::size_t kScratchBytes = std::size_t{256} << 10;
  static constexpr std::size_t kMaxBuffers = 4096;

  /// @param ceiling  in bytes; at least one buffer is made
  explicit BufferPool(std::size_t ceiling);
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// Never fails. `*size` is what fits.
  std::uint8_t* Request(std::size_t* size);

  /// Whether a buffer holds records that can be read; if not, `valid` bytes are counted as lost.
  bool Readable(const std::uint8_t* buffer, std::size_t valid);

  /// Takes a buffer back when it has been read, or need not be.
  void Return(std::uint8_t* buffer);

  /// Makes buffers until `count` are spare, or the ceiling is reached.
  void Prepare(std::size_t count);

  /// Bytes that were thrown away since the last call.
  std::int64_t TakeDiscarded() { return discarded_.exchange(0); }
  /// For an amount that could not be told.
  void AddDiscarded(std::int64_t bytes) { discarded_ += bytes; }

 private:
  std::uint8_t* Make();  ///< Null at the ceiling and without memory. REQUIRES: the lock is held.

  std::mutex mutex_;  ///< Of the next three. No CUPTI call is made under it.
  std::size_t made_ = 0, most_, spare_count_ = 0;
  std::uint8_t* spare_[kMaxBuffers];
  std::atomic<std::int64_t> discarded_ = 0;
  alignas(8) std::uint8_t scratch_[kScratchBytes];
};

}  // namespace headroom::cupti
