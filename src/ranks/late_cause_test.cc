#include "ranks/late_cause.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace headroom {
namespace late_cause_test {

constexpr DurationNs Ms(double ms) { return DurationNs(static_cast<std::int64_t>(ms * 1e6)); }

/// Four ranks and four steps of 100 ms. Each rank computes 50 ms with 1e12 FLOPs per step.
class LateCauseTest : public testing::Test {
 protected:
  LateCauseTest() : ranks_(4) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      ranks_[r].rank = static_cast<std::int64_t>(r);
      for (int step = 0; step < 4; ++step) {
        ranks_[r].steps.push_back({.number = step,
                                   .start = TimeNs(0),
                                   .wall = Ms(100),
                                   .computing = Ms(50),
                                   .flops = 1e12});
      }
    }
    waits_.ranks.resize(ranks_.size());
    waits_.steps = 4;
  }

  void Hold(std::size_t rank, double ms_a_step) {
    waits_.pattern = StragglerPattern::kRecurrent;
    waits_.stragglers = {rank};
    waits_.ranks[rank].caused = Ms(4 * ms_a_step);
  }
  void Compute(std::size_t rank, double ms, std::optional<double> flops) {
    for (RankStep& step : ranks_[rank].steps) {
      step.computing = Ms(ms);
      step.flops = flops;
    }
  }
  struct Judged : JobWork, LateReason {};
  Judged Work() {
    JobWork work = CompareWork(ranks_);
    LateReason reason = FindLateCause(ranks_, waits_, work);
    return {std::move(work), std::move(reason)};
  }

  std::vector<RankTimeline> ranks_;
  JobWaits waits_;
};

TEST_F(LateCauseTest, NobodyIsLate) {
  const Judged work = Work();
  EXPECT_EQ(work.measure, WorkMeasure::kFlops);
  EXPECT_EQ(work.steps, 4);
  EXPECT_EQ(work.computing_imbalance, 0);
  EXPECT_FALSE(work.explained.has_value());
  EXPECT_EQ(work.cause, LateCause::kNobodyIsLate);
  EXPECT_TRUE(work.why.empty());
}

TEST_F(LateCauseTest, LongerSamples) {
  Compute(2, 70, 1.4e12);
  Hold(2, 20);
  const Judged work = Work();
  EXPECT_EQ(work.cause, LateCause::kMoreWork);
  EXPECT_EQ(
      work.why,
      "Rank 2 computes 1.4 times as long as the median rank, with 1.4 times the work (FLOPs from "
      "operator shapes): it has more to compute.");
  EXPECT_NEAR(work.computing_imbalance, 70 / 55.0 - 1, 1e-9);
  EXPECT_NEAR(*work.work_imbalance, 1.4 / 1.1 - 1, 1e-9);
  EXPECT_NEAR(*work.explained, 1, 1e-9);
}

TEST_F(LateCauseTest, ASlowGpu) {
  Compute(2, 70, 1e12);
  Hold(2, 20);
  const Judged work = Work();
  EXPECT_EQ(work.cause, LateCause::kSlowGpu);
  EXPECT_NE(work.why.find("its GPU is slower"), std::string::npos) << work.why;
}

TEST_F(LateCauseTest, ALateStart) {
  Hold(2, 20);
  const Judged work = Work();
  EXPECT_EQ(work.cause, LateCause::kLateStart);
  EXPECT_NE(work.why.find("Rank 2 computes as long as the median rank"), std::string::npos)
      << work.why;
}

TEST_F(LateCauseTest, OfSeveralEachIsJudged) {
  Compute(1, 60, 1.2e12);
  Hold(1, 10);
  waits_.stragglers = {1, 2};
  waits_.ranks[2].caused = Ms(4 * 20);
  const Judged work = Work();
  // The rank that costs the others most comes first.
  EXPECT_EQ(work.cause, LateCause::kLateStart);
  EXPECT_EQ(work.why.find("Rank 2 computes as long as"), 0u) << work.why;
  EXPECT_NE(work.why.find("Rank 1 computes 1.2 times as long"), std::string::npos) << work.why;
}

