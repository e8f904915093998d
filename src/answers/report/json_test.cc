#include "answers/report/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "answers/report/report_fixture.h"
#include "render/json_writer.h"

namespace headroom {
namespace json_report_test {

using Json = nlohmann::ordered_json;

Json Render(const std::vector<TraceReport>& files, const ReportOptions& options = {}) {
  return Json::parse(RenderJson(files, options));
}

TEST(DecimalOf, KeepsEveryNanosecond) {
  EXPECT_EQ(DecimalOf(0, 6), "0");
  EXPECT_EQ(DecimalOf(1, 6), "0.000001");
  EXPECT_EQ(DecimalOf(1'000'000, 6), "1");
  EXPECT_EQ(DecimalOf(12'345'678'901'234'567, 6), "12345678901.234567");
  EXPECT_EQ(DecimalOf(-1'500, 3), "-1.5");
  EXPECT_EQ(DecimalOf(std::numeric_limits<std::int64_t>::max(), 6), "9223372036854.775807");
  EXPECT_EQ(DecimalOf(std::numeric_limits<std::int64_t>::min(), 6), "-9223372036854.775808");
}

TEST(JsonWriter, LaysOutLinesAndRows) {
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("a").Integer(1);
  json.Key("rows").BeginArray(JsonWriter::Layout::kLines);
  json.BeginObject();
  json.Key("x").Null();
  json.Key("y").Number(0.1);
  json.EndObject();
  json.EndArray();
  json.Key("none").BeginArray(JsonWriter::Layout::kLines);
  json.EndArray();
  json.EndObject();
  EXPECT_EQ(
      std::move(json).Take(),
      "{\n  \"a\": 1,\n  \"rows\": [\n    {\"x\": null, \"y\": 0.1}\n  ],\n  \"none\": []\n}");
}

TEST(JsonWriter, WritesNoNumberThatJsonDoesNotKnow) {
  JsonWriter json;
  json.BeginArray();
  json.Number(std::numeric_limits<double>::quiet_NaN());
  json.Number(std::numeric_limits<double>::infinity());
  json.Number(1e300);
  json.EndArray();
  EXPECT_EQ(std::move(json).Take(), "[null, null, 1e+300]");
}

TEST(RenderJson, HasTheKeysOfTheContractInOrder) {
  const Json report = Render({DemoReport()});
  std::vector<std::string> keys;
  for (const auto& [key, value] : report.items()) keys.push_back(key);
  const std::vector<std::string> want = {
      "schema",         "inputs",    "health",     "ranks",         "job_ranks",
      "steps",          "run",       "gpu_time",   "idle",          "stretch",
      "step_breakdown", "summary",   "bottleneck", "engine_window", "findings",
      "kernels",        "operators", "layers",     "lines",         "stacks",
      "classes",        "syncs",     "efficiency", "regions",       "regions_over_ranks",
      "timings",        "callbacks", "metrics",    "input_wait",    "throughput",
      "ceiling",        "memory",    "energy"};
  EXPECT_EQ(keys, want);
  EXPECT_EQ(report["schema"], "headroom.report/1");
}

TEST(RenderJson, MissingIsNullAndZeroIsZero) {
  const Json report = Render({BareReport()});
  for (const char* key :
       {"p50_ms", "mean_ms", "min_ms", "max_ms", "corrected_p50_ms", "profiler_overhead_pct"}) {
    EXPECT_TRUE(report["steps"][key].is_null()) << key;
  }
  for (const char* key : {"step_breakdown", "engine_window", "ceiling", "input_wait", "throughput",
                          "memory", "energy"}) {
    EXPECT_TRUE(report[key].is_null()) << key;
  }
  EXPECT_TRUE(report["inputs"][0]["rank"].is_null());
  EXPECT_EQ(report["bottleneck"]["verdict"], "unknown");
  EXPECT_TRUE(report["bottleneck"]["confidence"].is_null());
  EXPECT_TRUE(report["bottleneck"]["share_pct"].is_null());
  const Json& row = report["operators"][0];
  EXPECT_TRUE(row["total_us"].is_null()) << "no GPU work was recorded";
  EXPECT_TRUE(row["share_pct"].is_null());
  EXPECT_TRUE(row["forward_us"].is_null());
  EXPECT_EQ(row["self_host_us"], 0.001);

  const Json demo = Render({DemoReport()});
  EXPECT_EQ(demo["step_breakdown"]["callback_ms"], 0);
  EXPECT_EQ(demo["steps"]["list"][0]["start_ms"], 1);
  EXPECT_TRUE(demo["findings"][1]["saves_ms"].is_null());
  EXPECT_TRUE(demo["findings"][1]["whatif"].is_null());
}

TEST(RenderJson, WhatTheEngineSays) {
  ReportOptions options;
  options.forecast_arguments = {"--measured-step-ms", "52"};
  const Json demo = Render({DemoReport()}, options);
  EXPECT_EQ(demo["steps"]["corrected_p50_ms"], 52.5);
  EXPECT_EQ(demo["steps"]["profiler_overhead_pct"], 28.96);
  EXPECT_EQ(demo["engine_window"]["first_step"], 2);
  EXPECT_EQ(demo["engine_window"]["last_step"], 3);
  EXPECT_EQ(demo["engine_window"]["corrected_step_ms"]["high"], 55);
  EXPECT_TRUE(demo["engine_window"]["error"].is_null());
  const Json& finding = demo["findings"][0];
  EXPECT_EQ(finding["saves_ms"]["low"], 11.5);
  EXPECT_EQ(finding["saves_ms"]["mid"], 13.25);
  const std::string whatif = finding["whatif"];
  EXPECT_TRUE(whatif.starts_with("headroom whatif ")) << whatif;
  EXPECT_TRUE(whatif.ends_with(" fused-optimizer --measured-step-ms 52")) << whatif;
}

TEST(RenderJson, MeanTimesCountIsTheTotal) {
  TraceReport report = DemoReport();
  report.kernels.resize(1);
  report.kernels[0].count = 3;
  report.kernels[0].total = DurationNs(1'000);
  EXPECT_NE(RenderJson(std::vector{report}, {}).find("\"mean_us\": 0.333333,"), std::string::npos);
}

TEST(RenderJson, TopAndCheckArguments) {
  ReportOptions options;
  options.top = 2;
  options.check_arguments = {"--steps", "2:4", "--step-marker", "my step"};
  TraceReport demo = DemoReport();
  demo.input.path = "-it's";
  const Json report = Render({demo}, options);
  EXPECT_EQ(report["kernels"].size(), 2u);
  EXPECT_EQ(report["findings"][0]["check"],
            "headroom report './-it'\\''s' --only breakdown --steps 2:4 --step-marker 'my step'");
}

TEST(RenderJson, NamesStayAsTheyAreAndInvalidUtf8IsReplaced) {
  TraceReport demo = DemoReport();
  demo.kernels.resize(1);
  demo.kernels[0].name = "a\x1b[31m\n\"\\\xff";
  EXPECT_EQ(Render({demo})["kernels"][0]["name"], "a\x1b[31m\n\"\\\ufffd");
}

/// Two ranks. The second is slower, more damaged, and has one additional finding.
std::vector<TraceReport> TwoRanks() {
  std::vector<TraceReport> files = {DemoReport(), DemoReport()};
  files[0].input.rank = 0;
  files[1].input.rank = 1;
  files[1].input.path = "rank1.json";
  files[1].health.grade = 'C';
  files[1].health.issues = {
      {.issue = ImportIssue::kTruncated, .count = 1, .detail = "cut", .voids = {}}};
  for (StepRow& row : files[1].steps.list) row.wall += DurationNs(1'000'000);
  for (auto* figure :
       {&files[1].steps.p50, &files[1].steps.mean, &files[1].steps.min, &files[1].steps.max}) {
    **figure += DurationNs(1'000'000);
  }
  files[1].bottleneck.verdict = Verdict::kInput;
  files[1].findings[0].share_pct = 40;
  files[1].findings[1].id = "other";
  files[1].findings[1].share_pct = 50;
  files[1].findings[1].saves_ms = MsInterval{10, 20, 30};
  files[1].kernels[0].total += DurationNs(1);
  return files;
}

TEST(RenderJson, SeveralFilesAreOneReport) {
  const Json report = Render(TwoRanks());
  EXPECT_EQ(report["inputs"].size(), 2u);
  EXPECT_EQ(report["health"]["grade"], "C") << "the worst";
  EXPECT_EQ(report["health"]["issues"].size(), 3u);
  EXPECT_EQ(report["health"]["issues"][0]["code"], "truncated") << "worst first";
  EXPECT_EQ(report["health"]["issues"][0]["rank"], 1);
  EXPECT_EQ(report["ranks"][1]["verdict"], "input");

  EXPECT_EQ(report["steps"]["count"], 6);
  EXPECT_EQ(report["steps"]["min_ms"], 73.5);
  EXPECT_EQ(report["steps"]["max_ms"], 75.3);
  EXPECT_EQ(report["steps"]["p50_ms"], 74.3) << "lower median of 73.5 73.9 74.3 74.5 74.9 75.3";
  EXPECT_EQ(report["steps"]["list"][3]["rank"], 1);
  EXPECT_EQ(report["gpu_time"][1]["rank"], 1);
  EXPECT_EQ(report["idle"].size(), 4u);

  EXPECT_EQ(report["bottleneck"]["verdict"], "input") << "of the slowest rank";
  EXPECT_EQ(report["bottleneck"]["rank"], 1);
  EXPECT_EQ(report["step_breakdown"]["rank"], 1);

  ASSERT_EQ(report["findings"].size(), 3u);
  EXPECT_EQ(report["findings"][0]["id"], "other") << "what saves most first";
  EXPECT_EQ(report["findings"][1]["share_pct"], 40) << "of two with one id, the larger";
  EXPECT_EQ(report["findings"][1]["rank"], 1);
  EXPECT_NE(report["findings"][1]["check"].get<std::string>().find("rank1.json"),
            std::string::npos);

  EXPECT_EQ(report["kernels"].size(), 10u);
  EXPECT_EQ(report["kernels"][0]["rank"], 1) << "largest total first";
  EXPECT_EQ(report["kernels"][1]["rank"], 0);
}

TEST(RenderJson, RegionsAreMergedOverTheRanksThatHaveThem) {
  std::vector<TraceReport> files = TwoRanks();
  files[1].regions[0].total = files[0].regions[0].total + DurationNs(10'000'000);
  files[1].regions.resize(1);  // Rank 1 has no COMM.
  const Json rows = Render(files)["regions_over_ranks"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["key"], "BATCH");
  EXPECT_EQ(rows[0]["ranks"], 2);
  EXPECT_EQ(rows[0]["min_ms"], 221.7);
  EXPECT_EQ(rows[0]["mean_ms"], 226.7);
  EXPECT_EQ(rows[0]["max_ms"], 231.7);
  EXPECT_EQ(rows[0]["longest_on_rank"], 1);
  EXPECT_EQ(rows[0]["share_of_batch_pct"], 100);
  EXPECT_EQ(rows[1]["key"], "COMM");
  EXPECT_EQ(rows[1]["ranks"], 1);
  EXPECT_EQ(rows[1]["share_of_batch_pct"], 10) << "of the batches of rank 0 alone";
  EXPECT_EQ(rows[1]["longest_on_rank"], 0);
}

TEST(RenderJson, TheLoopOfTheDemo) {
  const Json report = Render({DemoReport()});
  EXPECT_TRUE(report["regions"][1]["gpu_ms"].is_null());
  EXPECT_TRUE(report["timings"][0]["inside"].is_null());
  EXPECT_EQ(report["timings"][2]["inside"], "train_batch");
  EXPECT_TRUE(report["callbacks"][1]["event"].is_null());
  EXPECT_TRUE(report["callbacks"][1]["share_pct"].is_null());
  EXPECT_TRUE(report["callbacks"][1]["in_steps_ms"].is_null());
  EXPECT_EQ(report["callbacks"][0]["in_steps_ms"], 0.6);
  EXPECT_TRUE(report["metrics"][0]["gpu"].is_null());
  EXPECT_TRUE(report["metrics"][0]["instance"].is_null());
  EXPECT_TRUE(report["metrics"][1]["unit"].is_null());
  EXPECT_EQ(report["metrics"][0]["host"], "node7");
  EXPECT_TRUE(report["metrics"][1]["host"].is_null());
  EXPECT_EQ(report["input_wait"]["hidden_ms"], 0.429);
  EXPECT_EQ(report["throughput"]["batch_size"], 8);
}

TEST(RenderJson, OfEqualRanksOneWithAVerdictStandsForAll) {
  std::vector<TraceReport> files = {DemoReport(), DemoReport()};
  files[0].input.rank = 0;
  files[1].input.rank = 1;
  EXPECT_EQ(Render(files)["bottleneck"]["rank"], 0) << "else the first";
  files[0].bottleneck.verdict = Verdict::kUnknown;
  const Json report = Render(files);
  for (const char* key : {"bottleneck", "step_breakdown", "efficiency", "ceiling"})
    EXPECT_EQ(report[key]["rank"], 1) << key;
}

TEST(JobReport, ALostStepIsInNoFigureOfAllRanks) {
  std::vector<TraceReport> files = {DemoReport(), DemoReport()};
  StepRow& lost = files[0].steps.list[0];
  lost.lost_tasks = true;
  lost.wall = DurationNs(1);
  EXPECT_EQ(JobReport(files).steps().min, DurationNs(73'500'000));
  EXPECT_EQ(JobReport(files).steps().count, 6u);
}

TEST(JobReport, SaysHowTheRankWasChosen) {
  std::vector<TraceReport> files = {DemoReport(), DemoReport()};
  files[0].input.rank = 4;
  EXPECT_EQ(JobReport(files).SlowestNote(), "rank 4, one of 2 equally fast");
  files = {BareReport(), BareReport()};
  files[0].input.rank = 4;
  EXPECT_EQ(JobReport(files).SlowestNote(), "rank 4, the first of 2");
  files.pop_back();
  EXPECT_EQ(JobReport(files).SlowestNote(), "");
}

}  // namespace json_report_test
}  // namespace headroom
