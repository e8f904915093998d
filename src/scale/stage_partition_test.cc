#include "scale/stage_partition.h"

#include <gtest/gtest.h>

#include <vector>

namespace headroom {
namespace stage_partition_test {

using Firsts = std::vector<std::size_t>;

TEST(StagePartitionTest, TheLargestStageIsAsSmallAsCanBe) {
  EXPECT_EQ(PartitionIntoStages(std::vector<double>{1, 1, 1, 1}, 2), (Firsts{0, 2}));
  EXPECT_EQ(PartitionIntoStages(std::vector<double>{5, 1, 1, 1, 1}, 2), (Firsts{0, 1}));
  EXPECT_EQ(PartitionIntoStages(std::vector<double>{2, 3, 4}, 3), (Firsts{0, 1, 2}));
  EXPECT_EQ(PartitionIntoStages(std::vector<double>{2, 3, 4}, 1), (Firsts{0}));
  // 1 1 | 1 1 | 3: the last layer includes the head.
  EXPECT_EQ(PartitionIntoStages(std::vector<double>{1, 1, 1, 1, 3}, 3).back(), 4u);
}

TEST(StagePartitionTest, EveryStageHasALayer) {
  EXPECT_EQ(PartitionIntoStages(std::vector<double>{9, 0, 0, 0}, 4), (Firsts{0, 1, 2, 3}));
  EXPECT_EQ(PartitionIntoStages(std::vector<double>{0, 0, 0}, 2).size(), 2u);
  EXPECT_EQ(PartitionIntoStages(std::vector<double>{0.1, 0.2, 0.3, 0.6}, 2), (Firsts{0, 3}));
}

TEST(StagePartitionTest, StagesKnowTheirShares) {
  const std::vector<LayerWork> layers = {{.work = 10, .gradients = {400, 100}},
                                         {.work = 10, .gradients = {100}},
                                         {.work = 10, .gradients = {100}},
                                         {.work = 25, .gradients = {100}}};
  const Result<PipelineStages> stages = StagesOfLayers(layers, 2);
  ASSERT_TRUE(stages.ok());
  // The first stage has three layers, and the second has one.
  EXPECT_DOUBLE_EQ(stages.value().largest_share, 30.0 / 55);
  EXPECT_EQ(stages.value().gradients, (std::vector<double>{400, 100, 100, 100}));
  EXPECT_DOUBLE_EQ(stages.value().update_share, 700.0 / 800);
  EXPECT_EQ(StagesOfLayers(layers, 5).status().code(), StatusCode::kNoAnswer);
}

}  // namespace stage_partition_test
}  // namespace headroom
