#include "ingest/names/range_names.h"

#include <gtest/gtest.h>

namespace headroom {
namespace range_names_test {

TEST(RangeNames, OperatorsOfPyTorch) {
  const auto op =
      ParseOperatorRange("aten::mm, seq = 12, op_id = 5, sizes = [[8, 4], []], input_op_ids = []");
  ASSERT_TRUE(op);
  EXPECT_EQ(op->name, "aten::mm");
  EXPECT_EQ(op->sequence, 12);
  EXPECT_EQ(op->id, 5);
  EXPECT_EQ(op->sizes, "[[8, 4], []]");

  const auto without_id = ParseOperatorRange("MmBackward0, seq = 3");
  ASSERT_TRUE(without_id);
  EXPECT_EQ(without_id->name, "MmBackward0");
  EXPECT_EQ(without_id->id, kUnknown);

  EXPECT_EQ(ParseOperatorRange("aten::relu_")->sequence, kUnknown);
  EXPECT_FALSE(ParseOperatorRange("train step"));
  EXPECT_FALSE(ParseOperatorRange(""));
  EXPECT_FALSE(ParseOperatorRange(", seq = 4"));
}

TEST(RangeNames, PartsOfAnOperatorComeInAnyOrderAndTheFirstOfEachHolds) {
  for (const char* name : {"f(a, b), sizes = [[1, 2]], op_id = 5, seq = 12",
                           "f(a, b), op_id = 5, op_id = 6, sizes = [[1, 2]], sizes = [3], seq = 12",
                           "f(a, b), seq = 12, seq = x, sizes = [[1, 2]], op_id = 5, seq = 3"}) {
    const auto op = ParseOperatorRange(name);
    ASSERT_TRUE(op) << name;
    EXPECT_EQ(op->name, "f(a, b)");
    EXPECT_EQ(op->sequence, 12) << name;
    EXPECT_EQ(op->id, 5) << name;
    EXPECT_EQ(op->sizes, "[[1, 2]]") << name;
  }
  const auto damaged = ParseOperatorRange("f, sizes = [[1, 2, seq = 4");
  ASSERT_TRUE(damaged);
  EXPECT_EQ(damaged->name, "f");
  EXPECT_EQ(damaged->sizes, "");
  EXPECT_EQ(damaged->sequence, 4);
  EXPECT_FALSE(ParseOperatorRange("f(a, b),"));
}

TEST(RangeNames, SizesThatAreNoListsOfIntegersAreLeftOut) {
  const auto sizes = [](std::string_view text) {
    const std::string name = std::string("aten::mm, sizes = ").append(text);
    return std::string(ParseOperatorRange(name)->sizes);
  };
  EXPECT_EQ(sizes("[1, [2]]"), "[1, [2]]");
  EXPECT_EQ(sizes("[1, \"x\"]"), "");
  EXPECT_EQ(sizes("[1, 2"), "");
  EXPECT_EQ(sizes("]"), "");
  EXPECT_EQ(sizes("12"), "");
  EXPECT_EQ(sizes("[-1, [ ], 0]"), "[-1, [ ], 0]");
  for (const char* const text :
       {"[8,,4]", "[8 4]", "[ - ]", "[01]", "[1,]", "[,1]", "[[1] 2]", "1]"})
    EXPECT_EQ(sizes(text), "") << text;
}

TEST(RangeNames, NumberedSteps) {
  for (const char* name : {"step 12", "Step#3", "train_step_7", "training step 7", "global_step=1"})
    EXPECT_EQ(NumberedStep(name), StepWord::kStep) << name;
  for (const char* name : {"iteration 12", "iter12", "Iter: 4"})
    EXPECT_EQ(NumberedStep(name), StepWord::kIteration) << name;
  EXPECT_EQ(NumberedStep("batch 2"), StepWord::kBatch);
  for (const char* name : {"step", "layer 3", "12", "", "time step of 4", "step 4 of 5 forward"})
    EXPECT_FALSE(NumberedStep(name)) << name;
}

}  // namespace range_names_test
}  // namespace headroom
