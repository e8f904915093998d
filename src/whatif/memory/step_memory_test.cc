#include "whatif/memory/step_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "whatif/job/blocks.h"
#include "whatif/test_network.h"

namespace headroom {
namespace step_memory_test {

constexpr double kMiB = 1024 * 1024;
/// cuBLAS on an H200, for the forward's thread and the backward's.
constexpr double kProducts = 64 * kMiB;

Result<StepMemoryModel> ModelOf(JobBuilder& b, const MemoryChange& change = {}) {
  Result<StepMemoryModel> model = StepMemoryModel::Make(b.Build(), change);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model;
}

StepMemory MemoryOf(JobBuilder& b, const MemoryChange& change = {}, const Sharding& sharding = {}) {
  return ModelOf(b, change).value().PeakAt(change.batch_ratio, sharding);
}

TEST(StepMemoryTest, ThePeakAndItsParts) {
  JobBuilder b = Network();
  const StepMemoryModel model = ModelOf(b).value();
  const StepMemory memory = model.PeakAt(1);
  // Live tensors during the first layer's backward: both weight gradients, the layer's saved input,
  // and the gradient of its output. ReLU's output is already freed.
  EXPECT_EQ(memory.parts.parameters, (256 + 32) * kKiB);
  EXPECT_EQ(memory.parts.gradients, (256 + 32) * kKiB);
  EXPECT_EQ(memory.parts.optimizer_state, 0);
  EXPECT_EQ(memory.parts.activations, 64 * kKiB);
  EXPECT_EQ(memory.parts.temporaries, 64 * kKiB);
  EXPECT_EQ(memory.parts.workspace, kProducts);
  EXPECT_EQ(memory.peak_bytes, memory.parts.Total());
  EXPECT_GE(model.ReservedAt(1), memory.peak_bytes);
  EXPECT_EQ(model.unknown_operators(), 0);
  EXPECT_EQ(model.optimizer(), "SGD");
  EXPECT_FALSE(memory.workspace_uncertain);
}

TEST(StepMemoryTest, WhatIsNotOfWeightsGrowsWithTheBatch) {
  JobBuilder b = Network();
  const double fixed = 2 * (256 + 32) * kKiB + kProducts;
  EXPECT_EQ(MemoryOf(b).peak_bytes, fixed + (64 + 64) * kKiB);
  EXPECT_EQ(MemoryOf(b, {.batch_ratio = 3}).peak_bytes, fixed + 3 * (64 + 64) * kKiB);
}

TEST(StepMemoryTest, AutocastSavesCopiesInSixteenBits) {
  JobBuilder b = Network();
  const StepMemory memory = MemoryOf(b, {.autocast = true});
  // The first layer's input (32) and weights (128).
  EXPECT_EQ(memory.parts.activations, (32 + 128) * kKiB);
  EXPECT_EQ(memory.parts.temporaries, 32 * kKiB);
  EXPECT_EQ(memory.parts.gradients, (256 + 32) * kKiB);
}

TEST(StepMemoryTest, AMomentumIsAnotherTensorForEachParameter) {
  JobBuilder b = Network("ReluBackward0", "aten::mul_");
  EXPECT_EQ(MemoryOf(b).parts.optimizer_state, (256 + 32) * kKiB);
}

TEST(StepMemoryTest, ANodeWithoutARuleKeepsTheTensorsThatItReads) {
  JobBuilder b = Network("MyReluBackward"), known = Network();
  EXPECT_EQ(ModelOf(b).value().unknown_operators(), 0);
  EXPECT_EQ(MemoryOf(b).peak_bytes, MemoryOf(known).peak_bytes);
}

/// A product with weights that are not trained, and two products with one trained weight.
JobBuilder FrozenLayer() {
  JobBuilder b;
  for (int step = 0; step < 2; ++step) {
    const int s = 100 * step;
    b.Step();
    b.Forward("aten::mul", "[[64, 256], []]", 5, s);
    b.Forward("aten::mm", "[[64, 256], [256, 128]]", 20, s + 1, kGemm);
    b.Forward("aten::mm", "[[64, 128], [128, 128]]", 20, s + 2, kGemm);
    b.Forward("aten::mm", "[[64, 128], [128, 128]]", 20, s + 3, kGemm);
    b.Backward(Node("MmBackward0"), "aten::mm", "[[128, 64], [64, 128]]", 30, s + 3, kGemm);
    b.Backward(Node("MmBackward0"), "aten::add_", "[[128, 128], [128, 128], []]", 5, s + 2);
    Accumulate(b, "[[128, 128]]");
  }
  return b;
}

// The optimizer's loop updates a matrix, a vector, and a matrix. Its states have the parameters'
// shapes, so a read of the third parameter's state must not extend the first one's root.
TEST(StepMemoryTest, ALoopOverParametersKeepsOneTemporaryTensor) {
  JobBuilder b;
  for (int step = 0; step < 2; ++step) {
    const int s = 100 * step;
    b.Step();
    b.Forward("aten::mm", "[[1, 256], [256, 256]]", 20, s, kGemm);
    b.Backward(Node("MmBackward0"), "aten::mm", "[[256, 1], [1, 256]]", 30, s, kGemm);
    Accumulate(b, "[[256, 256]]");
    for (const std::string dims : {"[256, 256]", "[16]", "[256, 256]"}) {
      constexpr std::string_view kRange = "Optimizer.step#AdamW.step";
      b.Update(kRange, "aten::lerp_", fmt::format("[{0}, {0}, []]", dims), 5);
      b.Update(kRange, "aten::sqrt", "[" + dims + "]", 5);
      b.Update(kRange, "aten::addcdiv_", fmt::format("[{0}, {0}, {0}, []]", dims), 5);
    }
  }
  // The first matrix's root stays until the vector's root is made, and that one (512 bytes) until
  // the second matrix's root is made.
  EXPECT_EQ(MemoryOf(b).parts.temporaries, 256 * kKiB + 512);
}

TEST(StepMemoryTest, FrozenWeightsAreParametersWithoutStateAndGradients) {
  JobBuilder b = FrozenLayer();
  EXPECT_EQ(MemoryOf(b).parts.parameters, (64 + 128) * kKiB);
  EXPECT_EQ(MemoryOf(b).parts.optimizer_state, 0);
}

// The step has three tensors of one shape, and two operators that read one each. If the backward
// adds the gradients of the two reads, both operators read the same tensor; the first reader's node
// shows the addition. Otherwise they read the last two tensors.
TEST(StepMemoryTest, GradientsThatAddUpTellOfOneTensorWithTwoReaders) {
  for (const bool shared : {false, true}) {
    JobBuilder b;
    for (int step = 0; step < 2; ++step) {
      const int s = 100 * step;
      b.Step();
      for (int i = 0; i < 3; ++i) b.Forward("aten::mul", "[[64, 1], [1, 256]]", 5, s + i);
      b.Forward("aten::sum", "[[64, 256]]", 5, s + 3);
      b.Forward("aten::sum", "[[64, 256]]", 5, s + 4);
      b.Backward(Node("SumBackward0"), "aten::neg", "[[64, 256]]", 5, s + 4);
      b.Backward(Node("SumBackward0"), shared ? "aten::add_" : "aten::neg", "[[64, 256]]", 5,
                 s + 3);
      Accumulate(b, "[[16]]");
    }
    // The peak is at the first reader. Its input and its sum are live (512 bytes, as the allocator
    // rounds). If the second reader reads another tensor, that tensor is also live.
    EXPECT_EQ(MemoryOf(b).parts.temporaries, (shared ? 1 : 2) * 64 * kKiB + 512);
  }
}

/// Three blocks of two products with a ReLU between them.
JobBuilder Blocks() {
  JobBuilder b;
  for (int step = 0; step < 2; ++step) {
    const int s = 100 * step;
    b.Step();
    b.Forward("aten::mul", "[[64, 256], []]", 5, s);
    for (int block = 0; block < 3; ++block) {
      b.Forward("aten::mm", "[[64, 256], [256, 1024]]", 20, s + 10 * block + 1, kGemm);
      b.Forward("aten::relu", "[[64, 1024]]", 5, s + 10 * block + 2);
      b.Forward("aten::mm", "[[64, 1024], [1024, 256]]", 20, s + 10 * block + 3, kGemm);
    }
    for (int block = 2; block >= 0; --block) {
      b.Backward(Node("MmBackward0"), "aten::mm", "[[64, 256], [256, 1024]]", 30,
                 s + 10 * block + 3, kGemm);
      b.Backward(Node("ReluBackward0"), "aten::threshold_backward", "[[64, 1024], [64, 1024], []]",
                 5, s + 10 * block + 2);
      b.Backward(Node("MmBackward0"), "aten::mm", "[[64, 1024], [1024, 256]]", 30,
                 s + 10 * block + 1, kGemm);
    }
    Accumulate(b, "[[16]]");
  }
  return b;
}

TEST(StepMemoryTest, CheckpointingKeepsInputsAndOneBlock) {
  JobBuilder b = Blocks();
  // The peak is in the backward of the last block's ReLU. Live tensors: the input (64) and ReLU
  // output (256) of each block, and the gradients of the last ReLU's output and input.
  EXPECT_EQ(MemoryOf(b).parts.activations, 3 * (64 + 256) * kKiB);
  EXPECT_EQ(MemoryOf(b).parts.temporaries, 2 * 256 * kKiB);
  const StepMemory memory = MemoryOf(b, {.checkpointing = true});
  EXPECT_EQ(memory.parts.activations, (3 * 64 + 256) * kKiB);
  EXPECT_EQ(memory.parts.temporaries, 2 * 256 * kKiB);
}

TEST(StepMemoryTest, ChosenBlocksAreCheckpointed) {
  JobBuilder b = Blocks();
  // The first block drops its ReLU's output (256), the others keep theirs.
  const StepMemory one = MemoryOf(b, {.checkpointing = true, .checkpointed_blocks = {0}});
  EXPECT_EQ(one.parts.activations, (3 * 64 + 2 * 256) * kKiB);
  const MemoryChange all = {.checkpointing = true};
  const MemoryChange first = {.checkpointing = true, .checkpointed_blocks = {0}};
  const MemoryChange second = {.checkpointing = true, .checkpointed_blocks = {1}};
  EXPECT_NE(first, second);
  EXPECT_EQ((first | MemoryChange()), first);
  EXPECT_EQ((MemoryChange() | first), first);
  EXPECT_EQ((first | all), all);
  EXPECT_EQ((all | first), all);
  EXPECT_EQ((first | second).checkpointed_blocks, (std::set<std::size_t>{0, 1}));
}

// The stem ends like the blocks, so the repeats may begin in its middle or after it. In its middle,
// two tensors cross a cut: the product's input and the addend. After it, only one does.
TEST(StepMemoryTest, BlocksAreCutWhereTheLeastCrosses) {
  JobBuilder b;
  for (int step = 0; step < 2; ++step) {
    const int s = 100 * step;
    b.Step();
    b.Forward("aten::mul", "[[64, 256], []]", 5, s);
    b.Forward("aten::mm", "[[64, 256], [256, 512]]", 20, s + 1, kGemm);
    for (int block = 0; block < 4; ++block) {
      if (block > 0) {
        b.Forward("aten::mm", "[[64, 256], [256, 1024]]", 20, s + 10 * block + 1, kGemm);
        b.Forward("aten::relu", "[[64, 1024]]", 5, s + 10 * block + 2);
      }
      b.Forward("aten::mm", "[[64, 1024], [1024, 256]]", 20, s + 10 * block + 3, kGemm);
      b.Forward("aten::add", "[[64, 256], [64, 256], []]", 5, s + 10 * block + 4);
    }
    b.Backward(Node("MmBackward0"), "aten::mm", "[[64, 256], [256, 1024]]", 30, s + 33, kGemm);
    Accumulate(b, "[[16]]");
  }
  const auto after = [](const Job& job, std::string_view name) {
    return [&job, name](const LaunchingOperator& before) {
      return NameOfOperator(job, before.op) == name ? 0.0 : 1.0;
    };
  };
  const Job& job = b.Build();
  const auto first_of = [&](const CutCost& cost) {
    const std::vector<Block> blocks = FindBlocks(job, cost);
    EXPECT_EQ(blocks.size(), 2 * 3u);
    return std::string(NameOfOperator(job, blocks.front().operators.front().op));
  };
  EXPECT_EQ(first_of({}), "aten::mm");
  EXPECT_EQ(NameOfOperator(job, FindBlocks(job).front().operators[1].op), "aten::add");
  EXPECT_EQ(first_of(after(job, "aten::add")), "aten::mm");
  EXPECT_EQ(NameOfOperator(job, FindBlocks(job, after(job, "aten::add")).front().operators[1].op),
            "aten::relu");
}

TEST(StepMemoryTest, RanksShareOutWhatTheStageSays) {
  const MemoryParts parts{.parameters = 80,
                          .gradients = 80,
                          .optimizer_state = 160,
                          .activations = 100,
                          .temporaries = 10,
                          .workspace = 5};
  EXPECT_EQ(Shard(parts, {}).Total(), 435);
  EXPECT_EQ(Shard(parts, {.stage = 1, .ranks = 4}).Total(), 435 - 120);
  EXPECT_EQ(Shard(parts, {.stage = 2, .ranks = 4}).Total(), 435 - 120 - 60);
  EXPECT_EQ(Shard(parts, {.stage = 3, .ranks = 4}).Total(), 435 - 120 - 60 - 60);
  JobBuilder b = Network("ReluBackward0", "aten::mul_");
  const StepMemory memory = MemoryOf(b, {}, {.stage = 3, .ranks = 4});
  EXPECT_EQ(memory.parts.parameters, 72 * kKiB);
  EXPECT_EQ(memory.parts.optimizer_state, 72 * kKiB);
  // The peak is in ReLU's backward. Live tensors: the first layer's saved tensors, ReLU's output,
  // its input's gradient, and a quarter of the first weight gradient. The largest parameter is
  // complete.
  EXPECT_EQ(memory.parts.activations, 2 * 64 * kKiB);
  EXPECT_EQ(memory.parts.temporaries, (64 + 256) * kKiB);
  EXPECT_EQ(memory.parts.gradients, 8 * kKiB);
}

TEST(StepMemoryTest, TheLargestBatchThatFits) {
  JobBuilder b = Network();
  const StepMemoryModel model = ModelOf(b).value();
  // With a large batch, the peak is in ReLU's backward: three activations, and the gradient of the
  // second weights.
  const double fixed = (288 + 32) * kKiB + kProducts, growing = 3 * 64 * kKiB;
  const double capacity = fixed + 10 * growing;
  const std::optional<double> ratio = model.LargestBatch(capacity);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_NEAR(*ratio, 10, 0.01);
  EXPECT_LE(model.PeakAt(*ratio).peak_bytes, capacity);
  EXPECT_EQ(model.LargestBatch(kProducts), 0);
  EXPECT_EQ(model.LargestBatch(1e30), std::nullopt);
}

TEST(StepMemoryTest, WithoutConvolutionsNoWorkspaceGrows) {
  JobBuilder b = Network();
  const StepMemoryModel model = ModelOf(b).value();
  EXPECT_EQ(model.PeakAt(8, {}, Workspaces::kStay).peak_bytes, model.PeakAt(8).peak_bytes);
  EXPECT_EQ(model.LargestBatch(1e9, Workspaces::kStay), model.LargestBatch(1e9));
}

void ExpectNoAnswer(JobBuilder& b, std::string_view why) {
  const Result<StepMemoryModel> model = StepMemoryModel::Make(b.Build(), {});
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), StatusCode::kNoAnswer);
  EXPECT_NE(model.status().message().find(why), std::string::npos) << model.status().message();
}

TEST(StepMemoryTest, SaysWhatIsMissing) {
  JobBuilder no_shapes, no_backward, no_parameters, no_forward;
  for (int step = 0; step < 2; ++step) {
    no_shapes.Step().Forward("aten::mm", "", 20, step, kGemm);
    no_backward.Step().Forward("aten::mm", "[[8, 8], [8, 8]]", 20, step, kGemm);
    no_parameters.Step().Forward("aten::mm", "[[8, 8], [8, 8]]", 20, step, kGemm);
    no_parameters.Backward(Node("MmBackward0"), "aten::mm", "[[8, 8], [8, 8]]", 30, step, kGemm);
    Accumulate(no_forward.Step(), "[[8, 8]]");
  }
  ExpectNoAnswer(no_shapes, "record_shapes");
  ExpectNoAnswer(no_backward, "no backward nodes");
  ExpectNoAnswer(no_parameters, "AccumulateGrad");
  ExpectNoAnswer(no_forward, "CUDA graph");
}

}  // namespace step_memory_test
}  // namespace headroom
