#include "store/column.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace headroom {
namespace column_test {

/// Rows in a column's first allocation. It then grows by half each time, and uses huge pages beyond
/// half a million rows.
constexpr std::size_t kRoom = 16384;

std::vector<std::int32_t> Numbers(std::size_t count) {
  std::vector<std::int32_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<std::int32_t>(i);
  return numbers;
}

TEST(ColumnTest, RowsAroundTheEndOfItsRoomAreKept) {
  for (const std::size_t rows : {std::size_t{0}, std::size_t{1}, kRoom - 1, kRoom, kRoom + 1,
                                 3 * kRoom, 3 * kRoom + 7, 100 * kRoom}) {
    const std::vector<std::int32_t> numbers = Numbers(rows);
    Column<std::int32_t> at_once, one_by_one;
    at_once.AppendAll(numbers);
    for (const std::int32_t number : numbers) one_by_one.Append(number);
    for (Column<std::int32_t>* column : {&at_once, &one_by_one}) {
      ASSERT_EQ(column->size(), rows);
      for (std::size_t i = 0; i < rows; i += i + 1 < rows ? kRoom - 1 : 1)
        EXPECT_EQ(column->Pending(i), numbers[i]) << i;
      column->Freeze();
      EXPECT_TRUE(std::ranges::equal(column->values(), numbers)) << rows;
    }
  }
}

TEST(ColumnTest, AppendingMayFillItsRoomAndGoOn) {
  Column<std::int32_t> column;
  const std::vector<std::int32_t> numbers = Numbers(2 * kRoom + 1);
  const std::span<const std::int32_t> all(numbers);
  column.AppendAll(all.first(kRoom));
  column.AppendAll(all.subspan(kRoom, kRoom - 1));
  column.AppendAll({});
  column.AppendAll(all.last(2));
  column.Freeze();
  EXPECT_TRUE(std::ranges::equal(column.values(), numbers));
}

TEST(ColumnTest, RowsThatAreAlikeTakeNoMemoryUntilOneDiffers) {
  for (const std::int32_t alike : {0, -7}) {
    Column<std::int32_t> column, mended, at_once;
    for (std::size_t i = 0; i < 3 * kRoom; ++i) {
      column.Append(alike);
      mended.Append(alike);
    }
    at_once.AppendAll(std::vector<std::int32_t>(3 * kRoom, alike));
    EXPECT_EQ(column.MemoryBytes(), 0u);
    EXPECT_EQ(at_once.MemoryBytes(), 0u);
    EXPECT_EQ(column.Pending(3 * kRoom - 1), alike);
    std::vector<std::int32_t> numbers(3 * kRoom, alike);
    numbers[kRoom] = 5;
    mended.MutablePending(kRoom) = 5;
    mended.Freeze();
    EXPECT_TRUE(std::ranges::equal(mended.values(), numbers));
    numbers[kRoom] = alike;
    numbers.insert(numbers.end(), {alike + 1, alike});
    column.Append(alike + 1);
    column.Append(alike);
    at_once.AppendAll(std::vector<std::int32_t>{alike + 1, alike});
    for (Column<std::int32_t>* each : {&column, &at_once}) {
      each->Freeze();
      EXPECT_TRUE(std::ranges::equal(each->values(), numbers));
      EXPECT_EQ(each->MemoryBytes(), numbers.size() * sizeof(std::int32_t));
    }
  }
}

TEST(ColumnTest, ZerosOfBothSignsAreNotAlike) {
  Column<double> one_by_one, at_once;
  const std::vector<double> values = {0.0, -0.0, 0.0};
  for (const double value : values) one_by_one.Append(value);
  at_once.AppendAll(values);
  for (Column<double>* column : {&one_by_one, &at_once}) {
    column->Freeze();
    EXPECT_FALSE(std::signbit((*column)[0]));
    EXPECT_TRUE(std::signbit((*column)[1]));
    EXPECT_FALSE(std::signbit((*column)[2]));
  }
}

TEST(ColumnTest, RowsThatAreAllAlikeFreezeInAnyOrder) {
  Column<std::int32_t> as_appended, ordered;
  for (Column<std::int32_t>* column : {&as_appended, &ordered})
    column->AppendAll(std::vector<std::int32_t>{4, 4, 4});
  as_appended.Freeze();
  PagePool pool;
  ordered.Freeze(std::vector<std::uint32_t>{2, 0}, pool);
  EXPECT_TRUE(std::ranges::equal(as_appended.values(), std::vector<std::int32_t>{4, 4, 4}));
  EXPECT_TRUE(std::ranges::equal(ordered.values(), std::vector<std::int32_t>{4, 4}));
}

TEST(ColumnTest, FreezingTakesRowsInTheOrderGivenAndDropsOthers) {
  Column<std::int32_t> column;
  column.AppendAll(Numbers(kRoom + 2));
  column.MutablePending(kRoom) = -1;
  const auto last = static_cast<std::uint32_t>(kRoom);
  PagePool pool;
  column.Freeze(std::vector<std::uint32_t>{last + 1, 0, last, last - 1}, pool);
  EXPECT_TRUE(std::ranges::equal(
      column.values(), std::vector<std::int32_t>{static_cast<std::int32_t>(kRoom) + 1, 0, -1,
                                                 static_cast<std::int32_t>(kRoom) - 1}));
  EXPECT_EQ(column.size(), 4u);
  EXPECT_EQ(column.MemoryBytes(), 4 * sizeof(std::int32_t));
}

TEST(ColumnTest, DropsPendingRowsWhetherStoredOrAlike) {
  Column<int> stored, alike;
  for (int i = 0; i < 5; ++i) {
    stored.Append(i);
    alike.Append(7);
  }
  for (Column<int>* column : {&stored, &alike})
    column->DropPending([](std::size_t row) { return row == 0 || row == 3; });
  stored.Append(9);
  alike.Append(7);
  stored.Freeze();
  alike.Freeze();
  EXPECT_TRUE(std::ranges::equal(stored.values(), std::vector<int>{1, 2, 4, 9}));
  EXPECT_TRUE(std::ranges::equal(alike.values(), std::vector<int>{7, 7, 7, 7}));
}

TEST(ColumnTest, AFrozenColumnTakesMoreRowsAtItsEnd) {
  Column<int> stored, alike;
  for (int i = 0; i < 3; ++i) {
    stored.Append(i);
    alike.Append(7);
  }
  stored.Freeze();
  alike.Freeze();
  for (Column<int>* column : {&stored, &alike}) {
    column->Extend({});
    column->Extend(std::vector<int>{8, 9});
  }
  EXPECT_TRUE(std::ranges::equal(stored.values(), std::vector<int>{0, 1, 2, 8, 9}));
  EXPECT_TRUE(std::ranges::equal(alike.values(), std::vector<int>{7, 7, 7, 8, 9}));
}

}  // namespace column_test

}  // namespace headroom
