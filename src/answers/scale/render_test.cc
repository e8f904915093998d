#include "answers/scale/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "answers/test_text.h"

namespace headroom {
namespace scale_render_test {

using Json = nlohmann::ordered_json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

ScaleReport Demo() {
  ScaleReport report;
  report.path = "trace.json";
  report.schedule = "ddp";
  report.source = "trace";
  report.step_ms = {.low = 9, .mid = 10, .high = 11};
  report.gradient_bytes = 1e6;
  report.samples = 1;
  report.deviation = 0.02;
  report.curves = {{.cluster = "dgx",
                    .description = "a network",
                    .points = {{.placement = {1, 1},
                                .step_ms = {.low = 9, .mid = 10, .high = 11},
                                .samples_per_s = 100},
                               {.placement = {8, 1},
                                .step_ms = {.low = 18, .mid = 20, .high = 22},
                                .samples_per_s = 12'345.6,
                                .efficiency = 0.5,
                                .exposed_ms = 10,
                                .transfers_ms = 12,
                                .limit = ScalingLimit::kBandwidth,
                                .why = "it transfers"},
                               {.placement = {16, 2}, .no_answer = "no room", .step_ms = {}}}}};
  return report;
}

std::vector<std::string> Lines(const ScaleReport& report) {
  return LinesOf(RenderScaleText(report, /*color=*/false, Charset::kUtf8));
}

std::vector<std::string> Keys(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(RenderScaleText, SaysEachLimitAndEachReasonOnce) {
  ScaleReport report = Demo();
  report.curves[0].points.push_back(report.curves[0].points[1]);
  const std::vector<std::string> lines = Lines(report);
  ExpectFits(RenderScaleText(report, false, Charset::kAscii));
  EXPECT_THAT(lines, Contains("  bandwidth  the bytes over the slowest link").Times(1));
  EXPECT_THAT(lines, Contains("  16 GPUs    no room").Times(1));
  EXPECT_THAT(lines, Contains("  Gradients  1.00 MB a step, of 1 sample"));
  EXPECT_THAT(lines, Contains("  8 GPUs: it transfers")) << "the largest that is known";
}

TEST(RenderScaleText, SaysWhatIsNotKnown) {
  ScaleReport report = Demo();
  report.samples.reset();
  report.deviation.reset();
  const std::vector<std::string> lines = Lines(report);
  EXPECT_THAT(lines, Contains("  Gradients  1.00 MB a step, of samples that cannot be told"));
  EXPECT_THAT(lines, Contains(HasSubstr("too few whole steps to tell how they vary")));
  report.no_answer = "no GPU work";
  EXPECT_EQ(Lines(report).back(), "  cannot be told: no GPU work");
}

TEST(RenderScaleText, MarksSplitReplicasAsExperimental) {
  EXPECT_THAT(Lines(Demo()), Not(Contains(HasSubstr("Experimental"))));
  ScaleReport report = Demo();
  report.split = {.tensor = 2, .stages = 4, .micro_batches = 1};
  EXPECT_THAT(
      Lines(report),
      Contains("  Replicas   8 GPUs each, 2 to a layer, 4 stages through which one batch goes a "
               "step"));
  EXPECT_THAT(Lines(report), Contains(HasSubstr("Experimental")));
}

TEST(RenderScaleJson, HasTheDocumentedKeys) {
  const Json json = Json::parse(RenderScaleJson(Demo()));
  EXPECT_EQ(Keys(json), (std::vector<std::string>{"schema", "input", "baseline", "mode", "schedule",
                                                  "exchange_every", "tensor_parallel",
                                                  "pipeline_parallel", "micro_batches",
                                                  "experimental", "changes", "why", "points"}));
  EXPECT_EQ(json["schema"], "headroom.scale/1");
  EXPECT_EQ(json["mode"], "weak");
  EXPECT_EQ(json["baseline"]["step_deviation_pct"], 2);
  EXPECT_TRUE(json["baseline"]["ranks"].is_null()) << "one file";
  ASSERT_EQ(json["points"].size(), 3u);
  const Json& known = json["points"][1];
  EXPECT_EQ(known["efficiency_pct"], 50);
  EXPECT_EQ(known["limited_by"], "bandwidth");
  const Json& unknown = json["points"][2];
  EXPECT_EQ(Keys(unknown), Keys(known));
  EXPECT_EQ(unknown["why"], "no room");
  for (const char* key : {"efficiency_pct", "limited_by", "communication_ms", "bubble_ms"})
    EXPECT_TRUE(unknown[key].is_null()) << key;
  EXPECT_TRUE(unknown["step_ms"]["mid"].is_null());
}

TEST(RenderScale, TakesAnyNameAndNumber) {
  for (const std::string& name : HostileNames()) {
    ScaleReport report = Demo();
    report.path = report.changes = report.steps_note = report.recorded_network = name;
    report.recorded_gpus = 2;
    report.curves[0].cluster = report.curves[0].description = name;
    report.curves[0].points[1].why = report.curves[0].points[2].no_answer = name;
    ExpectFits(RenderScaleText(report, false, Charset::kUtf8));
    EXPECT_TRUE(Json::accept(RenderScaleJson(report))) << name;
    report.no_answer = name + "!";
    ExpectFits(RenderScaleText(report, false, Charset::kUtf8));
  }
  for (const double value : {0.0, -1.0, 1e5}) {
    ScaleReport report = Demo();
    ScalingPoint& point = report.curves[0].points[1];
    point.step_ms = report.step_ms = {.low = value, .mid = value, .high = value};
    point.efficiency = value / 1e5;
    ExpectFits(RenderScaleText(report, false, Charset::kUtf8));
  }
  ScaleReport report = Demo();
  report.curves[0].points[1].efficiency = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(Json::parse(RenderScaleJson(report))["points"][1]["efficiency_pct"].is_null());
}

}  // namespace scale_render_test
}  // namespace headroom
