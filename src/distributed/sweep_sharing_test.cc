#include "distributed/sweep_sharing.h"

#include <gtest/gtest.h>

#include <string>

#include "analysis/test_trace.h"
#include "distributed/test_team.h"

namespace headroom {
namespace {

constexpr std::int64_t kMain = 1, kStream = 7;

/// Steps of kernels of several operators; the host is never far ahead.
std::unique_ptr<TraceStore> Steps() {
  StoreBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.Step(step, kMain, 100 * step, 100);
    for (int op = 0; op < 5; ++op) {
      b.Launch("aten::op" + std::to_string(op), kMain, 100 * step + 15 * op,
               "kernel" + std::to_string(op), kStream, 100 * step + 15 * op + 10, 14);
    }
  }
  return b.Build();
}

class SweepSharingTest : public testing::Test {
 protected:
  SweepSharingTest() : store_(Steps()) {
    Result<std::unique_ptr<Job>> job = Job::Make(*store_, TestKnowledge(), {}, Calibration());
    EXPECT_TRUE(job.ok()) << job.status().message();
    job_ = std::move(job).value();
  }

  static void ExpectSame(const Sweep& sweep, const Sweep& expected) {
    EXPECT_EQ(sweep.step_ms, expected.step_ms);
    EXPECT_EQ(sweep.replays, expected.replays);
    ASSERT_EQ(sweep.targets.size(), expected.targets.size());
    for (std::size_t i = 0; i < sweep.targets.size(); ++i) {
      EXPECT_EQ(sweep.targets[i].name, expected.targets[i].name);
      EXPECT_EQ(sweep.targets[i].step_ms, expected.targets[i].step_ms);
      EXPECT_EQ(sweep.targets[i].knee_factor, expected.targets[i].knee_factor);
    }
    ASSERT_EQ(sweep.next.size(), expected.next.size());
  }

  std::unique_ptr<TraceStore> store_;
  std::unique_ptr<Job> job_;
};

TEST_F(SweepSharingTest, ManyProcessesSayWhatOneSays) {
  const Sweep alone = SweepTargets(*job_);
  ASSERT_GT(alone.targets.size(), 6u);
  RunTeam(3, [&](Team& team) {
    SweepSharing sharing(team);
    if (team.leads()) {
      ExpectSame(sharing.Lead(*job_), alone);
    } else {
      sharing.Follow(job_.get());
    }
  });
}

TEST_F(SweepSharingTest, AProcessWithoutTheJobIsNoHelp) {
  const Sweep alone = SweepTargets(*job_);
  RunTeam(2, [&](Team& team) {
    SweepSharing sharing(team);
    if (team.leads()) {
      ExpectSame(sharing.Lead(*job_), alone);
    } else {
      sharing.Follow(nullptr);
    }
  });
}

TEST_F(SweepSharingTest, AnotherJobIsNoHelp) {
  StoreBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.Step(step, kMain, 120 * step, 120);
    b.Launch("aten::op0", kMain, 120 * step, "kernel0", kStream, 120 * step + 10, 80);
  }
  const std::unique_ptr<TraceStore> other_store = b.Build();
  const Result<std::unique_ptr<Job>> other =
      Job::Make(*other_store, TestKnowledge(), {}, Calibration());
  ASSERT_TRUE(other.ok());
  const Sweep alone = SweepTargets(*job_);
  RunTeam(2, [&](Team& team) {
    SweepSharing sharing(team);
    if (team.leads()) {
      ExpectSame(sharing.Lead(*job_), alone);
    } else {
      sharing.Follow(other.value().get());
    }
  });
}

TEST_F(SweepSharingTest, ALeaderThatDoesNotSweepLetsTheOthersGo) {
  RunTeam(2, [&](Team& team) {
    SweepSharing sharing(team);
    if (!team.leads()) sharing.Follow(job_.get());
  });
}

}  // namespace
}  // namespace headroom
