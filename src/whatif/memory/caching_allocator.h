// Models how PyTorch's caching allocator takes memory from the driver and splits it
// (c10/cuda/CUDACachingAllocator.cpp with default settings). Gives the memory that a sequence of
// allocations reserves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace headroom {

class CachingAllocator {
 public:
  using Block = std::size_t;

  /// REQUIRES: bytes >= 0.
  Block Allocate(double bytes);
  /// REQUIRES: `block` is allocated and not yet freed.
  void Free(Block block);

  /// Bytes taken from the driver. The allocator returns nothing to the driver.
  std::int64_t reserved() const { return reserved_; }

 private:
  static constexpr Block kNone = static_cast<Block>(-1);
  /// A piece of a segment, linked to its neighbours in memory.
  struct Piece {
    std::int64_t bytes = 0;
    Block before = kNone, after = kNone;
    bool free = false;
    bool small = false;  ///< True in a segment for small allocations.
  };
  using FreePieces = std::set<std::pair<std::int64_t, Block>>;

  FreePieces& FreeOf(const Piece& piece) { return piece.small ? small_ : large_; }
  Block TakeSegment(std::int64_t bytes, bool small);
  void Split(Block block, std::int64_t bytes);
  void Merge(Block first, Block second);

  std::vector<Piece> pieces_;  ///< Merged pieces stay in the list, unused.
  FreePieces small_, large_;   ///< The smallest first, then the oldest.
  std::int64_t reserved_ = 0;
};

}  // namespace headroom
