#include "scale/traced_job.h"

#include <gtest/gtest.h>

#include <memory>

#include "analysis/test_trace.h"
#include "scale/recorded_collectives.h"

namespace headroom {
namespace traced_job_test {

constexpr std::int64_t kMain = 1, kStream = 7;
constexpr const char* kAllReduce =
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage)";

/// A job on two ranks. Each step has a kernel of 100 us and an all-reduce of 60 us on one stream.
std::unique_ptr<TraceStore> TwoRanks() {
  StoreBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.Step(step, kMain, 60 * step, 60);
    b.Launch("aten::mm", kMain, 60 * step, "gemm", kStream, 10 + 160 * step, 100);
    b.Launch("nccl:all_reduce", kMain, 60 * step + 5, kAllReduce, kStream, 110 + 160 * step, 60);
  }
  std::unique_ptr<TraceStore> store = b.Build();
  store->metadata.world_size = 2;
  return store;
}

/// A network of 1 Gbit/s without latency.
Topology Flat() { return FlatTopology(1, DurationNs(0), 1); }

class TracedJobTest : public testing::Test {
 protected:
  TracedJobTest() : store_(TwoRanks()) {
    Result<std::unique_ptr<Job>> job = Job::Make(*store_, TestReferenceData(), {}, Calibration());
    EXPECT_TRUE(job.ok()) << job.status().message();
    job_ = std::move(job).value();
    forecaster_ = std::make_unique<Forecaster>(*job_);
  }

  TracedJob Scalable() {
    return {*job_,
            *forecaster_,
            {.recorded = {.topology = Flat(), .placement = {.gpus = 2, .nodes = 2}}}};
  }

  std::unique_ptr<TraceStore> store_;
  std::unique_ptr<Job> job_;
  std::unique_ptr<Forecaster> forecaster_;
};

TEST_F(TracedJobTest, RecordedCollectivesAreScaled) {
  EXPECT_EQ(RecordedGpus(*job_), 2);
  TracedJob job = Scalable();
  EXPECT_NEAR(job.OnOneGpu().step_ms.mid, 0.100, 1e-6);
  // On two GPUs the step stays as recorded.
  EXPECT_NEAR(job.On(Flat(), {.gpus = 2, .nodes = 2}, std::nullopt).step_ms.mid, 0.160, 1e-6);
  // A ring of four transfers 2 x 3 / 4 of the bytes; a ring of two transfers 2 x 1 / 2.
  const ScaledStep four = job.On(Flat(), {.gpus = 4, .nodes = 4}, std::nullopt);
  EXPECT_NEAR(four.step_ms.mid, 0.190, 1e-6);
  EXPECT_NEAR(four.limits.exposed_ms, 0.090, 1e-6);
  EXPECT_NEAR(four.limits.transfers_ms, 0.090, 1e-6);
  EXPECT_NE(four.why.find("3 recorded collectives scaled from 2 to 4 GPUs"), std::string::npos)
      << four.why;
  // Twice the bandwidth halves the time of the all-reduces.
  EXPECT_NEAR(
      job.On(FlatTopology(2, DurationNs(0), 1), {.gpus = 2, .nodes = 2}, std::nullopt).step_ms.mid,
      0.130, 1e-6);
}

TEST_F(TracedJobTest, WhatIsKnownToBeAWaitStays) {
  // The rank waited 30 us in each of its first two all-reduces of 60 us; the wait of the third is
  // unknown.
  CollectiveWaits waits;
  for (const int step : {0, 1})
    waits[{TimeNs(1'000 * (110 + 160 * step)), TimeNs(1'000 * (170 + 160 * step))}] =
        DurationNs(30'000);
  TracedJob job(*job_, *forecaster_,
                {.recorded = {.topology = Flat(),
                              .placement = {.gpus = 2, .nodes = 2},
                              .overlap = {},
                              .waits = waits}});
  // The transfers take 1.5 times as long, so the all-reduces take 75, 75 and 90 us.
  const ScaledStep four = job.On(Flat(), {.gpus = 4, .nodes = 4}, std::nullopt);
  EXPECT_NEAR(four.limits.transfers_ms, 0.080, 1e-6);
  EXPECT_NEAR(four.step_ms.mid, 0.180, 1e-6);
  // Two waits of 30 us are averaged over three steps.
  EXPECT_NEAR(four.waits_ms, 0.020, 1e-6);
  EXPECT_NE(four.why.find("from 2 to 4 GPUs, with this rank's waits for others as recorded in 2 of "
                          "them and scaled in the rest"),
            std::string::npos)
      << four.why;
  // With almost unlimited bandwidth, only the two known waits take time.
  EXPECT_NEAR(job.On(FlatTopology(1e9, DurationNs(0), 1), {.gpus = 4, .nodes = 4}, std::nullopt)
                  .limits.transfers_ms,
              0.020, 1e-5);
}

TEST_F(TracedJobTest, AnotherScheduleNeedsARecordingOfOneGpu) {
  TracedJob job(*job_, *forecaster_,
                {.recorded = {.topology = Flat(), .placement = {.gpus = 2, .nodes = 2}},
                 .schedule = ZeroSharding{ZeroStage::kParameters}});
  EXPECT_NE(job.On(Flat(), {.gpus = 4, .nodes = 4}, std::nullopt)
                .no_answer.find("requires a recording on one GPU"),
            std::string::npos);
}

TEST(RecordedGpusTest, OneWhereNothingCommunicates) {
  StoreBuilder b;
  for (int step = 0; step < 2; ++step) {
    b.Step(step, kMain, 60 * step, 60);
    b.Launch("aten::mm", kMain, 60 * step, "gemm", kStream, 10 + 100 * step, 100);
  }
  const std::unique_ptr<TraceStore> store = b.Build();
  store->metadata.world_size = 8;
  const Result<std::unique_ptr<Job>> job =
      Job::Make(*store, TestReferenceData(), {}, Calibration());
  ASSERT_TRUE(job.ok());
  EXPECT_EQ(RecordedGpus(*job.value()), 1);
}

}  // namespace traced_job_test
}  // namespace headroom
