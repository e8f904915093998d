#include "store/column.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace headroom {
namespace {

constexpr std::size_t kPage = Column<std::int32_t>::kPageRows;

std::vector<std::int32_t> Numbers(std::size_t count) {
  std::vector<std::int32_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::int32_t>(i);
  return numbers;
}

TEST(ColumnTest, RowsAroundPageBoundariesAreKept) {
  for (const std::size_t rows :
       {std::size_t{0}, std::size_t{1}, kPage - 1, kPage, kPage + 1, 3 * kPage, 3 * kPage + 7}) {
    const std::vector<std::int32_t> numbers = Numbers(rows);
    Column<std::int32_t> at_once, one_by_one;
    at_once.AppendAll(numbers);
    for (const std::int32_t number : numbers) one_by_one.Append(number);
    for (Column<std::int32_t>* column : {&at_once, &one_by_one}) {
      ASSERT_EQ(column->size(), rows);
      for (std::size_t i = 0; i < rows; i += i + 1 < rows ? kPage - 1 : 1)
        EXPECT_EQ(column->Pending(i), numbers[i]) << i;
      column->Freeze();
      EXPECT_TRUE(std::ranges::equal(column->values(), numbers)) << rows;
    }
  }
}

TEST(ColumnTest, AppendingMayEndOnAPageBoundaryAndGoOn) {
  Column<std::int32_t> column;
  const std::vector<std::int32_t> numbers = Numbers(2 * kPage + 1);
  const std::span<const std::int32_t> all(numbers);
  column.AppendAll(all.first(kPage));
  column.AppendAll(all.subspan(kPage, kPage - 1));
  column.AppendAll({});
  column.AppendAll(all.last(2));
  column.Freeze();
  EXPECT_TRUE(std::ranges::equal(column.values(), numbers));
}

TEST(ColumnTest, FreezingTakesRowsInTheOrderGivenAndDropsOthers) {
  Column<std::int32_t> column;
  column.AppendAll(Numbers(kPage + 2));
  column.MutablePending(kPage) = -1;
  const auto last = static_cast<std::uint32_t>(kPage);
  column.Freeze(std::vector<std::uint32_t>{last + 1, 0, last, last - 1});
  EXPECT_TRUE(std::ranges::equal(
      column.values(), std::vector<std::int32_t>{static_cast<std::int32_t>(kPage) + 1, 0, -1,
                                                 static_cast<std::int32_t>(kPage) - 1}));
  EXPECT_EQ(column.size(), 4u);
  EXPECT_EQ(column.MemoryBytes(), 4 * sizeof(std::int32_t));
}

}  // namespace
}  // namespace headroom
