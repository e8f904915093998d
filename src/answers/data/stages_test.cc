#include "answers/data/stages.h"

#include <gtest/gtest.h>

#include <string>

namespace headroom {
namespace data_stages_test {

constexpr DurationNs Ms(std::int64_t ms) { return DurationNs(ms * 1'000'000); }

/// Two batches of four samples and 50 ms each. Of these 100 ms, a stage takes 40 ms and collation
/// 10 ms. Sending takes 5 ms more.
LoaderProfile TwoBatches() {
  LoaderProfile loader;
  for (const std::int64_t start : {0, 100}) {
    LoaderBatch batch;
    batch.span = {TimeNs(start * 1'000'000), TimeNs((start + 50) * 1'000'000)};
    batch.sample_count = 4;
    loader.batches.push_back(batch);
  }
  loader.stages = {
      {.name = "decode", .is_stage = true, .count = 8, .total = Ms(45), .own = Ms(40)},
      {.name = "collate", .is_stage = false, .count = 2, .total = Ms(10), .own = Ms(10)},
      {.name = "batch", .is_stage = false, .count = 2, .total = Ms(100), .own = Ms(3)}};
  loader.sending = Ms(5);
  return loader;
}

TEST(StageRows, AreInOrderOfCostAndShareAllTime) {
  const std::vector<StageRow> rows = StageRows(TwoBatches());
  const struct {
    const char *name, *kind;
    std::int64_t own_ms;
  } kExpected[] = {
      {"", "batch", 50}, {"decode", "stage", 40}, {"", "collate", 10}, {"", "send", 5}};
  ASSERT_EQ(rows.size(), std::size(kExpected));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].name, kExpected[i].name) << i;
    EXPECT_EQ(rows[i].kind, kExpected[i].kind) << i;
    EXPECT_EQ(rows[i].own, Ms(kExpected[i].own_ms)) << i;
    EXPECT_DOUBLE_EQ(rows[i].per_sample_us, static_cast<double>(kExpected[i].own_ms) * 1000 / 8);
    EXPECT_DOUBLE_EQ(rows[i].share_pct, static_cast<double>(kExpected[i].own_ms) * 100 / 105);
  }
  EXPECT_EQ(rows[1].total, Ms(45));
}

TEST(StageRows, StagesOfBatchesThatRaisedLeaveNothingOver) {
  LoaderProfile loader = TwoBatches();
  loader.batches.clear();
  const std::vector<StageRow> rows = StageRows(loader);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "decode");
  EXPECT_DOUBLE_EQ(rows[0].per_sample_us, 40'000);
}

TEST(StageRows, NothingRecordedHasNoRows) { EXPECT_TRUE(StageRows({}).empty()); }

TEST(SpeedupOf, IsBySamplesOrElseBySteps) {
  LoadingModel recorded;
  recorded.period = Ms(100);
  recorded.batch_size = 8;  // 80 samples per second.
  LoadingOutcome outcome;
  outcome.mid_ms = 50;
  outcome.samples_per_s = 240;
  EXPECT_DOUBLE_EQ(SpeedupOf(outcome, recorded), 3);
  recorded.batch_size = 0;
  EXPECT_DOUBLE_EQ(SpeedupOf(outcome, recorded), 2);
}

}  // namespace data_stages_test
}  // namespace headroom
