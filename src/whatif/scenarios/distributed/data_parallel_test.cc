// data-parallel and the scenarios that build on it, on a job of two layers.
#include <gtest/gtest.h>

#include "whatif/job/gradients.h"
#include "whatif/test_forecast.h"
#include "whatif/test_layers.h"

namespace headroom {
namespace data_parallel_test {

// Links of 10 bytes per nanosecond, which are 1448 of 1538 on the wire, and 1 us per message.
constexpr const char* kTwo = "data-parallel:gpus=2,bandwidth-gbps=84.972375690607735,latency-us=1";
constexpr const char* kTwoKeys = ":gpus=2,bandwidth-gbps=84.972375690607735,latency-us=1";

// The reducer's copies move 2 x 400,000 bytes at 0.67 x 4.8 TB/s, so each takes 1.449 us with its
// start. B's copy runs between the two kernels of the backward, with a gap of 1.5 us on the stream.
// A's copy and the two that return the sums run before the update, each 1 us after the previous
// one.
constexpr double kCopyOfB = 1.449 + 1.5;
constexpr double kCopies = kCopyOfB + 3 * (1.449 + 1);

TEST(GradientsTest, SizesTimesAndForwards) {
  const TestForecasts job(TwoLayers());
  const std::vector<GradientStep> steps = FindGradients(job.job());
  ASSERT_EQ(steps.size(), 2u);
  for (const GradientStep& step : steps) {
    ASSERT_EQ(step.gradients.size(), 2u);
    EXPECT_EQ(step.Bytes(), 800'000);
    // B's gradient comes first; A's forward comes first.
    EXPECT_LT(step.gradients[0].ready, step.gradients[1].ready);
    EXPECT_GT(step.gradients[0].forward, step.gradients[1].forward);
    EXPECT_EQ(job.job().NameOf(step.next), kAdd);
  }
}

TEST(GradientsTest, SizesOfProductsWhereAccumulationHasNone) {
  const TestForecasts job(TwoLayers(/*accumulated=*/false));
  const std::vector<GradientStep> steps = FindGradients(job.job());
  ASSERT_EQ(steps.size(), 2u);
  for (const GradientStep& step : steps) EXPECT_EQ(step.Bytes(), 800'000);
}

TEST(DataParallelTest, OneBucketBehindTheBackward) {
  TestForecasts job(TwoLayers());
  EXPECT_DOUBLE_EQ(job.StepUs(), 500);
  // Both gradients fit the first bucket of 1 MB, which is ready at 400. 2 (n - 1) / n x 800,000
  // bytes take 80 us, plus two messages. The update waits.
  EXPECT_DOUBLE_EQ(job.StepUs(kTwo), 500 + 80 + 2 + kCopies);
}

TEST(DataParallelTest, SmallBucketsGoBesideTheBackward) {
  TestForecasts job(TwoLayers());
  // B's bucket is sent from 300 to 342, during the backward of A; A's from 400 to 442.
  EXPECT_DOUBLE_EQ(job.StepUs(std::string(kTwo) + ",bucket-mb=0.3"), 542 + kCopies);
  // Four members: 2 x 3 / 4 x 400,000 bytes = 60 us and six messages.
  EXPECT_DOUBLE_EQ(
      job.StepUs(
          "data-parallel:gpus=4,bandwidth-gbps=84.972375690607735,latency-us=1,bucket-mb=0.3"),
      566 + kCopies);
}

TEST(DataParallelTest, SaysWhatItTakes) {
  TestForecasts job(TwoLayers());
  const Forecast forecast = job.Ask(kTwo);
  EXPECT_EQ(forecast.validated, Validity::kNo);
  EXPECT_EQ(forecast.changed.inserted, 2 + 8);  // All-reduces, and copies.
  // 2 x 500 / 592.3.
  EXPECT_NE(forecast.why.find("1.69 times the throughput"), std::string::npos) << forecast.why;
  EXPECT_NE(forecast.why.find("0.1 ms of the step wait for transfers"), std::string::npos)
      << forecast.why;
  // The interval includes the uncertainty of communication: 34 % of 82 us, and 1 % of the rest.
  EXPECT_NEAR(forecast.step_ms.high * 1e3, 505 + 1.34 * 82 + kCopies, 0.2);
}

TEST(DataParallelTest, AbstainsWithAReason) {
  TestForecasts alone(TwoLayers());
  EXPECT_NE(alone.WhyNot("data-parallel:gpus=1").find("exchanges no gradients"), std::string::npos);
  StoreBuilder inference;
  for (int step = 0; step < 2; ++step) {
    inference.Step(step, kMain, 100 * step, 90);
    inference.Launch("aten::mm", kMain, 100 * step, kGemm, kStream, 100 * step + 10, 50);
  }
  TestForecasts no_gradients(inference);
  EXPECT_NE(no_gradients.WhyNot(kTwo).find("record_shapes"), std::string::npos);
  StoreBuilder distributed = TwoLayers();
  distributed.Launch("nccl:all_reduce", kMain, 28, kAllReduce, kSideStream, 420, 10);
  TestForecasts communicates(distributed);
  EXPECT_NE(communicates.WhyNot(kTwo).find("already communicates"), std::string::npos);
}

TEST(P3Test, TheNextForwardWaitsForItsOwnSlicesOnly) {
  TestForecasts job(TwoLayers());
  // Each gradient has two slices of 200,000 bytes; a push or pull moves half of one in 10 us. B's
  // slices are ready at 300 and finish long before the next forward of B. A's are pushed from 400
  // to 420 and pulled from 420 to 440; the answer to the first push takes until 411. A's forward
  // begins one message later. The servers update, so the job has no update.
  EXPECT_DOUBLE_EQ(job.StepUs(std::string("p3") + kTwoKeys), 441 + kCopyOfB);
  // The same in two parts: data-parallel's keys apply.
  EXPECT_DOUBLE_EQ(job.StepUs(std::string(kTwo) + "+p3"), 441 + kCopyOfB);
  EXPECT_EQ(job.Ask(std::string("p3") + kTwoKeys).changed.removed,
            4);  // Two updates, two launches.
}

TEST(P3Test, WhatIsNeededFirstGoesFirst) {
  TestForecasts job(TwoLayers());
  // At 1 byte per nanosecond, a push or pull takes 100 us, and a message 1 ns. B has slices b1 and
  // b2, A has a1 and a2. Schedule:
  // - 300-400: push b1. At 400, A's slices are ready and go first.
  // - 400-600: push a1 and a2; a2 is ready before the pull of a1.
  // - 600-800: pull a1 and a2. A's forward follows until 900.
  // - 800-1100: push b2, then both pulls; b1 was pushed first, so its pull is first.
  // - B's forward follows until 1200, its backward until 1300.
  //
  // A step takes 1000 us, plus the message to A.
  EXPECT_DOUBLE_EQ(job.StepUs("p3:gpus=2,bandwidth-gbps=8.4972375690607735,latency-us=0.001"),
                   1000.001);
}

TEST(DgcTest, LessIsSentBetweenTwoKernels) {
  TestForecasts job(TwoLayers());
  // A tenth of 80 us, and two messages. The compressing kernel makes 10 passes over 800,000 bytes
  // at 0.67 x 4.8 TB/s. It takes 3.688 us with its start, 1.5 us after the backward. The
  // decompressing kernel takes 1.449 us. The copies follow after one more gap of 1.5 us.
  constexpr double kWithDgc = 500 + 1.5 + 3.688 + 8 + 2 + 1.449 + 1.5 + kCopies;
  EXPECT_DOUBLE_EQ(job.StepUs(std::string("dgc") + kTwoKeys + ",ratio=10"), kWithDgc);
  EXPECT_DOUBLE_EQ(job.StepUs(std::string(kTwo) + "+dgc:ratio=10"), kWithDgc);
  EXPECT_NE(job.WhyNot("dgc:ratio=0.5").find("does not compress"), std::string::npos);
}

TEST(BlueConnectTest, ThreeStagesOverTwoLevels) {
  TestForecasts job(TwoLayers());
  // Two machines with two GPUs each. The reduce-scatter inside a machine moves half of 800,000
  // bytes at 20 bytes per nanosecond, with a message of 5.7 us. The all-reduce between the machines
  // takes 80 us and two messages. An all-gather inside the machine follows.
  EXPECT_DOUBLE_EQ(job.StepUs("blueconnect:gpus=4,bandwidth-gbps=84.972375690607735,latency-us=1,"
                              "gpus-per-node=2,link-gbps=160"),
                   500 + 25.7 + 82 + 25.7 + kCopies);
  EXPECT_NE(job.WhyNot("blueconnect:gpus=6,gpus-per-node=4").find("two levels"), std::string::npos);
  EXPECT_NE(job.WhyNot("p3+blueconnect").find("all-reduces"), std::string::npos);
  EXPECT_NE(job.WhyNot("blueconnect+dgc").find("gathers"), std::string::npos);
}

TEST(NetworkSpeedTest, ScalesWhatWasInsertedAndWhatWasRecorded) {
  TestForecasts job(TwoLayers());
  EXPECT_DOUBLE_EQ(job.StepUs(std::string(kTwo) + "+network-speed:factor=2"), 541 + kCopies);
  EXPECT_NE(job.WhyNot("network-speed").find("does not communicate"), std::string::npos);
  // Two kernels of 100 us per step, one of them a collective.
  StoreBuilder b;
  for (int step = 0; step < 2; ++step) {
    b.Step(step, kMain, 60 * step, 60);
    b.Launch("aten::mm", kMain, 60 * step, kGemm, kStream, 10 + 200 * step, 100);
    b.Launch("nccl:all_reduce", kMain, 60 * step + 5, kAllReduce, kStream, 110 + 200 * step, 100);
  }
  TestForecasts distributed(b);
  EXPECT_DOUBLE_EQ(distributed.StepUs("network-speed:factor=4"), 125);
}

}  // namespace data_parallel_test
}  // namespace headroom
