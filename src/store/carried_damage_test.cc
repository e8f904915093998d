#include "store/carried_damage.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace headroom {
namespace carried_damage_test {

TEST(CarriedDamage, IsWhatNoCopyShows) {
  ImportLog log;
  EXPECT_EQ(CarriedMembers(log), "");
  log.Add(ImportIssue::kTruncated);
  log.Add(ImportIssue::kLostEvent, 5, "", 3);
  log.Add(ImportIssue::kOutOfOrder);   // Repaired in copies.
  log.Add(ImportIssue::kOverlapping);  // Found again in copies.
  EXPECT_EQ(CarriedMembers(log), R"("truncated":1,"lost-event":3)");
}

TEST(CarriedDamage, ReadsBack) {
  ImportLog log;
  AddCarried("lost-event", 3, log);
  EXPECT_EQ(log.Count(ImportIssue::kLostEvent), 3);
  ASSERT_EQ(log.rows().size(), 1u);
  EXPECT_EQ(log.rows()[0].offset, -1);
  EXPECT_EQ(CarriedMembers(log), R"("lost-event":3)");
}

TEST(CarriedDamage, TakesNothingElse) {
  ImportLog log;
  AddCarried("lost-event", 0, log);
  AddCarried("lost-event", -4, log);
  AddCarried("lost-event", INT64_MAX, log);
  AddCarried("out-of-order", 1, log);
  AddCarried("overlapping-spans", 1, log);
  AddCarried("no such issue", 1, log);
  EXPECT_TRUE(log.empty());
}

TEST(CarriedDamage, GoesOnWithItsPlaces) {
  ImportLog from, to;
  for (int i = 0; i < 40; ++i) from.Add(ImportIssue::kBadTime, i, "why");
  from.Add(ImportIssue::kUnclosed);
  AddCarried(from, to);
  EXPECT_EQ(to.Count(ImportIssue::kBadTime), 40);
  EXPECT_EQ(to.Count(ImportIssue::kUnclosed), 0);
  ASSERT_EQ(to.rows().size(), ImportLog::kRowsKeptPerIssue);
  EXPECT_EQ(to.rows()[1].offset, 1);
  EXPECT_EQ(to.rows()[1].detail, "why");
}

}  // namespace carried_damage_test
}  // namespace headroom
