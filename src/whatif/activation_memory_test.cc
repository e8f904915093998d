#include "whatif/activation_memory.h"

#include <gtest/gtest.h>

#include "whatif/forecast.h"
#include "whatif/test_job.h"

namespace headroom {
namespace {

constexpr double kKiB = 1024;

/// Two layers over 64 rows of 256: product, relu, dropout; and a loss over 64 x 32 logits. One row
/// of 256 floats is 1 KiB.
JobBuilder Network(bool backward = true) {
  JobBuilder b;
  for (int step = 0; step < 2; ++step) {
    const int s = 100 * step;
    b.Step();
    for (int layer = 0; layer < 2; ++layer) {
      b.Forward("aten::mm", "[[64, 256], [256, 256]]", 20, s + 10 * layer, kGemm);
      b.Forward("aten::relu", "[[64, 256]]", 5, s + 10 * layer + 1);
      b.Forward("aten::native_dropout", "[[64, 256], [], []]", 5, s + 10 * layer + 2);
    }
    b.Forward("aten::mm", "[[64, 256], [256, 32]]", 20, s + 30, kGemm);
    b.Forward("aten::_log_softmax", "[[64, 32], [], []]", 5, s + 31);
    if (backward) b.Backward("MmBackward0", "aten::mm", "[[64, 32], [32, 256]]", 30, s + 30, kGemm);
  }
  return b;
}

// Saved in float32, KiB: the input 64; a layer: relu's output 64, dropout's mask 16 (a byte an
// element), dropout's output 64 (the next product reads it); two layers: 288. log_softmax's output
// 8, and two gradients of its size 16.
constexpr double kPlain = (64 + 288 + 8 + 16) * kKiB;

TEST(PeakBytesTest, WhatEachOperatorSaves) {
  JobBuilder b = Network();
  EXPECT_EQ(PeakBytes(b.Build(), {}), kPlain);
}

TEST(PeakBytesTest, ActivationsGrowWithTheBatch) {
  JobBuilder b = Network();
  EXPECT_EQ(PeakBytes(b.Build(), {.batch_ratio = 3}), 3 * kPlain);
}

TEST(PeakBytesTest, AutocastHalvesWhatProductsRead) {
  JobBuilder b = Network();
  // Input as a copy in 16 bits: 32. A layer: relu 32, mask 16, dropout 32. The loss in float32: 24.
  // 16-bit weights: 2 * 65536 + 8192 elements of 2 bytes: 272.
  EXPECT_EQ(PeakBytes(b.Build(), {.autocast = true}), (32 + 160 + 24 + 272) * kKiB);
}

TEST(PeakBytesTest, CheckpointingKeepsInputsAndOneBlock) {
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
    b.Backward("MmBackward0", "aten::mm", "[[64, 256], [256, 1024]]", 30, s + 23, kGemm);
  }
  const Job& job = b.Build();
  // A block saves its input (64 KiB) and relu's output (256 KiB), which the second product reads.
  EXPECT_EQ(PeakBytes(job, {}), 3 * (64 + 256) * kKiB);
  EXPECT_EQ(PeakBytes(job, {.checkpointing = true}), (3 * 64 + 256) * kKiB);
}

TEST(PeakBytesTest, NotKnownWithoutABackward) {
  JobBuilder b = Network(false);
  EXPECT_EQ(PeakBytes(b.Build(), {}), std::nullopt);
}

TEST(PeakBytesTest, ForecastsOfCombinationsCountOnce) {
  JobBuilder b = Network();
  Forecaster forecaster(b.Build());
  const auto delta = [&](const char* scenario) {
    const Forecast forecast = forecaster.Run(scenario, ParseScenario(scenario).value());
    EXPECT_TRUE(forecast.applies) << forecast.why;
    return forecast.memory_delta_bytes;
  };
  EXPECT_EQ(delta("amp"), static_cast<std::int64_t>((488 - 376) * kKiB));
  // Activations and the loss, 216 KiB, twice, and the weights once.
  EXPECT_EQ(delta("amp+batch-size:n=128"), static_cast<std::int64_t>((704 - 376) * kKiB));
}

}  // namespace
}  // namespace headroom
