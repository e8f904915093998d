#include "ranks/parallel_axes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headroom {
namespace parallel_axes_test {

struct Sent {
  std::string kind;
  Phase phase;
  double bytes;
};

/// One rank that sends this traffic in group "7", with the recorded axis.
RankTimeline RankOf(const std::vector<Sent>& sent, std::optional<ParallelAxis> recorded = {}) {
  RankTimeline rank;
  for (const Sent& one : sent) {
    RankCollective& collective = rank.collectives.emplace_back();
    collective.group = "7";
    collective.kind = one.kind;
    collective.bytes = one.bytes;
    collective.phase = one.phase;
  }
  rank.groups.push_back({.name = "7", .description = "mesh", .axis = recorded});
  return rank;
}

GroupAxis AxisOf(const std::vector<Sent>& sent) {
  const std::vector<RankTimeline> ranks = {RankOf(sent), RankOf(sent)};
  return FindParallelAxes(ranks).front();
}

TEST(ParallelAxes, ADescriptionDecides) {
  const std::vector<RankTimeline> ranks = {
      RankOf({{"allreduce", Phase::kForward, 1e6}}),
      RankOf({{"allreduce", Phase::kForward, 1e6}}, ParallelAxis::kData)};
  const std::vector<GroupAxis> axes = FindParallelAxes(ranks);
  ASSERT_EQ(axes.size(), 1u);
  EXPECT_EQ(axes[0].axis, ParallelAxis::kData);
  EXPECT_TRUE(axes[0].recorded);
  EXPECT_EQ(axes[0].why, "mesh");
  EXPECT_EQ(axes[0].members, 2);
  EXPECT_EQ(axes[0].ranks, (std::vector<std::size_t>{0, 1}));
}

TEST(ParallelAxes, WhatAGroupSendsTellsTheRest) {
  EXPECT_EQ(AxisOf({{"allreduce", Phase::kBackward, 1e6}}).axis, ParallelAxis::kData);
  EXPECT_EQ(
      AxisOf({{"allreduce", Phase::kForward, 1e6}, {"allreduce", Phase::kBackward, 1e6}}).axis,
      ParallelAxis::kTensor);
  EXPECT_EQ(AxisOf({{"send", Phase::kForward, 1e6}, {"recv", Phase::kForward, 1e6}}).axis,
            ParallelAxis::kPipeline);
  EXPECT_EQ(AxisOf({{"all_to_allv", Phase::kForward, 1e6}, {"alltoall", Phase::kOther, 1e6}}).axis,
            ParallelAxis::kExpert);
  EXPECT_FALSE(AxisOf({{"allreduce", Phase::kBackward, 1e6}}).recorded);
}

TEST(ParallelAxes, ShardedDataIsGatheredInTheForwardAndReducedBehindIt) {
  EXPECT_EQ(AxisOf({{"_allgather_base", Phase::kForward, 1e6},
                    {"_allgather_base", Phase::kBackward, 1e6},
                    {"_reduce_scatter_base", Phase::kBackward, 1e6}})
                .axis,
            ParallelAxis::kData);
}

TEST(ParallelAxes, StatisticsOfTheForwardAreNoPartsOfLayers) {
  // In a data-parallel job, batch norm exchanges statistics in the forward pass.
  EXPECT_EQ(
      AxisOf({{"allreduce", Phase::kForward, 1e3}, {"allreduce", Phase::kBackward, 1e6}}).axis,
      ParallelAxis::kData);
}

TEST(ParallelAxes, WhatNothingTellsIsNotNamed) {
  const GroupAxis axis = AxisOf({{"broadcast", Phase::kOther, 1e6}});
  EXPECT_FALSE(axis.axis.has_value());
  EXPECT_EQ(axis.why, "neither its description nor its traffic shows the axis");
  EXPECT_TRUE(FindParallelAxes({}).empty());
}

}  // namespace parallel_axes_test
}  // namespace headroom
