#include "ranks/pipeline_stages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headroom {
namespace pipeline_stages_test {

constexpr DurationNs Ms(std::int64_t ms) { return DurationNs(ms * 1'000'000); }

/// Two steps of 100 ms in the named pipeline.
RankTimeline Stage(std::int64_t rank, const std::string& pipeline, std::int64_t computing_ms,
                   std::int64_t members) {
  RankTimeline timeline;
  timeline.rank = rank;
  for (int step = 0; step < 2; ++step) {
    timeline.steps.push_back({.number = step,
                              .start = TimeNs(0),
                              .wall = Ms(100),
                              .computing = Ms(computing_ms),
                              .collectives = Ms(10),
                              .neighbours = Ms(15)});
    RankCollective& send = timeline.collectives.emplace_back();
    send.group = pipeline;
    send.kind = "send";
    send.members = members;
  }
  return timeline;
}

std::optional<Pipeline> PipelineOf(const std::vector<RankTimeline>& ranks) {
  return FindPipeline(ranks, FindParallelAxes(ranks));
}

TEST(PipelineStages, MeansOverReplicas) {
  // Two pipelines of two stages, as Megatron numbers them: 0 and 2, 1 and 3.
  const std::optional<Pipeline> pipeline = PipelineOf(
      {Stage(0, "a", 60, 2), Stage(1, "b", 50, 2), Stage(2, "a", 40, 2), Stage(3, "b", 30, 2)});
  ASSERT_TRUE(pipeline.has_value());
  ASSERT_EQ(pipeline->stages.size(), 2u);
  EXPECT_EQ(pipeline->stages[0].ranks, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(pipeline->stages[0].computing, Ms(55));
  EXPECT_EQ(pipeline->stages[0].bubble, Ms(15));
  EXPECT_EQ(pipeline->stages[0].idle, Ms(20));
  EXPECT_EQ(pipeline->stages[1].ranks, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(pipeline->stages[1].idle, Ms(40));
  EXPECT_NEAR(pipeline->imbalance, 55 / 45.0 - 1, 1e-9);
  EXPECT_NEAR(pipeline->bubble_share, 0.15, 1e-9);
}

TEST(PipelineStages, NoneWhereARankIsMissing) {
  // The stage of each rank is unknown.
  EXPECT_FALSE(PipelineOf({Stage(0, "a", 60, 4), Stage(1, "a", 50, 4)}).has_value());
}

TEST(PipelineStages, NoneOfCollectivesThatTellNoGroup) {
  // An all-to-all kernel also sends and receives.
  EXPECT_FALSE(PipelineOf({Stage(0, "", 60, 2), Stage(1, "", 50, 2)}).has_value());
}

TEST(PipelineStages, NoneWithoutSends) {
  std::vector<RankTimeline> ranks = {Stage(0, "a", 60, 2), Stage(1, "a", 50, 2)};
  for (RankTimeline& rank : ranks) {
    for (RankCollective& collective : rank.collectives) collective.kind = "allreduce";
    rank.groups.push_back(
        {.name = "a", .description = "EMBEDDING_GROUP", .axis = ParallelAxis::kPipeline});
  }
  EXPECT_FALSE(PipelineOf(ranks).has_value());
}

TEST(PipelineStages, NoneWithoutSteps) {
  std::vector<RankTimeline> ranks = {Stage(0, "a", 60, 2), Stage(1, "a", 50, 2)};
  for (RankTimeline& rank : ranks) rank.steps.clear();
  EXPECT_FALSE(PipelineOf(ranks).has_value());
}

}  // namespace pipeline_stages_test
}  // namespace headroom
