#include "base/page_buffer.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

namespace headroom {
namespace page_buffer_test {

bool HoldsNumbers(const PageBuffer<std::uint32_t>& buffer, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (buffer.data()[i] != i) return false;
  }
  return true;
}

TEST(PageBufferTest, ResizingKeepsWhatIsThere) {
  constexpr std::size_t kHuge = kHugePageBytes / sizeof(std::uint32_t);
  PageBuffer<std::uint32_t> buffer;
  std::size_t filled = 0;
  // The sizes grow from nothing to one page, within the page, and to whole and partial huge pages.
  // Then they shrink.
  for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, std::size_t{5000}, kHuge - 1,
                                 kHuge, kHuge + 1, 5 * kHuge + 7, 9 * kHuge}) {
    buffer.Resize(size);
    ASSERT_EQ(buffer.size(), size);
    for (; filled < size; ++filled) buffer.data()[filled] = static_cast<std::uint32_t>(filled);
    ASSERT_TRUE(HoldsNumbers(buffer, size)) << size;
  }
  for (const std::size_t size : {6 * kHuge + 1, kHuge, std::size_t{4096}, std::size_t{3}}) {
    buffer.Resize(size);
    ASSERT_EQ(buffer.size(), size);
    ASSERT_TRUE(HoldsNumbers(buffer, size)) << size;
  }
  buffer.Resize(0);
  EXPECT_EQ(buffer.data(), nullptr);
}

TEST(PageBufferTest, WhatIsLargeBeginsOnAHugePage) {
  const PageBuffer<char> mapped(3 * kHugePageBytes + 1);
  PageBuffer<char> grown(100);
  grown.Resize(kHugePageBytes + 1);
  for (const PageBuffer<char>* buffer : {&mapped, static_cast<const PageBuffer<char>*>(&grown)})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % kHugePageBytes, 0u);
}

TEST(PageBufferTest, PoolsGiveWhatTheyWereGiven) {
  PagePool pool;
  const std::size_t size = 3 * kHugePageBytes;
  PageBuffer<char> first(size, pool);
  first.data()[0] = 1, first.data()[size - 1] = 2;
  const char* const pages = first.data();
  first.GiveTo(pool);
  EXPECT_EQ(first.data(), nullptr);
  EXPECT_EQ(first.size(), 0u);
  PageBuffer<char> longer(size + kHugePageBytes, pool);
  EXPECT_NE(longer.data(), pages);
  longer.data()[size + kHugePageBytes - 1] = 3;
  PageBuffer<std::uint32_t> shorter(size / 8, pool);
  EXPECT_EQ(reinterpret_cast<const char*>(shorter.data()), pages);
  EXPECT_EQ(shorter.size(), size / 8);
  shorter.GiveTo(pool);
  PageBuffer<char> whole(size, pool);  // The pool returned the remaining pages to the system.
  EXPECT_NE(whole.data(), pages);
  whole.data()[size - 1] = 4;
  PageBuffer<char> none(0, pool);
  none.GiveTo(pool);
}

TEST(PageBufferTest, NoRoomChangesNothing) {
  PageBuffer<std::uint32_t> buffer(10);
  buffer.data()[9] = 5;
  EXPECT_THROW(buffer.Resize(std::numeric_limits<std::size_t>::max() / 16), std::bad_alloc);
  EXPECT_EQ(buffer.size(), 10u);
  EXPECT_EQ(buffer.data()[9], 5u);
}

}  // namespace page_buffer_test
}  // namespace headroom
