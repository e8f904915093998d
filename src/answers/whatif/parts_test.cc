// What `headroom whatif` prints beside its forecasts: scores, batch curve, self-check and sweep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "answers/test_text.h"
#include "answers/whatif/batch_curve.h"
#include "answers/whatif/score.h"
#include "answers/whatif/self_check.h"
#include "answers/whatif/sweep.h"

namespace headroom {
namespace whatif_parts_test {

using Json = nlohmann::ordered_json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

template <class Write>
std::vector<std::string> TextOf(const Write& write) {
  TextPage page(/*color=*/false, Charset::kUtf8);
  write(page);
  const std::string text = std::move(page).Take();
  ExpectFits(text);
  return LinesOf(text);
}

template <class Write>
Json JsonOf(const Write& write) {
  JsonWriter json;
  write(json);
  return Json::parse(std::move(json).Take());
}

ScoreReport Score() {
  ScoreReport score;
  score.before = "a.json";
  score.after = "b.json";
  score.record.scenario = "gpu-speed:factor=2";
  score.record.baseline_ms = 20;
  score.record.step_ms = {.low = 9, .mid = 11, .high = 12};
  score.record.actual_ms = 10;
  score.ledger = "forecasts";
  return score;
}

TEST(Score, SaysWhetherTheIntervalHeld) {
  ScoreReport score = Score();
  const auto lines = [&] { return LinesOf(RenderScoreText(score, false, Charset::kUtf8)); };
  EXPECT_THAT(lines(), Contains("  Forecast  11.00 ms (9.00 ms to 12.00 ms)"));
  EXPECT_THAT(lines(), Contains("  After     10.00 ms, the trace without its profiler (b.json)"));
  EXPECT_THAT(lines(), Contains("  Error     +10.0 %; the interval held"));
  EXPECT_THAT(lines(), Contains("  Ledger    0 of 3 scores that set the intervals of gpu-speed on "
                                "this machine (forecasts)"));
  score.record.actual_ms = 22;
  score.measured = true;
  score.rule = {.scores = 3, .factor = 1.5};
  EXPECT_THAT(lines(), Contains("  Truth     22.00 ms, measured (b.json)"));
  EXPECT_THAT(lines(), Contains("  Error     -50.0 %; the interval did not hold"));
  EXPECT_THAT(lines(), Contains("  Ledger    by 3 scores, intervals of gpu-speed on this machine "
                                "are 1.50 times as wide (forecasts)"));
  const Json json = Json::parse(RenderScoreJson(score));
  EXPECT_EQ(json["schema"], "headroom.whatif-score/1");
  EXPECT_EQ(json["source"], "measured");
  EXPECT_EQ(json["error_pct"], -50);
  EXPECT_EQ(json["held"], false);
}

TEST(Scores, ListScoredAndOtherRecords) {
  LedgerRecord open = Score().record;
  open.actual_ms.reset();
  const std::vector<LedgerRecord> records = {Score().record, open};
  const Json json = Json::parse(RenderScoresJson(records, "forecasts"));
  ASSERT_EQ(json["records"].size(), 2u);
  EXPECT_EQ(json["records"][0]["held"], true);
  for (const char* key : {"actual_ms", "error_pct", "held"})
    EXPECT_TRUE(json["records"][1][key].is_null()) << key;
  ExpectFits(RenderScoresText(records, "forecasts", false, Charset::kAscii));
  EXPECT_THAT(RenderScoresText({}, "forecasts", false, Charset::kUtf8),
              HasSubstr("no forecast is saved in forecasts; headroom whatif TRACE SCENARIO"));
}

TEST(Score, TakesAnyName) {
  for (const std::string& name : HostileNames()) {
    ScoreReport score = Score();
    score.before = score.after = score.ledger = score.record.path = score.record.scenario = name;
    ExpectFits(RenderScoreText(score, false, Charset::kUtf8));
    ExpectFits(RenderScoresText(std::vector{score.record}, name, false, Charset::kUtf8));
    EXPECT_TRUE(Json::accept(RenderScoreJson(score)));
    EXPECT_TRUE(Json::accept(RenderScoresJson(std::vector{score.record}, name)));
  }
}

TEST(MemoryText, HasItsSign) {
  EXPECT_EQ(MemoryText(std::nullopt), "unknown");
  EXPECT_EQ(MemoryText(0), "none");
  EXPECT_EQ(MemoryText(3'900'000'000), "+3.90 GB");
  EXPECT_EQ(MemoryText(-12'000'000), "-12.00 MB");
}

TEST(BatchCurve, NamesItsKneeOrTheLastThatFits) {
  BatchCurve curve{.recorded = 8,
                   .points = {{8, 10, 800, 0}, {16, 19, 842, 1'000'000}, {32, 38, 843, {}, true}},
                   .knee = {}};
  const auto lines = [&] {
    return TextOf([&](TextPage& page) { WriteBatchCurveText("batch-size:n=16", curve, page); });
  };
  EXPECT_THAT(lines(), Contains("  Each doubling up to 16 samples brings 10 % more throughput or "
                                "more."));
  EXPECT_THAT(lines(), Contains(HasSubstr("recorded batch")).Times(1));
  curve.knee = 8;
  EXPECT_THAT(lines(), Contains("  From 8 samples on, twice the batch brings less than 10 % more "
                                "throughput."));
  const Json json = JsonOf([&](JsonWriter& to) { WriteBatchCurveJson(curve, to); });
  EXPECT_EQ(json["knee_samples"], 8);
  EXPECT_TRUE(json["points"][2]["memory_delta_bytes"].is_null());
  EXPECT_EQ(json["points"][2]["too_large"], true);
  curve.knee.reset();
  curve.points = {{8, 10, 800, 0, true}};
  EXPECT_THAT(lines(), Not(Contains(HasSubstr("doubling")))) << "none fits";
  curve.points.clear();
  EXPECT_THAT(lines(), Not(Contains(HasSubstr("doubling"))));
}

TEST(SelfCheck, CountsWhatFails) {
  std::vector<SelfCheck> checks = {
      {"identity", "It replays.", 0.5, "%", std::nullopt, 1.0},
      {"faster", "It gains.", 1.2, "x", 1.0, std::nullopt},
      {"edges", "They agree.", 3, "", 0.0, 3.0},
  };
  const auto lines = [&] {
    return TextOf([&](TextPage& page) { WriteSelfCheckText(checks, page); });
  };
  EXPECT_THAT(lines(), Contains(HasSubstr("all 3 hold")));
  EXPECT_THAT(lines(), Contains(HasSubstr("at most 1.000 %")));
  EXPECT_THAT(lines(), Contains(HasSubstr("at least 1.000x")));
  EXPECT_THAT(lines(), Contains(HasSubstr("0 to 3")));
  checks[2].figure = 3.5;
  EXPECT_THAT(lines(), Contains(HasSubstr("1 of 3 FAILED")));
  const Json json = JsonOf([&](JsonWriter& to) { WriteSelfCheckJson(checks, to); });
  EXPECT_EQ(json[0]["passed"], true);
  EXPECT_TRUE(json[0]["low"].is_null());
  EXPECT_EQ(json[2]["passed"], false);
  EXPECT_TRUE(json[2]["unit"].is_null()) << "a count";
}

TEST(Sweep, LeavesOutWhatGainsNothing) {
  Sweep sweep;
  sweep.step_ms = 100;
  const auto lines = [&] { return TextOf([&](TextPage& page) { WriteSweepText(sweep, page); }); };
  EXPECT_THAT(lines(), Contains("  No part of the work gains anything alone."));
  sweep.targets = {
      {.kind = TargetKind::kSync, .name = "cudaDeviceSynchronize", .saves_at_most_ms = 5},
      {.name = "small", .saves_at_most_ms = 0.19}};
  sweep.targets[0].step_ms.back() = 95;
  EXPECT_THAT(lines(), Contains("  1 more parts save less or nothing (--json has all)."));
  EXPECT_THAT(lines(), Not(Contains(HasSubstr("Knee"))));
  sweep.targets[0].knee_factor = 1.25;
  EXPECT_THAT(lines(), Contains(HasSubstr("  Knee: ")));
  EXPECT_THAT(lines(), Not(Contains(HasSubstr("Best next fix"))));
  sweep.next = {{.name = "gemm", .step_ms = 90, .saves_ms = 10}};
  EXPECT_THAT(lines(), Contains(HasSubstr("Best next fix")));
  const Json json = JsonOf([&](JsonWriter& to) { WriteSweepJson(sweep, to); });
  EXPECT_EQ(json["factors"].size(), kSweepFactors.size());
  EXPECT_TRUE(json["factors"].back().is_null()) << "infinitely fast";
  EXPECT_EQ(json["targets"].size(), 2u);
  EXPECT_EQ(json["targets"][0]["step_ms"].back(), 95);
  EXPECT_TRUE(json["targets"][0]["step_ms"][0].is_null());
  for (const std::string& name : HostileNames()) {
    sweep.targets[0].name = sweep.next[0].name = name;
    lines();
    JsonOf([&](JsonWriter& to) { WriteSweepJson(sweep, to); });
  }
}

}  // namespace whatif_parts_test
}  // namespace headroom
