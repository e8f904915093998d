#include <gtest/gtest.h>

#include "whatif/job/blocks.h"
#include "whatif/test_job.h"

namespace headroom {
namespace checkpointing_test {

std::vector<std::array<std::size_t, 3>> Repeats(std::string_view text) {
  // Capital letters are products.
  std::vector<std::size_t> tokens;
  std::vector<int> products;
  for (const char letter : text) {
    tokens.push_back(static_cast<std::size_t>(letter));
    products.push_back(letter >= 'A' && letter <= 'Z' ? 1 : 0);
  }
  std::vector<std::array<std::size_t, 3>> found;
  for (const Repeat& repeat : FindRepeats(tokens, products))
    found.push_back({repeat.first, repeat.period, repeat.count});
  return found;
}

TEST(FindRepeatsTest, TheLongestStretchAndWhatIsLeft) {
  using List = std::vector<std::array<std::size_t, 3>>;
  EXPECT_EQ(Repeats("xAaBbAaBbAaBby"), (List{{1, 4, 3}}));
  // Two kinds of blocks, as in an encoder and a decoder.
  EXPECT_EQ(Repeats("ABaABaABaCDbCDbz"), (List{{0, 3, 3}, {9, 3, 2}}));
  // A repeated part inside a block is not a separate block.
  EXPECT_EQ(Repeats("QQQsPQQQsP"), (List{{0, 5, 2}}));
  // One product does not make a block.
  EXPECT_EQ(Repeats("AaAbAc"), List());
  EXPECT_EQ(Repeats("abcabc"), List());
  EXPECT_EQ(Repeats("ABCD"), List());
  EXPECT_EQ(Repeats(""), List());
}

/// Three blocks of two products and a ReLU, after an embedding; three steps.
JobBuilder Blocks(bool backward) {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    const int s = 100 * step;
    b.Step();
    b.Forward("aten::embedding", "[[1000, 64], [32], [], [], []]", 5, s + 1);
    for (int block = 0; block < 3; ++block) {
      b.Forward("aten::mm", "[[32, 64], [64, 256]]", 20, s + 10 * block + 2, kGemm);
      b.Forward("aten::relu", "[[32, 256]]", 6, s + 10 * block + 3);
      b.Forward("aten::mm", "[[32, 256], [256, 64]]", 21, s + 10 * block + 4, kGemm);
    }
    for (int block = 2; backward && block >= 0; --block) {
      b.Backward("MmBackward0", "aten::mm", "[[32, 64], [64, 256]]", 40, s + 10 * block + 4, kGemm);
      b.Backward("MmBackward0", "aten::mm", "[[32, 256], [256, 64]]", 41, s + 10 * block + 2,
                 kGemm);
    }
  }
  return b;
}

TEST(CheckpointingTest, EachBlockRunsAgainBeforeItsBackward) {
  JobBuilder b = Blocks(true);
  Applied applied(b.Build(), "checkpointing");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  ASSERT_EQ(applied.edit.inserted().size(), 3u * 9);
  // The insertions follow the order of the backward: each is before the right task. A block's last
  // product has a backward of 40 us.
  for (const Edit::NewKernel& kernel : applied.edit.inserted()) {
    EXPECT_EQ(applied.edit.DurationOf(kernel.before_task), Us(40));
    EXPECT_TRUE(kernel.per_sample);
  }
  EXPECT_EQ(applied.edit.inserted()[0].duration, Us(20));
  EXPECT_EQ(applied.edit.inserted()[1].duration, Us(6));
  // Saving and restoring the random state takes host time, once per block.
  EXPECT_GE(applied.edit.inserted()[0].host_work, Us(120));
  EXPECT_LT(applied.edit.inserted()[1].host_work, Us(120));
  EXPECT_EQ(applied.Times().size(), 3u * 16);
}

TEST(CheckpointingTest, CastsComeAgainToo) {
  JobBuilder b = Blocks(true);
  const Job& job = b.Build();
  Applied amp(job, "amp"), both(job, "amp+checkpointing");
  // Each product of a block casts at least its weight.
  EXPECT_GE(both.edit.inserted().size(), amp.edit.inserted().size() + 3u * (9 + 6));
}

TEST(CheckpointingTest, EverySecondBlock) {
  JobBuilder b = Blocks(true);
  const Job& job = b.Build();
  Applied applied(job, "checkpointing:every=2");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  // The first and the last of three blocks, in each of three steps.
  ASSERT_EQ(applied.edit.inserted().size(), 3u * 6);
  EXPECT_EQ(applied.effect.memory_change.checkpointed_blocks, (std::set<std::size_t>{0, 2}));
  EXPECT_EQ(applied.effect.why, "2 blocks per step recompute their forward pass");
  EXPECT_EQ(applied.effect.validated, Validity::kNo);
  const Applied all(job, "checkpointing:every=1"), unnamed(job, "checkpointing");
  EXPECT_EQ(all.effect.memory_change, unnamed.effect.memory_change);
  EXPECT_EQ(unnamed.effect.validated, Validity::kYes);
  EXPECT_EQ(all.effect.validated, Validity::kYes);
  EXPECT_EQ(Applied(job, "checkpointing:every=100").effect.memory_change.checkpointed_blocks,
            std::set<std::size_t>{0});
}

TEST(CheckpointingTest, BlocksOfMatchingLayers) {
  JobBuilder b;
  for (int step = 0; step < 2; ++step) {
    const int s = 100 * step;
    b.Step();
    for (int block = 0; block < 3; ++block) {
      b.Around("layer::h." + std::to_string(block), [&](JobBuilder& in) {
        in.Forward("aten::mm", "[[32, 64], [64, 256]]", 20 + block, s + 10 * block + 2, kGemm);
        in.Forward("aten::mm", "[[32, 256], [256, 64]]", 21, s + 10 * block + 4, kGemm);
      });
    }
    for (int block = 2; block >= 0; --block) {
      b.Backward("MmBackward0", "aten::mm", "[[32, 64], [64, 256]]", 40, s + 10 * block + 4, kGemm);
      b.Backward("MmBackward0", "aten::mm", "[[32, 256], [256, 64]]", 41, s + 10 * block + 2,
                 kGemm);
    }
  }
  const Job& job = b.Build();
  Applied applied(job, "checkpointing:match=h\\.(1|2)");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  ASSERT_EQ(applied.edit.inserted().size(), 2u * 4);
  EXPECT_EQ(applied.edit.inserted()[0].duration, Us(21));
  EXPECT_EQ(applied.edit.inserted()[2].duration, Us(22));
  EXPECT_EQ(applied.effect.memory_change.checkpointed_blocks, (std::set<std::size_t>{1, 2}));
  Applied second(job, "checkpointing:every=2,match=h\\.(1|2)");
  EXPECT_EQ(second.effect.memory_change.checkpointed_blocks, std::set<std::size_t>{1});
  EXPECT_EQ(Applied(job, "checkpointing:match=h.7").effect.why,
            "no repeated block is in a layer that matches h.7");
}

TEST(CheckpointingTest, MatchRequiresLayers) {
  JobBuilder b = Blocks(true);
  const Applied applied(b.Build(), "checkpointing:match=h.1");
  EXPECT_FALSE(applied.effect.applies);
  EXPECT_NE(applied.effect.why.find("the trace has no layers"), std::string::npos);
}

TEST(CheckpointingTest, WithoutABackwardThereIsNothingToKeep) {
  JobBuilder b = Blocks(false);
  const Applied applied(b.Build(), "checkpointing");
  EXPECT_FALSE(applied.effect.applies);
}

}  // namespace checkpointing_test
}  // namespace headroom
