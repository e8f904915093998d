#include "answers/data/answer.h"

#include <gtest/gtest.h>

#include "analysis/test_trace.h"

namespace headroom {
namespace data_answer_test {

constexpr DurationNs Ms(std::int64_t ms) { return DurationNs(ms * 1'000'000); }

TEST(ParseLoadingChanges, KeepsTheWordsAndStopsAtTheFirstThatIsWrong) {
  const auto changes = ParseLoadingChanges({"workers=4", "workers=2,prefetch=4"});
  ASSERT_TRUE(changes.ok()) << changes.status().message();
  ASSERT_EQ(changes.value().size(), 2u);
  EXPECT_EQ(changes.value()[1].name, "workers=2,prefetch=4");
  for (const char* wrong : {"", "workers", "workers=", "nonsense=4"}) {
    const auto refused = ParseLoadingChanges({"workers=4", wrong, "also wrong"});
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.status().code(), StatusCode::kUsage) << wrong;
  }
}

TEST(LoopViewOf, WithoutABreakdownNothingIsKnown) {
  const auto store = StoreBuilder().Build();
  const LoopView view = LoopViewOf(TraceReport(), *store);
  EXPECT_EQ(view.step, DurationNs());
  EXPECT_FALSE(view.wait || view.exposed_share || view.transfer || view.throttled_cores);
}

TEST(LoopViewOf, TakesTheExposedShareOfTheWait) {
  const auto store = StoreBuilder().Build();
  TraceReport report;
  report.breakdown.emplace().wall = Ms(100);
  report.breakdown->step.data_wait = Ms(5);
  report.breakdown->step.host_to_device = Ms(3);
  report.loop.emplace().data_wait = Ms(20);
  LoopView view = LoopViewOf(report, *store);
  EXPECT_EQ(view.step, Ms(100));
  EXPECT_EQ(view.wait, Ms(20));
  EXPECT_FALSE(view.exposed_share || view.transfer) << "no GPU work was recorded";
  report.gpu_time.emplace_back();
  view = LoopViewOf(report, *store);
  EXPECT_EQ(view.transfer, Ms(3));
  EXPECT_DOUBLE_EQ(*view.exposed_share, 0.25);
  report.input_wait.emplace();
  report.input_wait->host = Ms(10);
  report.input_wait->exposed = Ms(4);
  EXPECT_DOUBLE_EQ(*LoopViewOf(report, *store).exposed_share, 0.4);
}

TEST(DataAnswer, WithoutALoaderSaysHowToRecordOne) {
  const auto store = StoreBuilder().Build();
  DataAnswer answer(*store, "a.json", {});
  const auto report = answer.Ask(1, {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), StatusCode::kNoAnswer);
  EXPECT_NE(report.status().message().find("headroom record -- python train.py"),
            std::string::npos);
}

TEST(DataAnswer, AWaitOfTheLoopIsToldWithoutAForecast) {
  const auto store = StoreBuilder().Build();
  LoopView view;
  view.step = Ms(100);
  view.wait = Ms(40);
  DataAnswer answer(*store, "a.json", view);
  const auto report = answer.Ask(1, {});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report.value().split.wait, Ms(40));
  EXPECT_NE(report.value().no_forecast, "");
  const auto change = ParseLoadingChanges({"workers=4"});
  ASSERT_TRUE(change.ok());
  EXPECT_EQ(answer.Ask(1, change.value()).status().code(), StatusCode::kNoAnswer);
}

}  // namespace data_answer_test
}  // namespace headroom
