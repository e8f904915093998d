// data-parallel and what builds on it, on a job of two layers.
#include <gtest/gtest.h>

#include "whatif/job/gradients.h"
#include "whatif/test_forecast.h"
#include "whatif/test_layers.h"

namespace headroom {
namespace data_parallel_test {

// Links of 10 bytes a nanosecond, which are 1448 of 1538 on the wire, and 1 us a message.
constexpr const char* kTwo = "data-parallel:gpus=2,bandwidth-gbps=84.972375690607735,latency-us=1";
constexpr const char* kTwoKeys = ":gpus=2,bandwidth-gbps=84.972375690607735,latency-us=1";

// The reducer's copies: 2 x 400,000 bytes at 0.67 x 4.8 TB/s, 1.449 us with the start. That of B
// goes between the two kernels of the backward, with a gap of 1.5 us on the stream; that of A and
// the two that bring the sums back, each 1 us behind the one before, in front of the update.
constexpr double kCopyOfB = 1.449 + 1.5;
constexpr double kCopies = kCopyOfB + 3 * (1.449 + 1);

TEST(GradientsTest, SizesTimesAndForwards) {
  const TestForecasts job(TwoLayers());
  const std::vector<GradientStep> steps = FindGradients(job.job());
  ASSERT_EQ(steps.size(), 2u);
  for (const GradientStep& step : steps) {
    ASSERT_EQ(step.gradients.size(), 2u);
    EXPECT_EQ(step.Bytes(), 800'000);
    // Of B first; A's forward comes first.
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
  // Both gradients fit the first bucket of 1 MB, which is ready at 400: 2 (n - 1) / n x 800,000
  // bytes = 80 us, and two messages. The update waits.
  EXPECT_DOUBLE_EQ(job.StepUs(kTwo), 500 + 80 + 2 + kCopies);
}

TEST(DataParallelTest, SmallBucketsGoBesideTheBackward) {
  TestForecasts job(TwoLayers());
  // B's goes from 300 to 342, beside the backward of A, A's from 400 to 442.
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
  // The interval knows how wrong communication may be: 34 % of 82 us, and 1 % of the rest.
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
  // Two slices of 200,000 bytes a gradient; a push or pull moves half of one: 10 us. B's are ready
  // at 300 and done long before the next forward of B. A's: pushed from 400 to 420, pulled from 420
  // (the answer to the first takes until 411) to 440; one message later its forward begins. The
  // servers update: no update here.
  EXPECT_DOUBLE_EQ(job.StepUs(std::string("p3") + kTwoKeys), 441 + kCopyOfB);
  // The same asked in two parts: data-parallel's keys hold.
  EXPECT_DOUBLE_EQ(job.StepUs(std::string(kTwo) + "+p3"), 441 + kCopyOfB);
  EXPECT_EQ(job.Ask(std::string("p3") + kTwoKeys).changed.removed,
            4);  // Two updates, two launches.
}

TEST(P3Test, WhatIsNeededFirstGoesFirst) {
  TestForecasts job(TwoLayers());
  // At 1 byte a nanosecond a push or pull takes 100 us, and a message 1 ns. B's slices b1, b2 and
  // A's a1, a2: push b1 300-400; at 400 A's are ready and go first: push a1, push a2 (it was ready
  // before the pull of a1) until 600, pull a1, a2 until 800: then the forward of A, until 900. B's
  // push b2 and both pulls (b1 was pushed first, so its pull is first) follow until 1100, then its
  // forward, until 1200, its backward until 1300, and so on: a step takes 1000, and the message to
  // A.
  EXPECT_DOUBLE_EQ(job.StepUs("p3:gpus=2,bandwidth-gbps=8.4972375690607735,latency-us=0.001"),
                   1000.001);
}

TEST(DgcTest, LessIsSentBetweenTwoKernels) {
  TestForecasts job(TwoLayers());
  // A tenth of 80 us, and two messages. The kernel that compresses makes 10 passes over 800,000
  // bytes at 0.67 x 4.8 TB/s: 3.688 us with its start, 1.5 us behind the backward; that which
  // decompresses one: 1.449 us. The copies come behind it, with
  // one more gap of 1.5 us.
  constexpr double kWithDgc = 500 + 1.5 + 3.688 + 8 + 2 + 1.449 + 1.5 + kCopies;
  EXPECT_DOUBLE_EQ(job.StepUs(std::string("dgc") + kTwoKeys + ",ratio=10"), kWithDgc);
  EXPECT_DOUBLE_EQ(job.StepUs(std::string(kTwo) + "+dgc:ratio=10"), kWithDgc);
  EXPECT_NE(job.WhyNot("dgc:ratio=0.5").find("does not compress"), std::string::npos);
}

TEST(BlueConnectTest, ThreeStagesOverTwoLevels) {
  TestForecasts job(TwoLayers());
  // Two machines of two: reduce-scatter inside, half of 800,000 bytes at 20 bytes a nanosecond and
  // a message of 5.7 us; all-reduce between the machines, 80 us and two messages; all-gather
  // inside.
  EXPECT_DOUBLE_EQ(job.StepUs("blueconnect:gpus=4,bandwidth-gbps=84.972375690607735,latency-us=1,"
                              "gpus-per-node=2,link-gbps=160"),
                   500 + 25.7 + 82 + 25.7 + kCopies);
  EXPECT_NE(job.WhyNot("blueconnect:gpus=6,gpus-per-node=4").find("two levels"), std::string::npos);
  EXPECT_NE(job.WhyNot("p3+blueconnect").find("all-reduces"), std::string::npos);
  EXPECT_NE(job.WhyNot("blueconnect+dgc").find("gathered"), std::string::npos);
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
