// The rules by which PyTorch's caching allocator takes memory from the driver and cuts it up
// (c10/cuda/CUDACachingAllocator.cpp, with its default settings), to tell how much a run of
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
  /// REQUIRES: allocated and not freed since.
  void Free(Block block);

  /// Bytes taken from the driver. Nothing is given back.
  std::int64_t reserved() const { return reserved_; }

 private:
  static constexpr Block kNone = static_cast<Block>(-1);
  /// A piece of a segment. Neighbours lie next to each other in memory.
  struct Piece {
    std::int64_t bytes = 0;
    Block before = kNone, after = kNone;
    bool free = false;
    bool small = false;  ///< In a segment for small allocations.
  };
  using FreePieces = std::set<std::pair<std::int64_t, Block>>;

  FreePieces& FreeOf(const Piece& piece) { return piece.small ? small_ : large_; }
  Block TakeSegment(std::int64_t bytes, bool small);
  void Split(Block block, std::int64_t bytes);
  void Merge(Block first, Block second);

  std::vector<Piece> pieces_;  ///< Merged ones stay in the list, unused.
  FreePieces small_, large_;   ///< The smallest first, then the oldest.
  std::int64_t reserved_ = 0;
};

}  // namespace headroom
