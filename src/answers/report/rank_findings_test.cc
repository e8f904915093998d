#include "answers/report/rank_findings.h"

#include <gtest/gtest.h>

#include "ranks/test_ranks.h"

namespace headroom {
namespace rank_findings_test {

/// Three steps of 1000 us with two all-reduces each. The ranks in `late` arrive 100 us late.
JobRanks JobOf(const std::vector<std::size_t>& late) {
  RankBuilder b(3);
  for (std::size_t step = 0; step < 3; ++step) {
    const double at = 1000.0 * static_cast<double>(step);
    b.Step(static_cast<std::int64_t>(step), at, 1000);
    for (const double begin : {at + 100, at + 500}) {
      std::vector<double> arrivals(3, begin);
      arrivals[late[step % late.size()]] += 100;
      b.AllReduce(arrivals, begin + 200);
    }
  }
  return AnalyzeJobRanks(b.ranks());
}

TEST(StragglerFinding, TheOneThatIsLateInEachStep) {
  const std::optional<RankFinding> found = FindStraggler(JobOf({1}));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->rank, 1u);
  EXPECT_EQ(found->finding.title, "Rank 1 holds the others up: 0.600 ms of 3 steps");
  EXPECT_NEAR(*found->finding.share_pct, 20, 0.1);
  EXPECT_NEAR(found->finding.saves_ms->mid, 0.2, 1e-6);
  EXPECT_EQ(found->finding.figure, "0.600 ms");
  EXPECT_TRUE(found->finding.of_set);
}

TEST(StragglerFinding, AnotherOneEachTime) {
  const std::optional<RankFinding> found = FindStraggler(JobOf({0, 1, 2}));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->finding.title, "A different rank is last each time: 0.600 ms of 3 steps");
}

TEST(StragglerFinding, NoneWhereNobodyIsLate) {
  RankBuilder b(2);
  b.Step(0, 0, 1000).AllReduce({100, 100}, 200).AllReduce({300, 300}, 400);
  b.AllReduce({500, 500}, 600);
  EXPECT_FALSE(FindStraggler(AnalyzeJobRanks(b.ranks())).has_value());
}

/// A pipeline of two stages, which compute 12 ms and `second_computes` per step of 16 ms.
JobRanks PipelineOf(DurationNs second_computes) {
  JobRanks job;
  job.ranks.resize(2);
  job.ranks[1].rank = 1;
  const DurationNs step(16'000'000), first(12'000'000);
  Pipeline pipeline;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const DurationNs computing = rank == 0 ? first : second_computes;
    pipeline.stages.push_back({.ranks = {rank},
                               .step = step,
                               .computing = computing,
                               .bubble = step - computing,
                               .idle = {}});
  }
  pipeline.bubble_share = 0.2;
  pipeline.imbalance = first == second_computes ? 0 : 0.1;
  job.pipeline = pipeline;
  return job;
}

TEST(BubbleFinding, IsWorthAtMostTheMeanBubble) {
  const std::optional<RankFinding> found = FindBubble(PipelineOf(DurationNs(12'000'000)));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->finding.title, "2 pipeline stages wait for each other for 20.0 % of their time");
  EXPECT_EQ(found->finding.figure, "20.0 %");
  EXPECT_DOUBLE_EQ(found->finding.saves_ms->mid, 4);
  EXPECT_DOUBLE_EQ(found->finding.saves_ms->low, 0);
  EXPECT_EQ(found->finding.place, "more micro-batches");
  // Two stages with four micro-batches idle 1 / 5 of the step, with eight 1 / 9.
  EXPECT_NE(found->finding.action.find("a bubble of about 11.1 %"), std::string::npos);
}

TEST(BubbleFinding, NamesTheStageThatComputesLongest) {
  const std::optional<RankFinding> found = FindBubble(PipelineOf(DurationNs(10'000'000)));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->rank, 1u);  // Rank 1 waits longest.
  EXPECT_DOUBLE_EQ(found->finding.saves_ms->mid, 5);
  EXPECT_EQ(found->finding.place, "move layers off stage 0");
  EXPECT_EQ(found->finding.action.rfind("Move layers away from stage 0: ", 0), 0u);
}

TEST(BubbleFinding, NoneWithoutAPipelineOrBelowOnePercent) {
  EXPECT_FALSE(FindBubble(JobRanks{}).has_value());
  JobRanks job = PipelineOf(DurationNs(12'000'000));
  job.pipeline->bubble_share = 0.009;
  EXPECT_FALSE(FindBubble(job).has_value());
}

TEST(AddRankFindings, KeepTheOrderOfSavings) {
  std::vector<TraceReport> files(2);
  files[0].input.rank = 0;
  files[1].input.rank = 1;
  for (const double saves : {9.0, 2.0}) {
    Finding finding;
    finding.id = "other";
    finding.saves_ms = MsInterval{0, saves, saves};
    files[1].findings.push_back(finding);
  }
  AddRankFindings(PipelineOf(DurationNs(10'000'000)), files);  // Rank 1 waits longest: 5 ms.
  EXPECT_TRUE(files[0].findings.empty());
  ASSERT_EQ(files[1].findings.size(), 3u);
  EXPECT_EQ(files[1].findings[1].id, "pipeline-bubble");
  files.pop_back();
  AddRankFindings(PipelineOf(DurationNs(10'000'000)), files);
  EXPECT_TRUE(files[0].findings.empty()) << "the late rank has no file";
}

}  // namespace rank_findings_test
}  // namespace headroom
