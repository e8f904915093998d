#include "answers/predict/job_plan.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "kernels/test_devices.h"

namespace headroom {
namespace job_plan_test {

constexpr const char* kPrices = R"toml(
[[instance]]
provider = "a"
instance = "one"
region = "x"
gpu = "T4"
gpus = 1
price_per_hour = 2.0
currency = "USD"
date = "2024-01-02"
source = "test"

[[instance]]
provider = "b"
instance = "dear"
region = "x"
gpu = "T4"
gpus = 1
price_per_hour = 3.0
currency = "USD"
date = "2024-01-02"
source = "test"
)toml";

class JobPlanTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "plan-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    prices_ = (folder_ / "prices.toml").string();
    std::ofstream(prices_) << kPrices;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Plans a job of 3,600,000 steps on a T4. Each takes 2 ms and 1 J, in total 2 h and 1 kWh.
  PredictReport Planned(JobPlanQuestion question) {
    question.total_steps = 3'600'000;
    if (question.prices_path.empty()) question.prices_path = prices_;
    PredictReport report;
    PredictedTarget& target = report.targets.emplace_back();
    target.gpu = "T4";
    target.step = {1.5, 2, 2.5};
    target.energy.emplace().joules = 1;
    JobPlan plan(std::move(question));
    const Status status = plan.Load(ShippedDevices());
    EXPECT_TRUE(status.ok()) << status.message();
    plan.Make(report);
    return report;
  }

  Status LoadOf(JobPlanQuestion question) {
    question.total_steps = 10;
    JobPlan plan(std::move(question));
    return plan.Load(ShippedDevices());
  }

  std::filesystem::path folder_;
  std::string prices_;
};

TEST(JobPlanQuestion, WhatIsSaidOfAJobNeedsItsLength) {
  EXPECT_TRUE(JobPlanQuestion().Check().ok());
  EXPECT_EQ(JobPlanQuestion{.region = "DE"}.Check().code(), StatusCode::kUsage);
  EXPECT_TRUE((JobPlanQuestion{.total_steps = 5, .region = "DE"}.Check().ok()));
  for (const double limit : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ((JobPlanQuestion{.total_steps = 5, .max_hours = limit}.Check().code()),
              StatusCode::kUsage)
        << limit;
  }
}

TEST_F(JobPlanTest, HoursMoneyAndCarbonOfTheJob) {
  const PredictReport report = Planned({.region = "DE", .pue = "1.5"});
  const PredictedTarget& target = report.targets[0];
  EXPECT_DOUBLE_EQ(*target.hours, 2);
  EXPECT_DOUBLE_EQ(*target.money, 4) << "the cheaper one";
  EXPECT_EQ(target.currency, "USD");
  const CarbonData carbon = CarbonData::LoadBuiltIn().value();
  EXPECT_NEAR(*target.co2_kg, 1.5 * carbon.FindRegion("DE")->g_co2_per_kwh / 1000, 1e-9);
  ASSERT_EQ(report.options.size(), 2u);
  EXPECT_EQ(report.options[0].option.instance.instance, "one");
  EXPECT_DOUBLE_EQ(report.options[1].option.money, 6);
}

TEST_F(JobPlanTest, OptionsOverALimitAreLeftOutAndCounted) {
  PredictReport report = Planned({.max_money = 5});
  EXPECT_EQ(report.options.size(), 1u);
  EXPECT_EQ(report.options_over_limits, 1);
  report = Planned({.max_hours = 1});
  EXPECT_TRUE(report.options.empty());
  EXPECT_EQ(report.options_over_limits, 2);
  report = Planned({.provider = "B"});
  ASSERT_EQ(report.options.size(), 1u);
  EXPECT_EQ(report.options[0].option.instance.instance, "dear");
}

TEST_F(JobPlanTest, RefusesWithTheFlagAndTheRemedy) {
  const struct {
    JobPlanQuestion question;
    StatusCode code;
    const char* words;
  } kCases[] = {
      {{.prices_path = prices_, .region = "XX"}, StatusCode::kUsage, "--region XX: no such grid"},
      {{.prices_path = prices_, .pue = "0.9"}, StatusCode::kUsage, "--pue 0.9: must be from 1"},
      {{.prices_path = prices_, .pue = "much"}, StatusCode::kUsage, "--pue much: neither a number"},
      {{.prices_path = prices_, .provider = "c"},
       StatusCode::kUsage,
       "--provider c: not in the price list, which has a, b"}};
  for (const auto& c : kCases) {
    const Status status = LoadOf(c.question);
    EXPECT_EQ(status.code(), c.code) << c.words;
    EXPECT_EQ(status.message().rfind(c.words, 0), 0u) << status.message();
  }
  std::ofstream(prices_) << "\n";
  EXPECT_EQ(LoadOf({.prices_path = prices_}).code(), StatusCode::kBadInput);
}

TEST_F(JobPlanTest, WithoutALengthNothingIsPlanned) {
  JobPlan plan({});
  ASSERT_TRUE(plan.Load(ShippedDevices()).ok());
  PredictReport report;
  report.targets.emplace_back().gpu = "T4";
  plan.Make(report);
  EXPECT_FALSE(report.targets[0].hours || report.total_steps);
  EXPECT_TRUE(report.options.empty());
}

}  // namespace job_plan_test
}  // namespace headroom
