#include "whatif/forecast_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace forecast_ledger_test {

/// Returns the record of a scored forecast of 100 ms, 90 to 120. Every call is for another job.
LedgerRecord Scored(double actual_ms, std::string scenario = "amp", std::string machine = "m") {
  static int job = 0;
  return {.machine = std::move(machine),
          .trace = "t",
          .path = "before.json",
          .scenario = std::move(scenario),
          .baseline_ms = 150,
          .step_ms = {90, 100, 120},
          .actual_ms = actual_ms,
          .after = std::to_string(++job)};
}

TEST(ForecastLedgerTest, LinesReadBackEqual) {
  LedgerRecord saved = Scored(0);
  saved.actual_ms.reset();
  saved.path = "a \"b\"\n\xff";
  const std::vector<LedgerRecord> read = ReadLedger(LedgerLine(saved) + LedgerLine(Scored(97.25)));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_FALSE(read[0].scored());
  EXPECT_EQ(read[0].path, "a \"b\"\n\xEF\xBF\xBD");
  EXPECT_EQ(read[1].machine, "m");
  EXPECT_EQ(read[1].scenario, "amp");
  EXPECT_DOUBLE_EQ(read[1].baseline_ms, 150);
  EXPECT_DOUBLE_EQ(read[1].step_ms.high, 120);
  EXPECT_DOUBLE_EQ(*read[1].actual_ms, 97.25);
  EXPECT_FALSE(read[1].after.empty());
  EXPECT_EQ(read[1].line, 2);
}

TEST(ForecastLedgerTest, DamagedLinesAreLeftOut) {
  const std::string good = LedgerLine(Scored(100));
  const std::string no_forecast = R"({"trace":"t","scenario":"amp"})";
  std::string upside_down = good;
  upside_down.replace(upside_down.find("90.0"), 4, "190");
  EXPECT_EQ(
      ReadLedger("{\n" + good + "[1]\n" + no_forecast + "\n" + upside_down + good.substr(0, 40))
          .size(),
      1u);
}

TEST(ForecastLedgerTest, ErrorsAndIntervals) {
  EXPECT_DOUBLE_EQ(Scored(80).error_pct(), 25);
  EXPECT_FALSE(Scored(80).held());
  EXPECT_TRUE(Scored(90).held());
  EXPECT_TRUE(Scored(120).held());
  EXPECT_FALSE(Scored(120.1).held());
}

TEST(ForecastLedgerTest, ThreeScoresOfTheKindAndMachineSetTheInterval) {
  std::vector<LedgerRecord> records = {Scored(106), Scored(95), Scored(140, "tf32"),
                                       Scored(140, "amp", "other")};
  EXPECT_EQ(RuleFor(records, "m", "amp:dtype=fp16").scores, 2u);
  EXPECT_DOUBLE_EQ(RuleFor(records, "m", "amp").factor, 1);
  records.push_back(Scored(114));
  // Factors needed: 6/20, 5/10, 14/20.
  EXPECT_DOUBLE_EQ(RuleFor(records, "m", "amp").factor, 0.7);
  records.push_back(Scored(85));
  EXPECT_DOUBLE_EQ(RuleFor(records, "m", "amp").factor, 1.5);
  const StepInterval wider = Apply(RuleFor(records, "m", "amp"), {40, 50, 60});
  EXPECT_DOUBLE_EQ(wider.low, 35);
  EXPECT_DOUBLE_EQ(wider.mid, 50);
  EXPECT_DOUBLE_EQ(wider.high, 65);
}

TEST(ForecastLedgerTest, ScoringAPairAgainReplacesItsScore) {
  std::vector<LedgerRecord> records(3, Scored(500));
  EXPECT_EQ(RuleFor(records, "m", "amp").scores, 1u);
  records.back().actual_ms = 114;
  records.push_back(Scored(100));
  records.push_back(Scored(100));
  EXPECT_DOUBLE_EQ(RuleFor(records, "m", "amp").factor, 0.7);
}

TEST(ForecastLedgerTest, TheFactorIsBounded) {
  const std::vector<LedgerRecord> exact = {Scored(100), Scored(100), Scored(100)};
  const std::vector<LedgerRecord> wild = {Scored(500), Scored(500), Scored(500)};
  EXPECT_DOUBLE_EQ(RuleFor(exact, "m", "amp").factor, kMinFactor);
  EXPECT_DOUBLE_EQ(RuleFor(wild, "m", "amp").factor, kMaxFactor);
}

TEST(ForecastLedgerTest, OfTenScoresOneMayMiss) {
  std::vector<LedgerRecord> records;
  records.reserve(10);
  for (int i = 0; i < 9; ++i) records.push_back(Scored(110));
  records.push_back(Scored(170));
  EXPECT_DOUBLE_EQ(RuleFor(records, "m", "amp").factor, 0.5);
}

}  // namespace forecast_ledger_test
}  // namespace headroom
