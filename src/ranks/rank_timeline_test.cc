#include "ranks/rank_timeline.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/analyzed_trace.h"
#include "analysis/test_trace.h"

namespace headroom {
namespace {

RankTimeline TimelineOf(const StoreBuilder& builder) {
  const std::unique_ptr<TraceStore> store = builder.Build();
  NameFacts names(*store, TestReferenceData());
  Result<AnalyzedTrace> trace = AnalyzeTrace(*store, TestReferenceData(), names, {});
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return ReadRankTimeline(*store, names, TestReferenceData().groups(), trace.value(), {});
}

TEST(RankTimelineTest, RangesOfTheLoopAreCollectivesWithoutGpuWork) {
  StoreBuilder b;
  for (int i = 0; i < 4; ++i) {
    const int at = i * 1000;
    b.Step(i, kMain, at, 900);
    b.Region("FORWARD", kMain, at, 200);
    b.Region("BACKWARD", kMain, at + 200, 600);
    b.Region("COMM", kMain, at + 500, 300);
    b.Region("all_reduce", kMain, at + 500, 300);
    b.Region("COMM", kMain, at + 850, 40);  // Does not tell the collective.
  }
  const RankTimeline timeline = TimelineOf(b);
  ASSERT_EQ(timeline.collectives.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const RankCollective& collective = timeline.collectives[i];
    const auto at = static_cast<std::int64_t>(i) * 1000;
    EXPECT_EQ(collective.kind, "allreduce");
    EXPECT_EQ(collective.step, static_cast<std::int64_t>(i));
    EXPECT_EQ(collective.start, AtUs(at + 500));
    EXPECT_EQ(collective.end, AtUs(at + 800));
    EXPECT_EQ(collective.phase, Phase::kBackward);
    EXPECT_EQ(timeline.steps[i].computing, Us(500));    // Forward, and backward without the wait.
    EXPECT_EQ(timeline.steps[i].collectives, Us(340));  // Both ranges.
  }
}

TEST(RankTimelineTest, RangesAreNoCollectivesWithGpuWork) {
  StoreBuilder b;
  for (int i = 0; i < 4; ++i) {
    b.Step(i, kMain, i * 1000, 900);
    b.Region("COMM", kMain, i * 1000, 300);
    b.Region("all_reduce", kMain, i * 1000, 300);
    b.Launch("aten::mm", kMain, i * 1000 + 400, kGemm, kStream, i * 1000 + 410, 300);
  }
  EXPECT_TRUE(TimelineOf(b).collectives.empty());
}

}  // namespace
}  // namespace headroom
