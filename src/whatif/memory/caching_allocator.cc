#include "whatif/memory/caching_allocator.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

// PyTorch's names of these constants without the leading "k".
constexpr std::int64_t kMinBlockSize = 512, kSmallSize = 1 << 20, kSmallBuffer = 2 << 20,
                       kLargeBuffer = 20 << 20, kMinLargeAlloc = 10 << 20, kRoundLarge = 2 << 20;

std::int64_t RoundUp(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

std::int64_t SegmentFor(std::int64_t bytes) {
  if (bytes <= kSmallSize) return kSmallBuffer;
  return bytes < kMinLargeAlloc ? kLargeBuffer : RoundUp(bytes, kRoundLarge);
}

}  // namespace

CachingAllocator::Block CachingAllocator::Allocate(double bytes) {
  const std::int64_t size =
      std::max(kMinBlockSize, RoundUp(static_cast<std::int64_t>(std::ceil(bytes)), kMinBlockSize));
  const bool small = size <= kSmallSize;
  FreePieces& free = small ? small_ : large_;
  const auto fit = free.lower_bound({size, 0});
  Block block = kNone;
  if (fit == free.end()) {
    block = TakeSegment(SegmentFor(size), small);
  } else {
    block = fit->second;
    free.erase(fit);
    pieces_[block].free = false;
  }
  const std::int64_t left = pieces_[block].bytes - size;
  if (small ? left >= kMinBlockSize : left > kSmallSize) Split(block, size);
  return block;
}

void CachingAllocator::Free(Block block) {
  const Block before = pieces_[block].before, after = pieces_[block].after;
  if (after != kNone && pieces_[after].free) Merge(block, after);
  if (before != kNone && pieces_[before].free) {
    Merge(before, block);
    block = before;
  }
  pieces_[block].free = true;
  FreeOf(pieces_[block]).insert({pieces_[block].bytes, block});
}

CachingAllocator::Block CachingAllocator::TakeSegment(std::int64_t bytes, bool small) {
  reserved_ += bytes;
  pieces_.push_back({.bytes = bytes, .small = small});
  return pieces_.size() - 1;
}

/// Frees the remainder of the block.
void CachingAllocator::Split(Block block, std::int64_t bytes) {
  const Block rest = pieces_.size();
  pieces_.push_back({.bytes = pieces_[block].bytes - bytes,
                     .before = block,
                     .after = pieces_[block].after,
                     .free = true,
                     .small = pieces_[block].small});
  if (pieces_[block].after != kNone) pieces_[pieces_[block].after].before = rest;
  pieces_[block].after = rest;
  pieces_[block].bytes = bytes;
  FreeOf(pieces_[rest]).insert({pieces_[rest].bytes, rest});
}

/// Merges the second neighbour into the first. Removes both from the free lists.
void CachingAllocator::Merge(Block first, Block second) {
  for (const Block block : {first, second}) {
    if (pieces_[block].free) FreeOf(pieces_[block]).erase({pieces_[block].bytes, block});
  }
  pieces_[first].bytes += pieces_[second].bytes;
  pieces_[first].after = pieces_[second].after;
  if (pieces_[second].after != kNone) pieces_[pieces_[second].after].before = first;
  pieces_[first].free = pieces_[second].free = false;
}

}  // namespace headroom
