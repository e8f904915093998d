#include "whatif/memory/caching_allocator.h"

#include <gtest/gtest.h>

namespace headroom {
namespace caching_allocator_test {

constexpr std::int64_t kMiB = 1 << 20;

TEST(CachingAllocatorTest, SegmentsComeInFixedSizes) {
  CachingAllocator allocator;
  allocator.Allocate(100);
  EXPECT_EQ(allocator.reserved(), 2 * kMiB);  // One segment for all small allocations.
  allocator.Allocate(kMiB);
  EXPECT_EQ(allocator.reserved(), 2 * kMiB);
  allocator.Allocate(kMiB);  // Less than 1 MiB remains.
  EXPECT_EQ(allocator.reserved(), 4 * kMiB);
  allocator.Allocate(kMiB + 1);
  EXPECT_EQ(allocator.reserved(), 24 * kMiB);
  allocator.Allocate(18 * kMiB);  // Uses the remainder of the 20 MiB.
  EXPECT_EQ(allocator.reserved(), 24 * kMiB);
  allocator.Allocate(11 * kMiB);
  EXPECT_EQ(allocator.reserved(), 36 * kMiB);
}

TEST(CachingAllocatorTest, NeighboursThatAreFreeBecomeOne) {
  CachingAllocator allocator;
  const auto first = allocator.Allocate(30 * kMiB);
  allocator.Free(first);
  const auto a = allocator.Allocate(10 * kMiB), b = allocator.Allocate(10 * kMiB),
             c = allocator.Allocate(10 * kMiB);
  EXPECT_EQ(allocator.reserved(), 30 * kMiB);
  allocator.Free(a);
  allocator.Free(c);
  EXPECT_EQ(allocator.reserved(), 30 * kMiB);
  allocator.Free(b);
  allocator.Allocate(30 * kMiB);
  EXPECT_EQ(allocator.reserved(), 30 * kMiB);
}

TEST(CachingAllocatorTest, PiecesApartDoNotServeALargeOne) {
  CachingAllocator allocator;
  const auto first = allocator.Allocate(30 * kMiB);
  allocator.Free(first);
  const auto a = allocator.Allocate(10 * kMiB);
  allocator.Allocate(10 * kMiB);
  const auto c = allocator.Allocate(10 * kMiB);
  allocator.Free(a);
  allocator.Free(c);
  allocator.Allocate(20 * kMiB);
  EXPECT_EQ(allocator.reserved(), 50 * kMiB);
}

TEST(CachingAllocatorTest, ABestFitIsTaken) {
  CachingAllocator allocator;
  const auto large = allocator.Allocate(40 * kMiB), close = allocator.Allocate(20 * kMiB);
  allocator.Free(large);
  allocator.Free(close);
  allocator.Allocate(20 * kMiB);
  allocator.Allocate(40 * kMiB);
  EXPECT_EQ(allocator.reserved(), 60 * kMiB);
}

}  // namespace caching_allocator_test
}  // namespace headroom
