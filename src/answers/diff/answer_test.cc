#include "answers/diff/answer.h"

#include <gtest/gtest.h>

#include "ranks/test_ranks.h"

namespace headroom {
namespace diff_answer_test {

/// A trace of rank `rank` with a median step of `median_ms`.
ProfiledTrace Trace(const std::string& path, double median_ms,
                    std::optional<std::int64_t> rank = {}) {
  ProfiledTrace trace;
  trace.profile.paths = {path};
  trace.profile.steps = 10;
  trace.profile.median_ms = trace.profile.least_ms = trace.profile.most_ms = median_ms;
  trace.profile.runs.emplace_back();
  trace.timeline.path = path;
  trace.timeline.rank = rank;
  return trace;
}

JobProfile Joined(std::vector<ProfiledTrace> traces) {
  Result<JobProfile> job = JoinTraces(std::move(traces));
  EXPECT_TRUE(job.ok()) << job.status().message();
  return std::move(job).value();
}

TEST(JoinTraces, TracesOfOneRankAreRepeatedRuns) {
  const JobProfile job = Joined({Trace("a.json", 10), Trace("b.json", 20)});
  EXPECT_EQ(job.runs.size(), 2u);
  EXPECT_TRUE(job.ranks.empty());
  EXPECT_DOUBLE_EQ(job.median_ms, 15);
}

TEST(JoinTraces, FileNamesTellRanksIfNoTraceDoes) {
  EXPECT_EQ(Joined({Trace("rank0.json", 10), Trace("rank1.json", 12)}).ranks.size(), 2u);
  EXPECT_TRUE(Joined({Trace("rank0.json", 10), Trace("other.json", 12)}).ranks.empty());
  EXPECT_TRUE(Joined({Trace("rank0.json", 10, 3), Trace("rank1.json", 12, 3)}).ranks.empty())
      << "the traces say that they are of one rank";
}

TEST(JoinTraces, EachRunHasATraceOfEachRank) {
  const JobProfile job =
      Joined({Trace("a0", 10, 0), Trace("a1", 10, 1), Trace("b0", 20, 0), Trace("b1", 20, 1)});
  EXPECT_EQ(job.ranks.size(), 2u);
  EXPECT_EQ(job.runs.size(), 2u);
}

TEST(JoinTraces, RefusesTracesThatDoNotBelongTogether) {
  ProfiledTrace of_other_job = Trace("b", 10, 1);
  of_other_job.timeline.world_size = 8;
  ProfiledTrace of_job = Trace("a", 10, 0);
  of_job.timeline.world_size = 2;
  const struct {
    std::vector<ProfiledTrace> traces;
    const char* words;
  } kCases[] = {
      {{Trace("a", 10, 0), Trace("b", 10, 1), Trace("c", 10)}, "c does not state its rank"},
      {{of_job, of_other_job}, "the files are from jobs of 2 and of 8 ranks"},
      {{Trace("a", 10, 0), Trace("b", 10, 1), Trace("c", 10, 1)},
       "each run needs one trace of every rank, but the numbers of files differ (rank 0: 1, rank "
       "1: 2)"}};
  for (const auto& c : kCases) {
    const Result<JobProfile> job = JoinTraces(c.traces);
    ASSERT_FALSE(job.ok()) << c.words;
    EXPECT_EQ(job.status().code(), StatusCode::kUsage);
    EXPECT_EQ(job.status().message().rfind(c.words, 0), 0u) << job.status().message();
  }
}

}  // namespace diff_answer_test
}  // namespace headroom
