#include "answers/whatif/render.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "answers/test_text.h"
#include "answers/whatif/batch_curve.h"
#include "answers/whatif/explanation.h"
#include "answers/whatif/self_check.h"
#include "answers/whatif/sweep.h"
#include "render/text_page.h"

namespace headroom {
namespace whatif_render_test {

using Json = nlohmann::ordered_json;

/// A report with a forecast that applies, one that does not, and the abstaining scenarios of a
/// ranking.
ForecastReport Demo() {
  ForecastReport report;
  report.path = "a.json";
  report.baseline.traced_step_ms = 120;
  report.baseline.replay_step_ms = 120.5;
  report.baseline.replay_error_pct = 0.42;
  report.baseline.corrected = {.low = 90, .mid = 99.5, .high = 110};
  report.baseline.host_limit_ms = 60;
  report.baseline.gpu_limit_ms = 30;
  report.calibration = "Calibration: shipped default.";
  Forecast fused;
  fused.name = "fused-optimizer";
  fused.step_ms = {.low = 70, .mid = 79.5, .high = 130};
  fused.speedup = 1.25;
  fused.saves_ms = 20;
  fused.why = "the optimizer's kernels become one";
  fused.validated = Validity::kYes;
  fused.memory_delta_bytes = -12'000'000;
  fused.changed.removed = 1'193;
  Forecast amp;
  amp.name = "amp";
  amp.applies = false;
  amp.why = "the job already runs in bf16";
  report.forecasts = {fused, amp};
  return report;
}

std::string Text(const ForecastReport& report) { return RenderForecastText(report, PageStyle()); }

template <typename Write>
std::string PageOf(Write write) {
  TextPage page{PageStyle()};
  write(page);
  return std::move(page).Take();
}

template <typename Write>
Json JsonOf(Write write) {
  JsonWriter json;
  write(json);
  return Json::parse(std::move(json).Take());
}

TEST(WhatifText, SaysStepForecastsAndReasons) {
  const std::string text = Text(Demo());
  for (const char* words :
       {"  Step  100 ms (90-110) without the profiler; 120 ms as recorded\n",
        "With an infinitely fast GPU 60.0 ms, with an infinitely fast host 30.0 ms.",
        "off by +0.42 %. Calibration: shipped default.",
        "80 ms (70-130)    1.25x  20.0 ms  -12.0 MB        yes\n",
        "  fused-optimizer: the optimizer's kernels become one\n",
        "  amp: unknown: the job already runs in bf16\n"})
    ExpectHas(text, words);
  ExpectFits(text);
}

TEST(WhatifText, WithoutAReplayGivesTheReasonAlone) {
  ForecastReport report = Demo();
  report.no_answer = "the trace has no GPU work";
  const std::string text = Text(report);
  ExpectHas(text, "unknown: the trace has no GPU work");
  EXPECT_EQ(text.find("fused-optimizer"), std::string::npos);
}

TEST(WhatifText, AReplayThatIsOffGivesNoStep) {
  ForecastReport report = Demo();
  report.baseline.replay_error_pct = -1.01;
  report.baseline.steps_note = "the first step was left out";
  report.forecasts.clear();
  const std::string text = Text(report);
  ExpectHas(text, "but 120 ms was recorded (-1.0 %");
  ExpectHas(text, "No forecast: a replay of the unchanged step takes ");
  ExpectHas(text, "  ! the first step was left out\n");
  EXPECT_EQ(text.find("99.5 ms"), std::string::npos);
}

TEST(WhatifText, OfABestCaseSaysAtMost) {
  ForecastReport report = Demo();
  report.forecasts[0].at_best = true;
  report.forecasts[0].validated = Validity::kOutOfRange;
  report.forecasts[0].memory_delta_bytes.reset();
  ExpectHas(Text(report), "at most 1.25x  at most 20.0 ms  unknown     beyond\n");
}

TEST(WhatifText, RankingAndScoresFollowTheTable) {
  ForecastReport report = Demo();
  report.ranked = true;
  report.abstaining = {report.forecasts[1]};
  report.forecasts.pop_back();
  report.forecasts[0].interval_rule = {.scores = 5, .factor = 1.5};
  const std::string text = Text(report);
  ExpectHas(text, "  Not applicable, or unknown:\n  amp: the job already runs in bf16\n");
  ExpectHas(text, "interval 1.50 times as wide, from 5 forecasts");
}

TEST(WhatifText, NoNameBreaksOut) {
  for (const std::string& name : HostileNames()) {
    ForecastReport report = Demo();
    report.path = report.calibration = report.baseline.steps_note = name;
    report.forecasts[0].why = report.forecasts[1].why = name;
    report.abstaining = {report.forecasts[1]};
    ExpectFits(Text(report));
    EXPECT_EQ(Json::parse(RenderForecastJson(report))["path"], ValidUtf8(name));
  }
}

TEST(WhatifJson, HasEachForecast) {
  const Json json = Json::parse(RenderForecastJson(Demo()));
  EXPECT_EQ(json["schema"], "headroom.whatif/1");
  EXPECT_EQ(json["baseline"]["corrected_step_ms"], 99.5);
  EXPECT_TRUE(json["baseline"]["marked_step_ms"].is_null());
  EXPECT_TRUE(json["baseline"]["steps_note"].is_null());
  const Json& fused = json["scenarios"][0];
  EXPECT_EQ(fused["step_ms"]["mid"], 79.5);
  EXPECT_EQ(fused["memory_delta_bytes"], -12'000'000);
  EXPECT_EQ(fused["changed"]["removed"], 1'193);
  EXPECT_EQ(fused["validated"], true);
  EXPECT_TRUE(fused["scores"].is_null());
  const Json& amp = json["scenarios"][1];
  EXPECT_EQ(amp["applies"], false);
  EXPECT_EQ(amp["validated"], false);
  for (const char* key : {"speedup", "saves_ms", "memory_delta_bytes"})
    EXPECT_TRUE(amp[key].is_null()) << key;
  EXPECT_TRUE(amp["step_ms"]["mid"].is_null());
  for (const char* key : {"explanation", "self_check", "sweep", "abstaining"})
    EXPECT_FALSE(json.contains(key)) << key << " was not asked for";
}

TEST(WhatifJson, WithoutAReplayHasNoFigures) {
  ForecastReport report = Demo();
  report.no_answer = "no GPU work";
  report.ranked = true;
  report.forecasts.clear();
  const Json json = Json::parse(RenderForecastJson(report));
  for (const auto& [key, value] : json["baseline"].items())
    EXPECT_EQ(value.is_null(), key != "calibration") << key;
  EXPECT_TRUE(json["scenarios"].empty());
  EXPECT_TRUE(json["abstaining"].empty());
}

TEST(WhatifJson, AReplayThatIsOffHasNoCorrectedStep) {
  ForecastReport report = Demo();
  report.baseline.replay_error_pct = 1.01;
  const Json baseline = Json::parse(RenderForecastJson(report))["baseline"];
  for (const char* key : {"corrected_step_ms", "corrected_step_low_ms", "corrected_step_high_ms",
                          "host_limit_ms", "gpu_limit_ms"})
    EXPECT_TRUE(baseline[key].is_null()) << key;
  EXPECT_EQ(baseline["traced_step_ms"], 120);
}

TEST(ScenarioList, ShowsKeysAndDefaults) {
  static constexpr ScenarioKey kKeys[] = {{"dtype", KeyKind::kChoice, "fp16|bf16", "bf16"},
                                          {"factor", KeyKind::kFactor},
                                          {"name", KeyKind::kRegex, {}, ".*"},
                                          {"batch", KeyKind::kCount}};
  const Scenario kScenarios[] = {
      {"amp", "Mixed precision", ScenarioGroup::kUsual, "Mixed precision", kKeys, nullptr},
      {"no-sync", "No waits", ScenarioGroup::kUsual, "Without waits", {}, nullptr}};
  EXPECT_EQ(RenderScenarioList(kScenarios, PageStyle()),
            "  NAME[:key=value,...]; a key with a default in brackets may be left out\n"
            "\n"
            "  amp      Mixed precision\n"
            "           dtype=fp16|bf16 [bf16], factor=F, name=REGEX [.*], batch=N\n"
            "  no-sync  Without waits\n");
  ExpectFits(RenderScenarioList(Catalogue(), PageStyle()));
}

TEST(MemoryText, HasASign) {
  EXPECT_EQ(MemoryText(std::nullopt), "unknown");
  EXPECT_EQ(MemoryText(0), "none");
  EXPECT_EQ(MemoryText(3'900'000'000), "+3.90 GB");
  EXPECT_EQ(MemoryText(-12'000'000), "-12.0 MB");
  EXPECT_EQ(MemoryText(std::numeric_limits<std::int64_t>::min()).front(), '-');
}

BatchCurve Curve() {
  return {.recorded = 8,
          .points = {{.samples = 8, .step_ms = 10, .samples_per_s = 800, .memory_delta_bytes = 0},
                     {.samples = 16,
                      .step_ms = 12,
                      .samples_per_s = 1'333.25,
                      .memory_delta_bytes = 1'000'000},
                     {.samples = 32,
                      .step_ms = 40,
                      .samples_per_s = 800,
                      .memory_delta_bytes = std::nullopt,
                      .too_large = true}},
          .knee = 16};
}

TEST(BatchCurve, NotesTheKneeAndWhatDoesNotFit) {
  const std::string text =
      PageOf([](TextPage& page) { WriteBatchCurveText("batch-size:n=32", Curve(), page); });
  for (const char* words : {"recorded batch\n", "12.0 ms      1,330  +1.00 MB  knee\n",
                            "unknown  does not fit the GPU's memory\n",
                            "Beyond 16 samples, doubling the batch adds less than 10 %"})
    ExpectHas(text, words);
  BatchCurve no_knee = Curve();
  no_knee.knee.reset();
  ExpectHas(PageOf([&](TextPage& page) { WriteBatchCurveText("b", no_knee, page); }),
            "Each doubling up to 16 samples adds at least 10 % throughput.");
}

TEST(BatchCurve, IsAnObjectOfPoints) {
  const Json json = JsonOf([](JsonWriter& out) { WriteBatchCurveJson(Curve(), out); });
  EXPECT_EQ(json["knee_samples"], 16);
  EXPECT_EQ(json["points"].size(), 3u);
  EXPECT_TRUE(json["points"][2]["memory_delta_bytes"].is_null());
  EXPECT_EQ(json["points"][2]["too_large"], true);
  const Json empty = JsonOf([](JsonWriter& out) { WriteBatchCurveJson({}, out); });
  EXPECT_TRUE(empty["knee_samples"].is_null());
  EXPECT_TRUE(empty["points"].empty());
}

TEST(SelfCheckRender, CountsWhatFails) {
  const SelfCheck passed = {
      .name = "identity", .expectation = "No change.", .figure = 0.1, .unit = "%", .high = 1};
  const SelfCheck failed = {
      .name = "faster", .expectation = "A gain.", .figure = 0.9, .unit = "x", .low = 1, .high = 2};
  const SelfCheck count = {
      .name = "count", .expectation = "Some.", .figure = 1e18, .unit = "", .low = 0};
  const std::vector<SelfCheck> all = {passed, failed, count};
  const std::string text = PageOf([&](TextPage& page) { WriteSelfCheckText(all, page); });
  for (const char* words : {"Self-check  1 of 3 FAILED", "0.100 %", "at most 1.000 %", "pass\n",
                            "0.900x", "1.000x to 2.000x  FAIL\n", "at least 0",
                            "1000000000000000000", "  identity: No change.\n"})
    ExpectHas(text, words);
  ExpectHas(PageOf([&](TextPage& page) { WriteSelfCheckText(std::span(&passed, 1), page); }),
            "Self-check  all 1 hold");
  const Json json = JsonOf([&](JsonWriter& out) { WriteSelfCheckJson(all, out); });
  EXPECT_EQ(json[0]["passed"], true);
  EXPECT_TRUE(json[0]["low"].is_null());
  EXPECT_EQ(json[1]["passed"], false);
  EXPECT_TRUE(json[2]["unit"].is_null());
  EXPECT_TRUE(JsonOf([](JsonWriter& out) { WriteSelfCheckJson({}, out); }).empty());
}

Sweep TwoTargets() {
  Sweep sweep;
  sweep.step_ms = 100;
  sweep.replays = 14;
  SweepTarget kernels;
  kernels.name = "matmul";
  kernels.time_ms = 50;
  kernels.step_ms = {95, 90, 83.3, 75, 62.5, 50};
  kernels.saves_ms = 25;
  kernels.saves_at_most_ms = 50;
  kernels.knee_factor = 1.75;
  SweepTarget sync;
  sync.kind = TargetKind::kSync;
  sync.name = "cudaStreamSynchronize";
  sync.step_ms.back() = 99;
  sync.saves_ms = sync.saves_at_most_ms = 1;
  SweepTarget nothing = sync;
  nothing.saves_at_most_ms = 0.1999;
  sweep.targets = {kernels, sync, nothing};
  sweep.next = {{TargetKind::kLayer, "h.0", 80, 20}};
  return sweep;
}

TEST(SweepRender, HasARowForWhatGains) {
  const std::string text = PageOf([](TextPage& page) { WriteSweepText(TwoTargets(), page); });
  for (const char* words :
       {"1.1x", "gone", "50.0  95.0   90.0  83.3  75.0  62.5  50.0  1.75x\n", "-     -  99.0",
        "  1 more parts save less or nothing (--json has all).\n", "Knee: beyond this factor",
        "layer  h.0     80.0 ms  20.0 ms\n"})
    ExpectHas(text, words);
  ExpectFits(text);
}

TEST(SweepRender, WithoutGainsSaysSo) {
  ExpectHas(PageOf([](TextPage& page) { WriteSweepText({}, page); }),
            "No single part of the work saves time when it is made faster.");
  Sweep many = TwoTargets();
  many.targets.resize(25, many.targets[0]);
  for (SweepTarget& target : many.targets) target = many.targets[0];
  ExpectHas(PageOf([&](TextPage& page) { WriteSweepText(many, page); }), "  5 more parts ");
}

TEST(SweepRender, JsonHasAllTargetsAndNoInfinity) {
  const Json json = JsonOf([](JsonWriter& out) { WriteSweepJson(TwoTargets(), out); });
  EXPECT_EQ(json["targets"].size(), 3u);
  EXPECT_TRUE(json["factors"].back().is_null()) << "gone";
  EXPECT_EQ(json["factors"].size(), json["targets"][0]["step_ms"].size());
  EXPECT_TRUE(json["targets"][1]["time_ms"].is_null());
  EXPECT_TRUE(json["targets"][1]["knee_factor"].is_null());
  EXPECT_EQ(json["next"][0]["kind"], "layer");
}

TEST(SweepRender, NoNameBreaksOut) {
  for (const std::string& name : HostileNames()) {
    Sweep sweep = TwoTargets();
    sweep.targets[0].name = sweep.next[0].name = name;
    ExpectFits(PageOf([&](TextPage& page) { WriteSweepText(sweep, page); }));
    EXPECT_EQ(JsonOf([&](JsonWriter& out) { WriteSweepJson(sweep, out); })["next"][0]["name"],
              ValidUtf8(name));
  }
}

Explanation OnePlan() {
  PlanExplanation plan;
  plan.step_ms = 200;
  plan.host_ms = 150;
  plan.gpu_ms = 40;
  plan.waits_ms = 10;
  for (int i = 0; i < 8; ++i)
    plan.operators.push_back({.name = "op" + std::to_string(i), .ms = 10, .links = 1.5});
  plan.phases = {{.name = "forward", .ms = 150, .links = 0}, {.name = "nothing", .ms = 0.0004}};
  plan.waits = {{.name = "launch", .ms = -2, .links = 3}};
  plan.gpu_slack = {.busy_ms = 80, .critical_ms = 40, .median_ms = 5};
  Explanation explanation;
  explanation.plans = {plan};
  explanation.ledger.host = DurationNs(400'000'000);
  explanation.ledger.anchored_tasks = 2;
  explanation.edges = {{.kind = EdgeKind::kLaunch, .recorded = 12, .resolved = 0, .inferred = 3}};
  return explanation;
}

TEST(ExplanationRender, HasThePathItsSlackAndTheLedger) {
  const std::string text = PageOf([](TextPage& page) { WriteExplanationText(OnePlan(), page); });
  for (const char* words :
       {"  Critical path  200 ms: 150 ms host, 40.0 ms GPU, 10.0 ms latencies and gaps\n",
        "80.0 ms GPU time: 50 % has no slack, half has at least 5.00 ms; the host has no",
        "(2 more)", "20.0 ms  10.0 %\n", "-2.00 ms  -1.0 %\n", "2 tasks without a launch",
        "400 ms on host threads", "  edges   recorded  inferred\n  launch        12         3\n"})
    ExpectHas(text, words);
  EXPECT_EQ(text.find("nothing  "), std::string::npos) << "what rounds to nothing";
  ExpectFits(text);
}

TEST(ExplanationRender, JsonHasEveryPart) {
  const Json json = JsonOf([](JsonWriter& out) { WriteExplanationJson(OnePlan(), out); });
  const Json& plan = json["plans"][0];
  EXPECT_TRUE(plan["name"].is_null()) << "the job as it is";
  EXPECT_EQ(plan["operators"].size(), 8u);
  EXPECT_TRUE(plan["phases"][0]["links"].is_null()) << "not counted";
  EXPECT_EQ(plan["waits"][0]["path_ms"], -2);
  EXPECT_EQ(plan["gpu_slack"]["median_ms"], 5);
  EXPECT_EQ(json["ledger"]["host_ms"], 400);
  EXPECT_EQ(json["edges"][0]["kind"], "launch");
  const Json empty = JsonOf([](JsonWriter& out) { WriteExplanationJson({}, out); });
  EXPECT_TRUE(empty["plans"].empty());
  EXPECT_TRUE(empty["edges"].empty());
}

TEST(ExplanationRender, NoNameBreaksOut) {
  for (const std::string& name : HostileNames()) {
    Explanation explanation = OnePlan();
    explanation.plans[0].name = name;
    explanation.plans[0].operators[0].name = name;
    explanation.plans[0].kernels = {{.name = name, .ms = 1, .links = 1}};
    ExpectFits(PageOf([&](TextPage& page) { WriteExplanationText(explanation, page); }));
  }
}

TEST(WhatifText, AddsWhatIsAskedFor) {
  ForecastReport report = Demo();
  report.explanation = OnePlan();
  report.sweep = TwoTargets();
  report.self_check = {{.name = "identity", .expectation = "No change.", .unit = "%", .high = 1}};
  report.forecasts[0].batch_curve = Curve();
  const std::string text = Text(report);
  for (const char* words :
       {"Causes of the step time", "Self-check", "Best next fix", "Batch size fused-optimizer"})
    ExpectHas(text, words);
  const Json json = Json::parse(RenderForecastJson(report));
  for (const char* key : {"explanation", "self_check", "sweep"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_TRUE(json["scenarios"][0].contains("batch_curve"));
  EXPECT_FALSE(json["scenarios"][1].contains("batch_curve"));
}

}  // namespace whatif_render_test
}  // namespace headroom
