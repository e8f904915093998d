#include "store/import_log.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace headroom {
namespace import_log_test {

TEST(ImportLogTest, CountsAllAndKeepsTheFirstOfEachKind) {
  ImportLog log;
  EXPECT_TRUE(log.empty());
  for (int i = 0; i < 100; ++i) log.Add(ImportIssue::kLostEvent, i);
  log.Add(ImportIssue::kBadTime, 1000, "missing");
  EXPECT_EQ(log.Count(ImportIssue::kLostEvent), 100);
  EXPECT_EQ(log.Count(ImportIssue::kBadTime), 1);
  EXPECT_EQ(log.Count(ImportIssue::kTruncated), 0);
  ASSERT_EQ(log.rows().size(), ImportLog::kRowsKeptPerIssue + 1);
  EXPECT_EQ(log.rows().front().offset, 0);
  EXPECT_EQ(log.rows().back().detail, "missing");
}

TEST(ImportLogTest, MergedLogsEqualOneLog) {
  ImportLog whole, first, second;
  for (int i = 0; i < 60; ++i) {
    const ImportIssue issue = i % 3 == 0 ? ImportIssue::kBadTime : ImportIssue::kLostEvent;
    whole.Add(issue, i, std::to_string(i));
    (i < 10 ? first : second).Add(issue, i, std::to_string(i));
  }
  ImportLog merged;
  merged.Merge(first);
  merged.Merge(second);
  EXPECT_EQ(merged.Count(ImportIssue::kBadTime), whole.Count(ImportIssue::kBadTime));
  EXPECT_EQ(merged.Count(ImportIssue::kLostEvent), whole.Count(ImportIssue::kLostEvent));
  ASSERT_EQ(merged.rows().size(), whole.rows().size());
  for (std::size_t i = 0; i < whole.rows().size(); ++i) {
    EXPECT_EQ(merged.rows()[i].offset, whole.rows()[i].offset);
    EXPECT_EQ(merged.rows()[i].detail, whole.rows()[i].detail);
  }
}

TEST(ImportLogTest, ACountMayStandForMany) {
  ImportLog log;
  log.Add(ImportIssue::kOverlapping, -1, {}, 7);
  EXPECT_EQ(log.Count(ImportIssue::kOverlapping), 7);
  EXPECT_EQ(log.rows().size(), 1u);
}

TEST(ImportLogTest, EveryIssueHasItsOwnCodeAndASentence) {
  std::set<std::string_view> codes;
  for (std::size_t i = 0; i < kImportIssueCount; ++i) {
    const ImportIssueDoc& doc = DocOf(static_cast<ImportIssue>(i));
    EXPECT_TRUE(codes.insert(doc.code).second) << doc.code;
    EXPECT_FALSE(doc.sentence.empty()) << doc.code;
    EXPECT_EQ(doc.code.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos)
        << doc.code;
  }
}

}  // namespace import_log_test
}  // namespace headroom
