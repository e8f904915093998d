#include "query/table_scan.h"

#include <gtest/gtest.h>

#include "store/store_builder.h"

namespace headroom {
namespace table_scan_test {

constexpr std::int64_t kMain = 1, kOther = 2;

std::unique_ptr<TraceStore> TwoThreads() {
  StoreBuilder b;
  for (int i = 0; i < 3000; ++i) {
    b.Op(i % 3 == 0 ? "aten::mm" : "aten::add", kMain, 10 * i, 5);
    b.Op("aten::mul", kOther, 10 * i + 3, 5);
  }
  return b.Build();
}

class TableScanTest : public testing::Test {
 protected:
  std::unique_ptr<TraceStore> store_ = TwoThreads();
  TraceTables tables_{*store_};
  std::size_t index_ = 4;  // host_events
  TableIndexes indexes_{tables_, index_};

  const Table& table() { return tables_.table(index_); }
  std::vector<std::uint32_t> Rows(const std::vector<KeyCondition>& conditions,
                                  ScanOrder order = {}) {
    TableScan scan(table(), indexes_);
    scan.Start(conditions, order);
    std::vector<std::uint32_t> rows;
    for (; !scan.AtEnd(); scan.Next()) rows.push_back(scan.row());
    return rows;
  }
};

TEST_F(TableScanTest, WalksAllRowsBothWays) {
  ASSERT_EQ(table().name, "host_events");
  std::vector<std::uint32_t> rows = Rows({});
  ASSERT_EQ(rows.size(), 6000u);
  EXPECT_EQ(rows.front(), 0u);
  std::reverse(rows.begin(), rows.end());
  EXPECT_EQ(Rows({}, {.reverse = true}), rows);
}

TEST_F(TableScanTest, FindsARangeOfTimeOnEachThread) {
  const std::size_t start = table().Find("start_ns");
  // From 100 us to 119 us, one thread has the starts 100 and 110, the other 103 and 113.
  const auto rows = Rows({{.column = start, .low = 100'000, .high = 119'000}});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(table().Key(start, rows[0]), 100'000);
  EXPECT_EQ(table().Key(start, rows[3]), 113'000);
  const std::int64_t thread = table().Key(table().Find("thread_id"), rows[3]);
  EXPECT_EQ(Rows({{.column = start, .low = 100'000, .high = 119'000},
                  {.column = table().Find("thread_id"), .low = thread, .high = thread}})
                .size(),
            2u);
}

TEST_F(TableScanTest, ALookupGivesTheSameWithAnIndex) {
  const std::size_t name = table().Find("name");
  const std::int64_t mm = store_->strings.Find("aten::mm").index();
  const std::vector<KeyCondition> wanted = {{.column = name, .low = mm, .high = mm}};
  const auto walked = Rows(wanted);
  EXPECT_EQ(walked.size(), 1000u);
  for (int again = 0; again < 2; ++again) EXPECT_EQ(Rows(wanted), walked);
}

TEST_F(TableScanTest, AnIndexGivesTextInOrderOfItsBytes) {
  const std::size_t name = table().Find("name");
  const auto rows = Rows({}, {.column = name});
  ASSERT_EQ(rows.size(), 6000u);
  std::string_view before;
  for (const std::uint32_t row : rows) {
    const std::string_view text = store_->Text(store_->host_events.name[row]);
    EXPECT_LE(before, text);
    before = text;
  }
  EXPECT_EQ(store_->Text(store_->host_events.name[rows.front()]), "aten::add");
}

TEST_F(TableScanTest, AListOfNothingIsNoRow) {
  EXPECT_TRUE(Rows({{.column = kIdColumn, .any_of = std::vector<std::int64_t>{}}}).empty());
  EXPECT_EQ(Rows({{.column = kIdColumn, .any_of = std::vector<std::int64_t>{7, 9, 70'000}}}),
            (std::vector<std::uint32_t>{7, 9}));
}

}  // namespace table_scan_test
}  // namespace headroom
