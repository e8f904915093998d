#include "answers/whatif/answer.h"

#include <gtest/gtest.h>

#include "whatif/explanation.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/test_job.h"

namespace headroom {
namespace whatif_answer_test {

class WhatifAnswer : public testing::Test {
 protected:
  void SetUp() override {
    for (int step = 0; step < 4; ++step) {
      builder_.Step();
      for (int i = 0; i < 3; ++i)
        builder_.Forward("aten::add", "[[1024, 1024], [1024, 1024]]", 200, 3 * step + i);
    }
  }

  ForecastReport Ask(const std::vector<std::string>& scenarios, const IsWanted& wanted = {}) {
    const Job& job = builder_.Build();
    Forecaster forecaster(job);
    const auto calls = ParseScenarios(scenarios);
    EXPECT_TRUE(calls.ok()) << calls.status().message();
    Result<ForecastReport> report =
        AnswerForecasts(job, {.path = "a.json", .calibration = "None.", .note = "Only step 2."},
                        {.scenarios = scenarios,
                         .calls = calls.value(),
                         .explain = true,
                         .self_check = true,
                         .is_wanted = wanted ? wanted : AlwaysWanted},
                        forecaster);
    EXPECT_TRUE(report.ok());
    return std::move(report).value();
  }

  JobBuilder builder_;
};

TEST(ParseScenarios, OneListOfCallsAText) {
  const std::vector<std::string> texts = {"amp", "host-speed:factor=2+amp"};
  const auto calls = ParseScenarios(texts);
  ASSERT_TRUE(calls.ok()) << calls.status().message();
  ASSERT_EQ(calls.value().size(), 2u);
  EXPECT_EQ(calls.value()[0].size(), 1u);
  EXPECT_EQ(calls.value()[1].size(), 2u);
  const std::vector<std::string> wrong = {"amp", "no-such-change"};
  EXPECT_EQ(ParseScenarios(wrong).status().code(), StatusCode::kUsage);
}

TEST_F(WhatifAnswer, AnswersInTheOrderAskedFor) {
  const ForecastReport report = Ask({"gpu-speed:factor=2", "host-speed:factor=2"});
  EXPECT_EQ(report.path, "a.json");
  EXPECT_FALSE(report.ranked);
  EXPECT_NE(report.baseline.steps_note.find("Only step 2."), std::string::npos);
  ASSERT_EQ(report.forecasts.size(), 2u);
  EXPECT_EQ(report.forecasts[0].name, "gpu-speed:factor=2");
  EXPECT_EQ(report.forecasts[1].name, "host-speed:factor=2");
  // 3 kernels of 200 us per step. The host ends long before, so half of the GPU's time is saved.
  EXPECT_NEAR(report.forecasts[0].saves_ms, 0.3, 0.03);
  EXPECT_EQ(report.explanation->plans.size(), 2u + ExplainJob(builder_.Build()).plans.size());
  EXPECT_FALSE(report.self_check.empty());
}

TEST_F(WhatifAnswer, NothingAskedForIsTheRanking) {
  const ForecastReport report = Ask({});
  EXPECT_TRUE(report.ranked);
  EXPECT_FALSE(report.abstaining.empty());
  for (std::size_t i = 1; i < report.forecasts.size(); ++i)
    EXPECT_GE(report.forecasts[i - 1].saves_ms, report.forecasts[i].saves_ms) << i;
}

TEST_F(WhatifAnswer, StopsWhenNobodyWantsItAnyMore) {
  int asked = 0;
  const ForecastReport report =
      Ask({"gpu-speed:factor=2", "host-speed:factor=2"}, [&] { return asked++ == 0; });
  EXPECT_EQ(report.forecasts.size(), 1u);
}

TEST(AnswerWithout, EachScenarioAbstainsForTheReason) {
  const Status why = Status::NoAnswer("it has no GPU work");
  const std::vector<std::string> named = {"amp", "tf32"};
  const ForecastReport asked = AnswerWithout("a.json", why, named);
  EXPECT_EQ(asked.no_answer, "it has no GPU work");
  ASSERT_EQ(asked.forecasts.size(), 2u);
  EXPECT_EQ(asked.forecasts[1].name, "tf32");
  EXPECT_FALSE(asked.forecasts[1].applies);
  EXPECT_TRUE(asked.abstaining.empty());
  const ForecastReport ranked = AnswerWithout("a.json", why, {});
  EXPECT_TRUE(ranked.ranked && ranked.forecasts.empty());
  EXPECT_EQ(ranked.abstaining.size(), Catalogue().size());
  EXPECT_EQ(ranked.abstaining.front().why, "it has no GPU work");
}

}  // namespace whatif_answer_test
}  // namespace headroom
