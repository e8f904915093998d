#include "answers/whatif/score.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "answers/test_text.h"
#include "render/text_page.h"

namespace headroom {
namespace whatif_score_test {

using Json = nlohmann::ordered_json;

LedgerRecord Scored() {
  LedgerRecord record;
  record.machine = "node7";
  record.path = "before.json";
  record.scenario = "fused-optimizer";
  record.baseline_ms = 100;
  record.step_ms = {.low = 70, .mid = 84, .high = 90};
  record.actual_ms = 80;
  record.line = 3;
  return record;
}

ScoreReport Report() {
  ScoreReport report;
  report.before = "before.json";
  report.after = "after.json";
  report.record = Scored();
  report.ledger = "ledger.jsonl";
  report.rule = {.scores = 2, .factor = 1};
  return report;
}

std::string Text(const ScoreReport& report) { return RenderScoreText(report, PageStyle()); }

std::string Text(const std::vector<LedgerRecord>& records) {
  return RenderScoresText(records, "ledger.jsonl", PageStyle());
}

TEST(ScoreText, ComparesTheForecastWithTheTrace) {
  const std::string text = Text(Report());
  for (const char* words : {"  Before    100 ms (before.json)\n", "  Forecast  84 ms (70-90)\n",
                            "  After     80.0 ms, the trace without its profiler (after.json)\n",
                            "  Error     +5.0 %; the interval held\n",
                            "  Ledger    2 of 3 scores required to calibrate the intervals of "
                            "fused-optimizer on this machine\n            (l"})
    ExpectHas(text, words);
}

TEST(ScoreText, AMeasuredStepIsTheTruth) {
  ScoreReport report = Report();
  report.measured = true;
  report.record.actual_ms = 100;
  report.rule = {.scores = 3, .factor = 1.25};
  const std::string text = Text(report);
  ExpectHas(text, "  Truth     100 ms, measured (after.json)\n");
  ExpectHas(text, "  Error     -16.0 %; the interval did not hold\n");
  ExpectHas(text,
            "from 3 scores: intervals of fused-optimizer on this machine are 1.25 times as wide");
}

TEST(ScoreJson, HasTheFigures) {
  const Json json = Json::parse(RenderScoreJson(Report()));
  EXPECT_EQ(json["schema"], "headroom.whatif-score/1");
  EXPECT_EQ(json["step_ms"]["high"], 90);
  EXPECT_NEAR(json["error_pct"].get<double>(), 5, 1e-9);
  EXPECT_EQ(json["held"], true);
  EXPECT_EQ(json["source"], "corrected trace");
  EXPECT_EQ(json["scores"], 2);
}

TEST(ScoresText, AnEmptyLedgerSaysHowToSave) {
  const std::string text = Text(std::vector<LedgerRecord>{});
  ExpectHas(text, "0 records");
  ExpectHas(text, "no forecast is saved in ledger.jsonl; headroom whatif TRACE SCENARIO --save");
}

TEST(ScoresText, ListsScoredAndOpenForecasts) {
  LedgerRecord open = Scored();
  open.actual_ms.reset();
  open.line = 4;
  const std::string text = Text({Scored(), open});
  ExpectHas(text, "84 ms (70-90)  80.0 ms  +5.0 %  yes\n");
  ExpectHas(text, "84 ms (70-90)        -       -  -\n");
  ExpectHas(text, "to remove a record, delete its line from this file");
}

TEST(ScoresJson, OfAnOpenForecastIsNull) {
  LedgerRecord open = Scored();
  open.actual_ms.reset();
  const Json json = Json::parse(RenderScoresJson(std::vector{Scored(), open}, "ledger.jsonl"));
  EXPECT_EQ(json["records"][0]["line"], 3);
  EXPECT_EQ(json["records"][0]["held"], true);
  for (const char* key : {"actual_ms", "error_pct", "held"})
    EXPECT_TRUE(json["records"][1][key].is_null()) << key;
  EXPECT_TRUE(Json::parse(RenderScoresJson({}, "x"))["records"].empty());
}

TEST(Scores, NoNameBreaksOut) {
  for (const std::string& name : HostileNames()) {
    ScoreReport report = Report();
    report.before = report.after = report.ledger = name;
    report.record.path = report.record.scenario = name;
    for (const std::string& text : {Text(report), Text({report.record})}) {
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        EXPECT_EQ(Printable(line), line);
        EXPECT_LE(DisplayWidth(line), PageStyle::kWidth) << line;
        at = end + 1;
      }
    }
    EXPECT_EQ(Json::parse(RenderScoreJson(report))["before"], ValidUtf8(name));
  }
}

}  // namespace whatif_score_test
}  // namespace headroom
