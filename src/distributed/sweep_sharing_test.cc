#include "distributed/sweep_sharing.h"

#include <gtest/gtest.h>

#include <string>

#include "analysis/test_trace.h"
#include "distributed/test_communicator.h"

namespace headroom {
namespace sweep_sharing_test {

constexpr std::int64_t kMain = 1, kStream = 7;

/// Returns a trace of GPU-bound steps with kernels of several operators. The host takes `host_us`
/// per operator and then runs ahead of the GPU.
std::unique_ptr<TraceStore> Steps(int host_us = 2) {
  StoreBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.Step(step, kMain, 100 * step, 100);
    for (int op = 0; op < 5; ++op) {
      const int at = 100 * step + host_us * op;
      b.Launch("aten::op" + std::to_string(op), kMain, at, "kernel" + std::to_string(op), kStream,
               100 * step + 20 * op + 10, 20);
    }
  }
  return b.Build();
}

class SweepSharingTest : public testing::Test {
 protected:
  SweepSharingTest() : store_(Steps()) {
    Result<std::unique_ptr<Job>> job = Job::Make(*store_, TestReferenceData(), {}, Calibration());
    EXPECT_TRUE(job.ok()) << job.status().message();
    job_ = std::move(job).value();
  }

  static void ExpectSame(const Sweep& sweep, const Sweep& expected) {
    EXPECT_EQ(sweep.step_ms, expected.step_ms);
    EXPECT_EQ(sweep.replays, expected.replays);
    ASSERT_EQ(sweep.targets.size(), expected.targets.size());
    for (std::size_t i = 0; i < sweep.targets.size(); ++i) {
      EXPECT_EQ(sweep.targets[i].kind, expected.targets[i].kind);
      EXPECT_EQ(sweep.targets[i].name, expected.targets[i].name);
      EXPECT_EQ(sweep.targets[i].time_ms, expected.targets[i].time_ms);
      EXPECT_EQ(sweep.targets[i].saves_ms, expected.targets[i].saves_ms);
      EXPECT_EQ(sweep.targets[i].saves_at_most_ms, expected.targets[i].saves_at_most_ms);
      EXPECT_EQ(sweep.targets[i].step_ms, expected.targets[i].step_ms);
      EXPECT_EQ(sweep.targets[i].knee_factor, expected.targets[i].knee_factor);
    }
    ASSERT_EQ(sweep.next.size(), expected.next.size());
    for (std::size_t i = 0; i < sweep.next.size(); ++i) {
      EXPECT_EQ(sweep.next[i].name, expected.next[i].name);
      EXPECT_EQ(sweep.next[i].step_ms, expected.next[i].step_ms);
    }
  }

  Sweep Led(SweepSharing& sharing) const {
    sharing.Begin();
    return sharing.Lead(*job_);
  }

  std::unique_ptr<TraceStore> store_;
  std::unique_ptr<Job> job_;
};

TEST_F(SweepSharingTest, ManyProcessesSayWhatOneSays) {
  const Sweep alone = SweepTargets(*job_);
  ASSERT_GT(alone.targets.size(), 6u);
  RunProcesses(3, [&](Communicator& communicator) {
    SweepSharing sharing(communicator);
    if (communicator.leads()) {
      ExpectSame(Led(sharing), alone);
    } else {
      sharing.Follow([&] { return job_.get(); });
    }
  });
}

TEST_F(SweepSharingTest, AProcessWithoutTheJobIsNoHelp) {
  const Sweep alone = SweepTargets(*job_);
  RunProcesses(2, [&](Communicator& communicator) {
    SweepSharing sharing(communicator);
    if (communicator.leads()) {
      ExpectSame(Led(sharing), alone);
    } else {
      sharing.Follow([] { return nullptr; });
    }
  });
}

// The other job's step takes equally long, because both are GPU-bound, but its host is slower.
TEST_F(SweepSharingTest, AnotherCalibrationIsNoHelp) {
  const std::unique_ptr<TraceStore> slow_store = Steps(/*host_us=*/4);
  const Result<std::unique_ptr<Job>> slow =
      Job::Make(*slow_store, TestReferenceData(), {}, Calibration());
  ASSERT_TRUE(slow.ok());
  const Sweep alone = SweepTargets(*job_);
  ASSERT_EQ(SweepTargets(*slow.value()).step_ms, alone.step_ms);
  ASSERT_NE(TargetSweep(*slow.value()).fingerprint(), TargetSweep(*job_).fingerprint());
  RunProcesses(2, [&](Communicator& communicator) {
    SweepSharing sharing(communicator);
    if (communicator.leads()) {
      ExpectSame(Led(sharing), alone);
    } else {
      sharing.Follow([&] { return slow.value().get(); });
    }
  });
}

TEST_F(SweepSharingTest, ALeaderThatDoesNotSweepLetsTheOthersGo) {
  for (const bool begins : {false, true}) {
    RunProcesses(2, [&](Communicator& communicator) {
      SweepSharing sharing(communicator);
      if (!communicator.leads()) {
        sharing.Follow([&] { return job_.get(); });
      } else if (begins) {
        sharing.Begin();
      }
    });
  }
}

}  // namespace sweep_sharing_test
}  // namespace headroom
