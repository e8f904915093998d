#include "kernels/recurrent_time.h"

#include <gtest/gtest.h>

#include "kernels/test_devices.h"

namespace headroom {
namespace recurrent_time_test {

double Us(const RecurrentWork& work, DType dtype, const char* gpu) {
  return RecurrentNs(work, dtype, RatesOfGpu(gpu), ShippedConstants()).value() / 1e3;
}

/// A layer of the translation model in h200-recurrent/: 64 sequences of 50 steps.
RecurrentWork Layer(bool backward) {
  return {.batch = 64, .steps = 50, .inputs = 1024, .hidden = 1024, .backward = backward};
}

TEST(RecurrentTime, AsTheTracesOfAnH200HaveIt) {
  // From the first to the last kernel of the operator, in microseconds.
  EXPECT_NEAR(Us(Layer(false), DType::kF32, "H200"), 2'560, 0.2 * 2'560);
  EXPECT_NEAR(Us(Layer(true), DType::kF32, "H200"), 4'450, 0.2 * 4'450);
  EXPECT_NEAR(Us(Layer(false), DType::kF16, "H200"), 420, 0.1 * 420);
  EXPECT_NEAR(Us(Layer(true), DType::kF16, "H200"), 735, 0.15 * 735);
}

TEST(RecurrentTime, StepsAddUpAndLayersToo) {
  const RecurrentWork one = {.batch = 10, .steps = 512, .inputs = 256, .hidden = 256};
  RecurrentWork longer = one, deeper = one;
  longer.steps = 1024;
  deeper.layers = 6;
  EXPECT_NEAR(Us(longer, DType::kF32, "T4") / Us(one, DType::kF32, "T4"), 2, 0.05);
  EXPECT_NEAR(Us(deeper, DType::kF32, "T4") / Us(one, DType::kF32, "T4"), 6, 0.05);
}

TEST(RecurrentTime, NeverBeatsTheDataSheet) {
  for (const double batch : {1.0, 64.0, 4096.0}) {
    const RecurrentWork work = {
        .batch = batch, .steps = 20, .inputs = 512, .hidden = 512, .layers = 2, .directions = 2};
    EXPECT_GT(Us(work, DType::kF32, "A100-80"), RecurrentFlops(work) / 19.5e6);
    EXPECT_GT(Us(work, DType::kF16, "A100-80"), RecurrentFlops(work) / 312e6);
  }
}

TEST(RecurrentTime, APersistentKernelReplacesTheStepsKernels) {
  const RecurrentWork work = Layer(false);
  EXPECT_TRUE(IsPersistent(work, DType::kF16, RatesOfGpu("H200")));
  EXPECT_FALSE(IsPersistent(work, DType::kF16, RatesOfGpu("V100")));
  EXPECT_FALSE(IsPersistent(work, DType::kF32, RatesOfGpu("H200")));
  EXPECT_LT(RecurrentKernels(work, DType::kF16, RatesOfGpu("H200")), 5);
  EXPECT_GE(RecurrentKernels(work, DType::kF32, RatesOfGpu("H200")), 100);
}

}  // namespace recurrent_time_test
}  // namespace headroom
