#include "answers/scale/render.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "answers/test_text.h"
#include "render/text_page.h"

namespace headroom {
namespace scale_render_test {

using Json = nlohmann::ordered_json;

ScalingPoint Point(std::int64_t gpus, std::int64_t nodes, double step_ms, double efficiency) {
  ScalingPoint point;
  point.placement = {.gpus = gpus, .nodes = nodes};
  point.step_ms = {.low = step_ms - 1, .mid = step_ms, .high = step_ms + 1};
  point.efficiency = efficiency;
  return point;
}

/// A forecast for 1, 8 and 64 GPUs from a trace of one GPU. 64 GPUs have no answer.
ScaleReport Demo() {
  ScaleReport report;
  report.path = "a.json";
  report.schedule = "ddp";
  report.source = "trace";
  report.step_ms = {.low = 90, .mid = 100, .high = 110};
  report.limit = ScalingLimit::kHost;
  report.samples = 32;
  report.gradient_bytes = 5e8;
  report.deviation = 0.012;
  ScaleCurve curve;
  curve.cluster = "dgx";
  curve.description = "8 GPUs a machine";
  curve.points = {Point(1, 1, 100, 1), Point(8, 1, 125, 0.8), Point(64, 8, 0, 0)};
  curve.points[1].limit = ScalingLimit::kBandwidth;
  curve.points[1].exposed_ms = 20;
  curve.points[1].samples_per_s = 2'048;
  curve.points[1].why = "the exchange ends after the backward";
  curve.points[2].no_answer = "the network has no room";
  report.curves = {curve};
  return report;
}

std::string Text(const ScaleReport& report) { return RenderScaleText(report, PageStyle()); }

TEST(ScaleText, HasABaselineACurveAndWhy) {
  const std::string text = Text(Demo());
  for (const char* words :
       {"  Step       100 ms (90-110) without the profiler; limit: host\n",
        "  Gradients  500 MB per step, of 32 samples\n",
        "identical; a rank's steps vary by 1.2 %, and all wait for the slowest",
        "Weak scaling  8 GPUs a machine", "2,050      80.0 %  20.0 ms  bandwidth\n", "unknown\n",
        "  bandwidth  the bytes over the slowest link\n", "  64 GPUs    the network has no room\n",
        "  8 GPUs: the exchange ends after the backward\n"})
    ExpectHas(text, words);
}

TEST(ScaleText, WithoutAnAnswerGivesTheReasonAlone) {
  ScaleReport report;
  report.path = "a.json";
  report.no_answer = "the trace has no steps";
  const std::string text = Text(report);
  ExpectHas(text, "unknown: the trace has no steps");
  EXPECT_EQ(text.find("Weak"), std::string::npos);
}

TEST(ScaleText, SaysWhatTheBaselineIsOf) {
  ScaleReport report = Demo();
  report.source = "loop";
  ExpectHas(Text(report), "100 ms (90-110), on the CPU");
  report.source = "operators";
  report.gpu = "H200";
  report.deviation.reset();
  ExpectHas(Text(report), "on H200, modelled from operators: kernels only, without host time");
  ExpectHas(Text(report), "without stragglers: a list of operators has no recorded steps");
  report.source = "trace";
  report.changes = "amp";
  report.recorded_gpus = 8;
  report.recorded_network = "NVLink";
  ExpectHas(Text(report), "with amp; recorded on one of 8 GPUs,");
  ExpectHas(Text(report), "too few complete steps to measure how they vary");
  report.assumed_deviation = 0.02;
  ExpectHas(Text(report), "assumed to vary by 2.0 % (--step-deviation), and all wait");
}

TEST(ScaleText, SaysHowTheRankWasChosenAndWhatOverlapCosts) {
  ScaleReport report = Demo();
  report.replayed_rank = 3;
  report.ranks = 1;
  report.overlap = OverlapSlowdown{.low = 1.1, .mid = 1.2, .high = 1.4, .kernels = 12};
  ExpectHas(Text(report), "rank 3, the median by compute time; no other rank is");
  ExpectHas(Text(report), "1.20 times as long during a collective (1.10 to 1.40, from 12");
  report.ranks = 8;
  report.overlap->low = 0.9;
  ExpectHas(Text(report), "rank 3, the median by compute time, of 8 on one clock");
  ExpectHas(Text(report), "as long as alone: no\n             slowdown is modelled\n");
}

TEST(ScaleText, ASplitIsExperimental) {
  ScaleReport report = Demo();
  report.strong = true;
  report.split = {.tensor = 2, .stages = 4, .micro_batches = 1};
  const std::string text = Text(report);
  ExpectHas(text, "8 GPUs each, 2 per layer, 4 stages through which one batch goes per step");
  ExpectHas(text, "Experimental: ");
  ExpectHas(text, "Strong scaling");
  EXPECT_EQ(Text(Demo()).find("Experimental"), std::string::npos);
}

TEST(ScaleText, NoNameBreaksOut) {
  for (const std::string& name : HostileNames()) {
    ScaleReport report = Demo();
    report.path = report.changes = report.steps_note = name;
    report.curves[0].description = report.curves[0].points[1].why = name;
    const std::string text = Text(report);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      EXPECT_EQ(Printable(line), line);
      EXPECT_LE(DisplayWidth(line), PageStyle::kWidth) << line;
      at = end + 1;
    }
    EXPECT_EQ(Json::parse(RenderScaleJson(report))["input"], ValidUtf8(name));
  }
}

TEST(ScaleJson, HasAPointForEachNumberOfGpus) {
  const Json json = Json::parse(RenderScaleJson(Demo()));
  EXPECT_EQ(json["schema"], "headroom.scale/1");
  EXPECT_EQ(json["mode"], "weak");
  EXPECT_EQ(json["baseline"]["step_ms"]["mid"], 100);
  EXPECT_EQ(json["baseline"]["limited_by"], "host");
  EXPECT_NEAR(json["baseline"]["step_deviation_pct"].get<double>(), 1.2, 1e-9);
  EXPECT_EQ(json["experimental"], false);
  const Json& points = json["points"];
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[1]["cluster"], "dgx");
  EXPECT_EQ(points[1]["limited_by"], "bandwidth");
  EXPECT_EQ(points[1]["efficiency_pct"], 80);
  EXPECT_EQ(points[1]["loader_ms"], 0);
  EXPECT_TRUE(points[0]["throughput_per_s"].is_null());
  for (const char* key : {"efficiency_pct", "exposed_communication_ms", "limited_by"})
    EXPECT_TRUE(points[2][key].is_null()) << key;
  EXPECT_TRUE(points[2]["step_ms"]["mid"].is_null());
  EXPECT_EQ(points[2]["why"], "the network has no room");
}

TEST(ScaleJson, UnknownIsNull) {
  ScaleReport report;
  report.no_answer = "no steps";
  const Json json = Json::parse(RenderScaleJson(report));
  for (const char* key : {"source", "gpu", "limited_by", "recorded_gpus", "replayed_rank", "ranks",
                          "recorded_network", "overlap_slowdown", "samples_per_step",
                          "gradient_bytes", "step_deviation_pct", "calibration", "steps_note"})
    EXPECT_TRUE(json["baseline"][key].is_null()) << key;
  EXPECT_TRUE(json["baseline"]["step_ms"]["mid"].is_null());
  EXPECT_EQ(json["why"], "no steps");
  EXPECT_TRUE(json["points"].empty());
}

TEST(ScaleJson, ExtremesAreNumbers) {
  ScaleReport report = Demo();
  report.step_ms = {.low = -1, .mid = 0, .high = 1e18};
  report.samples = 1'000'000'000'000'000'000;
  const Json baseline = Json::parse(RenderScaleJson(report))["baseline"];
  EXPECT_EQ(baseline["step_ms"]["high"], 1e18);
  EXPECT_EQ(baseline["samples_per_step"], 1'000'000'000'000'000'000);
}

}  // namespace scale_render_test
}  // namespace headroom
