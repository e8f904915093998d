#include "answers/report/rank_set.h"

#include <gtest/gtest.h>

#include "ranks/test_ranks.h"

namespace headroom {
namespace rank_set_test {

/// Reports of `ranks` files. Only the file names state the ranks.
std::vector<TraceReport> FilesOf(std::size_t ranks) {
  std::vector<TraceReport> files(ranks);
  for (std::size_t i = 0; i < ranks; ++i)
    files[i].input.path = "rank" + std::to_string(ranks - 1 - i) + ".json";
  return files;
}

/// Three steps of 1000 us with two all-reduces. The rank of the second file is 100 us late.
std::vector<RankTimeline> SecondIsLate() {
  RankBuilder b(2);
  for (int step = 0; step < 3; ++step) {
    const double at = 1000.0 * step;
    b.Step(step, at, 1000);
    for (const double begin : {at + 100, at + 500}) b.AllReduce({begin, begin + 100}, begin + 200);
  }
  return b.ranks();
}

TEST(CompareFiles, TheFileOfTheLateRankHasTheFinding) {
  std::vector<TraceReport> files = FilesOf(2);
  const Result<JobRanks> job = CompareFiles(files, SecondIsLate(), {});
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(files[0].input.rank, 1) << "by its name";
  EXPECT_EQ(files[1].input.rank, 0);
  EXPECT_TRUE(files[0].findings.empty());
  ASSERT_EQ(files[1].findings.size(), 1u);
  EXPECT_EQ(files[1].findings[0].title, "Rank 0 holds the others up: 0.600 ms of 3 steps");
}

TEST(CompareFiles, OneFileIsComparedWithNothing) {
  std::vector<TraceReport> files = FilesOf(1);
  const Result<JobRanks> job = CompareFiles(files, {}, {});
  ASSERT_TRUE(job.ok());
  EXPECT_TRUE(job.value().ranks.empty() && files[0].findings.empty());
  EXPECT_FALSE(files[0].input.rank.has_value());
}

TEST(CompareFiles, FilesOfUnrelatedJobsAreNoRanks) {
  std::vector<TraceReport> files(3);
  for (std::size_t i = 0; i < 3; ++i) {
    files[i].input.path = "job" + std::to_string(i) + ".json";
    files[i].steps.p50 = DurationNs(i == 1 ? 9'000'000 : 1'000'000);
  }
  const std::vector<RankTimeline> alone(3);
  std::vector<TraceReport> unrelated = files;
  const Result<JobRanks> job = CompareFiles(unrelated, alone, {});
  ASSERT_TRUE(job.ok());
  ASSERT_EQ(unrelated.size(), 1u);
  EXPECT_EQ(unrelated[0].input.path, "job1.json");
  EXPECT_FALSE(unrelated[0].input.rank.has_value());
  ASSERT_EQ(job.value().issues.size(), 1u);
  EXPECT_EQ(job.value().issues[0].issue, ImportIssue::kOtherJob);
  EXPECT_EQ(job.value().issues[0].count, 3);

  std::vector<TraceReport> other_kernels(2);
  for (std::size_t i = 0; i < 2; ++i) {
    other_kernels[i].input.path = "job" + std::to_string(i) + ".json";
    other_kernels[i].kernels.resize(1);
    other_kernels[i].kernels[0].name = i == 0 ? "gemm" : "conv";
    other_kernels[i].kernels[0].total = DurationNs(1'000'000);
  }
  const Result<JobRanks> first = CompareFiles(other_kernels, {}, {});
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(other_kernels.size(), 1u);
  EXPECT_NE(first.value().issues[0].detail.find("the first of 2"), std::string::npos) << "no steps";

  std::vector<RankTimeline> of_job = alone;
  of_job[2].world_size = 3;
  EXPECT_TRUE(CompareFiles(files, of_job, {}).ok());
  EXPECT_EQ(files.size(), 3u) << "one file states the size of its job";
  for (TraceReport& file : files) {
    file.input.rank.reset();
    file.steps.p50 = DurationNs(1'000'000);
  }
  EXPECT_TRUE(CompareFiles(files, alone, {}).ok());
  EXPECT_EQ(files.size(), 3u) << "ranks that step together";
}

TEST(CompareFiles, RefusesTwoFilesOfOneRank) {
  std::vector<TraceReport> files = FilesOf(2);
  files[0].input.rank = files[1].input.rank = 3;
  EXPECT_EQ(CompareFiles(files, SecondIsLate(), {}).status().code(), StatusCode::kUsage);
}

TEST(CompareFiles, NamesFiveOfTheFilesThatAreLeftOut) {
  std::vector<TraceReport> files = FilesOf(1);
  const Result<JobRanks> job = CompareFiles(
      files, {}, {.unreadable = {"a", "b", "c", "d", "e", "f", "g"}, .not_traces = {}});
  ASSERT_TRUE(job.ok());
  ASSERT_EQ(job.value().issues.size(), 1u);
  EXPECT_EQ(job.value().issues[0].count, 7);
  EXPECT_EQ(job.value().issues[0].detail, "a; b; c; d; e; and 2 more");
}

TEST(AddIssues, StayInOrderOfSeverity) {
  JobRanks job;
  job.issues = {{.issue = ImportIssue::kUnreadableFile, .count = 1, .detail = "x"},
                {.issue = ImportIssue::kNotATrace, .count = 2, .detail = "y"}};
  TraceReport report;
  report.health.issues = {{.issue = ImportIssue::kTruncated, .count = 1, .detail = "", .voids = {}},
                          {.issue = ImportIssue::kNoGpu, .count = 1, .detail = "", .voids = {}}};
  AddIssues(job, report);
  ASSERT_EQ(report.health.issues.size(), 4u);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_GE(DocOf(report.health.issues[i - 1].issue).severity,
              DocOf(report.health.issues[i].issue).severity)
        << i;
  }
}

}  // namespace rank_set_test
}  // namespace headroom