TEST_F(LateCauseTest, WithoutShapesSamplesAndGpuAreNotToldApart) {
  for (std::size_t r = 0; r < 4; ++r) Compute(r, 50, std::nullopt);
  Compute(2, 70, std::nullopt);
  Hold(2, 20);
  Judged work = Work();
  EXPECT_EQ(work.measure, WorkMeasure::kNone);
  EXPECT_EQ(work.cause, LateCause::kUnknown);
  EXPECT_NE(work.why.find("record_shapes=True"), std::string::npos) << work.why;
  // The input bytes copied to the GPU also measure the work.
  for (std::size_t r = 0; r < 4; ++r) {
    for (RankStep& step : ranks_[r].steps) step.input_bytes = r == 2 ? 1.4e6 : 1e6;
  }
  work = Work();
  EXPECT_EQ(work.measure, WorkMeasure::kInputBytes);
  EXPECT_EQ(work.cause, LateCause::kMoreWork);
  // Equal input may still require more compute.
  for (RankStep& step : ranks_[2].steps) step.input_bytes = 1e6;
  EXPECT_EQ(Work().cause, LateCause::kUnknown);
}

TEST_F(LateCauseTest, AnotherIsLateEachTime) {
  waits_.pattern = StragglerPattern::kRotating;
  waits_.lost = Ms(4 * 20);
  for (int step = 0; step < 4; ++step) {
    RankStep& late = ranks_[static_cast<std::size_t>(step)].steps[static_cast<std::size_t>(step)];
    late.computing = Ms(80);
    late.flops = 1.6e12;
  }
  Judged work = Work();
  EXPECT_EQ(work.cause, LateCause::kMoreWork);
  EXPECT_EQ(
      work.why,
      "Among the ranks of a step, the work (FLOPs from operator shapes) explains 100 % of the "
      "variation in computing time.");
  // The late rank now has less work, so the data explains none of its lateness.
  for (int step = 0; step < 4; ++step)
    ranks_[static_cast<std::size_t>(step)].steps[static_cast<std::size_t>(step)].flops = 0.5e12;
  work = Work();
  EXPECT_EQ(work.explained, 0);
  EXPECT_EQ(work.cause, LateCause::kUnknown);
}

TEST_F(LateCauseTest, LongerComputingOfTheSameWorkIsNoLateStart) {
  waits_.pattern = StragglerPattern::kRotating;
  waits_.lost = Ms(4 * 20);
  for (std::size_t step = 0; step < 4; ++step) ranks_[step].steps[step].computing = Ms(80);
  const Judged work = Work();
  EXPECT_EQ(work.cause, LateCause::kUnknown);
  EXPECT_NE(work.why.find("their work does not differ"), std::string::npos) << work.why;
}

TEST_F(LateCauseTest, StepsThatAreLongerForAllExplainNothing) {
  waits_.pattern = StragglerPattern::kRotating;
  waits_.lost = Ms(4 * 20);
  for (RankTimeline& rank : ranks_) {
    for (RankStep& step : rank.steps) {
      step.computing = Ms(50 + 10.0 * static_cast<double>(step.number));
      step.flops = 1e12 * (5 + static_cast<double>(step.number));
    }
  }
  const Judged work = Work();
  EXPECT_FALSE(work.explained.has_value());
  EXPECT_EQ(work.cause, LateCause::kLateStart);
}

TEST_F(LateCauseTest, LessToComputeIsNoReason) {
  Compute(2, 20, 0.4e12);
  Hold(2, 20);
  const Judged work = Work();
  EXPECT_EQ(work.cause, LateCause::kLateStart);
  EXPECT_NE(work.why.find("computes for less time than the median rank"), std::string::npos)
      << work.why;
}

TEST_F(LateCauseTest, StepsOfOneRankAloneAreNotCompared) {
  for (std::size_t r = 1; r < 4; ++r) ranks_[r].steps.clear();
  Hold(2, 20);
  const Judged work = Work();
  EXPECT_EQ(work.cause, LateCause::kUnknown);
  EXPECT_EQ(work.steps, 0);
  EXPECT_TRUE(work.ranks.empty());
}

}  // namespace late_cause_test
}  // namespace headroom
