#include "answers/report/ranks_phrases.h"

#include <gtest/gtest.h>

#include "answers/report/report_fixture.h"

namespace headroom {
namespace ranks_phrases_test {

TEST(RanksVerdict, NamesWhoIsLateAndWhatItCosts) {
  JobRanks job = SlowRankOne();
  EXPECT_EQ(
      RanksVerdict(job),
      "Rank 1 (on node2) holds the others up in 2 of 3 steps: the job loses 30.0 ms of 3 steps "
      "(25.0 "
      "%). Differences below 3.00 us are not resolved. Its GPU takes longer for the same work.");
  job.late.why.clear();
  job.waits.stragglers = {0, 1};
  EXPECT_EQ(RanksVerdict(job).rfind("Ranks 0, 1 (all on node2) hold the others up", 0), 0u);
  job.waits.straggler_host.clear();
  EXPECT_EQ(RanksVerdict(job).rfind("Ranks 0, 1 hold the others up", 0), 0u);
}

TEST(RanksVerdict, OfEachPattern) {
  const struct {
    StragglerPattern pattern;
    double lost_share;
    const char* words;
  } kCases[] = {
      {StragglerPattern::kNone, 0.009, "No rank holds the others up for long: "},
      {StragglerPattern::kNone, 0.011, "No rank causes the delay: "},
      {StragglerPattern::kRotating, 0.1, "A different rank is last each time: "},
      {StragglerPattern::kOnce, 0.1, "Rank 1 (on node2) held the others up in one step: "}};
  for (const auto& c : kCases) {
    JobRanks job = SlowRankOne();
    job.waits.pattern = c.pattern;
    job.waits.lost_share = c.lost_share;
    EXPECT_EQ(RanksVerdict(job).rfind(c.words, 0), 0u) << RanksVerdict(job);
  }
}

TEST(RanksVerdict, ClaimsNothingWithoutCollectivesOrSteps) {
  JobRanks job = SlowRankOne();
  job.waits.pattern = StragglerPattern::kNone;
  job.late.why.clear();
  job.waits.lost_share.reset();
  EXPECT_NE(RanksVerdict(job).find("Without steps"), std::string::npos) << RanksVerdict(job);
  job.waits.classes.clear();
  EXPECT_EQ(RanksVerdict(job).rfind("Waits between ranks are unknown", 0), 0u);
  EXPECT_EQ(RanksVerdict({}).find('%'), std::string::npos) << "no rank at all";
}

TEST(PipelineVerdict, NamesTheLongestStageIfStagesAreUneven) {
  EXPECT_EQ(PipelineVerdict(TwoStages(0.2)),
            "2 stages wait for each other for 30.0 % of their time (the bubble). Stage 1 computes "
            "longest, 20.0 % above the mean: move layers away from it.");
  EXPECT_EQ(PipelineVerdict(TwoStages(0.049)),
            "2 stages wait for each other for 30.0 % of their time (the bubble). Their "
            "computing times are about equal.");
}

TEST(AxisOf, MarksWhatIsInferred) {
  JobRanks job = SlowRankOne();
  EXPECT_EQ(AxisOf(job, "world"), "data?");
  job.axes[0].recorded = true;
  EXPECT_EQ(AxisOf(job, "world"), "data");
  job.axes[0].axis.reset();
  EXPECT_EQ(AxisOf(job, "world"), "");
  EXPECT_EQ(AxisOf(job, "unknown group"), "");
  EXPECT_EQ(FindAxis(job, ""), nullptr);
}

TEST(RanksNameOf, WordsOfTheContract) {
  EXPECT_EQ(NameOf(StragglerPattern::kNone), "none");
  EXPECT_EQ(NameOf(StragglerPattern::kRecurrent), "recurrent");
  EXPECT_EQ(NameOf(StragglerPattern::kRotating), "rotating");
  EXPECT_EQ(NameOf(StragglerPattern::kOnce), "once");
  EXPECT_EQ(NameOf(LateCause::kNobodyIsLate), "");
  EXPECT_EQ(NameOf(LateCause::kUnknown), "unknown");
  EXPECT_EQ(NameOf(LateCause::kMoreWork), "more-work");
  EXPECT_EQ(NameOf(LateCause::kSlowGpu), "slow-gpu");
  EXPECT_EQ(NameOf(LateCause::kLateStart), "late-start");
  EXPECT_EQ(NameOf(WorkMeasure::kNone), "");
  EXPECT_EQ(NameOf(WorkMeasure::kFlops), "flops");
  EXPECT_EQ(NameOf(WorkMeasure::kInputBytes), "input_bytes");
}

}  // namespace ranks_phrases_test
}  // namespace headroom
