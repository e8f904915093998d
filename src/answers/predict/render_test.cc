#include "answers/predict/render.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "answers/test_text.h"
#include "render/escape.h"
#include "render/text_page.h"

namespace headroom {
namespace predict_render_test {

using Json = nlohmann::ordered_json;

PredictedTarget Target(const std::string& gpu, double step_ms) {
  PredictedTarget target;
  target.gpu = gpu;
  target.full_name = "NVIDIA " + gpu;
  target.step = {.low = step_ms - 5, .mid = step_ms, .high = step_ms + 5};
  target.speedup = 100 / step_ms;
  return target;
}

/// A trace recorded on an A100, predicted for two other GPUs. The slower GPU is first.
PredictReport Demo() {
  PredictReport report;
  report.source_gpu = "A100";
  PredictBaseline baseline;
  baseline.trace = "a.json";
  baseline.gpu = "A100";
  baseline.step = {.low = 90, .mid = 100, .high = 110};
  baseline.host_ms = 60;
  baseline.gpu_ms = 95;
  baseline.no_memory = "the trace has no shapes";
  report.baselines = {baseline};
  report.targets = {Target("T4", 400), Target("H200", 50)};
  report.targets[0].doubt = "no kernel of its kind was measured";
  report.targets[0].fits = false;
  report.targets[1].fits = true;
  report.targets[1].largest_batch = 64;
  report.targets[1].limited_by = "host";
  report.targets[1].energy = StepEnergy{.joules = 25, .error = 0.2};
  report.constants = "fitted to one machine";
  return report;
}

/// Demo() as a whole job with one option.
PredictReport WholeJob() {
  PredictReport report = Demo();
  report.total_steps = 1e6;
  report.carbon = "400 g/kWh";
  report.equivalents = {"as much as a car drives"};
  report.prices = "list of 2024-05";
  for (PredictedTarget& target : report.targets) {
    target.hours = 10;
    target.money = 12.5;
    target.currency = "USD";
    target.co2_kg = 1.5;
  }
  PlannedOption option;
  option.option.instance = {.provider = "cloud",
                            .instance = "big",
                            .region = "west",
                            .gpu = "H200",
                            .cluster = "",
                            .gpus = 1,
                            .price_per_hour = 1.25,
                            .currency = "USD",
                            .date = "2024-05-31",
                            .source = "list"};
  option.option.hours = 10;
  option.option.money = 12.5;
  option.option.cheapest = option.option.fastest = true;
  report.options = {option};
  return report;
}

std::string Text(const PredictReport& report) { return RenderPredictText(report, PageStyle()); }

TEST(PredictText, HasTheBaselineAndTheFastestGpuFirst) {
  const std::string text = Text(Demo());
  for (const char* words :
       {"As it is  A100, a.json ", "  Step      100 ms (90-110) without the profiler\n",
        "  Limits    the host alone takes 60.0 ms, the GPU alone 95.0 ms\n",
        "  Memory    unknown: the trace has no shapes\n",
        "50 ms (45-55)    2.00x  yes          64  host   25.0 J \u00b120 %\n", "T4 *",
        "  * T4: no kernel of its kind was measured.\n", "  Models    fitted to one machine\n"})
    ExpectHas(text, words);
  EXPECT_LT(text.find("\n  H200 "), text.find("\n  T4 * "));
  EXPECT_EQ(text.find("The whole job"), std::string::npos) << "hours were not asked for";
}

TEST(PredictText, AsciiHasNoSignBeyondIt) {
  const std::string text = RenderPredictText(Demo(), {.charset = Charset::kAscii});
  ExpectHas(text, "25.0 J +-20 %");
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c > 0; }));
}

TEST(PredictText, NeighboursWhoseRangesOverlapAreNotOrdered) {
  PredictReport report = Demo();
  report.targets.push_back(Target("H100", 58));
  ExpectHas(Text(report), "  H200, H100: ranges of neighbours overlap");
  EXPECT_EQ(Text(Demo()).find("overlap"), std::string::npos);
}

TEST(PredictText, AnEnergyOfWhichLittleIsKnownHasAnUpperEnd) {
  PredictReport report = Demo();
  report.targets[1].energy->error = 1.5;
  ExpectHas(Text(report), "25.0 J, to 62.5 J");
}

TEST(PredictText, AWholeJobHasTimeMoneyAndPlaces) {
  const std::string text = Text(WholeJob());
  for (const char* words :
       {"The whole job", "12.50 USD", "does not fit", "Instances to rent  by price",
        "cloud big west", "2024-05  best\n", "  Prices    list of 2024-05\n",
        "of the GPUs, at any location: 400 g/kWh", "as much as a car drives"})
    ExpectHas(text, words);
}

TEST(PredictText, MoneyBelowACentKeepsItsDigits) {
  PredictReport report = WholeJob();
  report.targets[0].money = 0.00123;
  report.targets[1].money = 0.00001;
  report.options[0].option.money = 0;
  const std::string text = Text(report);
  for (const char* words : {"0.0012 USD", "<0.0001 USD", "0.00 USD"}) ExpectHas(text, words);
}

TEST(PredictText, WithoutOptionsSaysWhy) {
  PredictReport report = WholeJob();
  report.options.clear();
  ExpectHas(Text(report), "no instance in the list has one of these GPUs with enough memory");
  report.options_over_limits = 1;
  ExpectHas(Text(report), "1 option over --max-hours or --max-money is\n            left out\n");
  report.options_over_limits = 0;
  report.not_scaled_out = {{"its network is not known", {"H200", "T4"}}};
  ExpectHas(Text(report), "no instance in the list has as many of these GPUs as the job");
  EXPECT_EQ(WhyNotScaledOut(report), "H200, T4: its network is not known");
}

TEST(PredictText, OfATraceThatCannotBeReplayedSaysWhy) {
  PredictReport report;
  report.abstained = {{.trace = "a.json", .why = "it has no steps"}};
  const std::string text = Text(report);
  ExpectHas(text, "unknown: it has no steps");
  EXPECT_EQ(text.find("Models"), std::string::npos);
  EXPECT_EQ(Text({}), "");
}

TEST(PredictText, ABatchCurveMarksKneeAndBest) {
  PredictReport report = Demo();
  TargetBatchCurve& curve = report.targets[1].batch_curve.emplace();
  curve.recorded = 8;
  curve.points = {{.samples = 8, .step = {9, 10, 11}, .samples_per_s = 800, .fits = true},
                  {.samples = 16,
                   .step = {11, 12, 13},
                   .samples_per_s = 1'333,
                   .memory_bytes = 2e9,
                   .fits = true},
                  {.samples = 32,
                   .step = {20, 21, 22},
                   .samples_per_s = 1'500,
                   .memory_bytes = 4e9,
                   .memory_other_bytes = 8e9,
                   .fits = std::nullopt}};
  curve.knee = curve.best = 16;
  const std::string text = Text(report);
  for (const char* words : {"recorded\n", "knee, best that fits\n", "4.00 GB to 8.00 GB",
                            "may not fit\n", "unknown", "Beyond the knee"})
    ExpectHas(text, words);
  const Json json = Json::parse(RenderPredictJson(report))["targets"][1]["batch_curve"];
  EXPECT_EQ(json["knee_samples"], 16);
  EXPECT_TRUE(json["points"][0]["memory_bytes"].is_null());
  EXPECT_TRUE(json["points"][2]["fits"].is_null());
}

TEST(PredictText, NoNameBreaksOut) {
  for (const std::string& name : HostileNames()) {
    PredictReport report = WholeJob();
    report.baselines[0].trace = report.baselines[0].no_memory = name;
    report.targets[0].gpu = report.targets[0].doubt = name;
    report.options[0].option.instance.provider = report.prices = report.carbon = name;
    report.abstained = {{.trace = name, .why = name}};
    const std::string text = Text(report);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      EXPECT_EQ(Printable(line), line);
      EXPECT_LE(DisplayWidth(line), PageStyle::kWidth) << line;
      at = end + 1;
    }
    EXPECT_EQ(Json::parse(RenderPredictJson(report))["abstained"][0]["why"], ValidUtf8(name));
  }
}

TEST(PredictJson, HasEachTargetInTheOrderAskedFor) {
  const Json json = Json::parse(RenderPredictJson(WholeJob()));
  EXPECT_EQ(json["schema"], "headroom.predict/1");
  EXPECT_EQ(json["source_gpu"], "A100");
  EXPECT_EQ(json["baseline"], json["baselines"][0]);
  EXPECT_EQ(json["baseline"]["step_low_ms"], 90);
  const Json& slow = json["targets"][0];
  EXPECT_EQ(slow["gpu"], "T4");
  EXPECT_EQ(slow["fits"], false);
  EXPECT_EQ(slow["extrapolated"], true);
  EXPECT_EQ(slow["why"], "no kernel of its kind was measured");
  const Json& fast = json["targets"][1];
  EXPECT_EQ(fast["step_ms"]["mid"], 50);
  EXPECT_EQ(fast["energy_error_pct"], 20);
  EXPECT_EQ(fast["energy_source"], "model");
  EXPECT_TRUE(fast["extrapolated_why"].is_null());
  EXPECT_EQ(json["options"][0]["money"], 12.5);
  EXPECT_TRUE(json["options"][0]["scaled_out"].is_null());
}

TEST(PredictJson, UnknownIsNull) {
  const Json json = Json::parse(RenderPredictJson({}));
  for (const char* key :
       {"source_gpu", "baseline", "total_steps", "carbon", "not_scaled_out", "prices"})
    EXPECT_TRUE(json[key].is_null()) << key;
  for (const char* key : {"baselines", "targets", "abstained", "equivalents", "options"})
    EXPECT_TRUE(json[key].empty()) << key;
  const Json demo = Json::parse(RenderPredictJson(Demo()));
  for (const char* key :
       {"workload", "phases_ms", "gpu_memory_bytes", "energy_joules", "hours", "money", "currency",
        "co2_kg", "memory_bytes", "largest_batch", "batch_curve", "limited_by"})
    EXPECT_TRUE(demo["targets"][0][key].is_null()) << key;
  EXPECT_TRUE(demo["baseline"]["memory"].is_null());
  EXPECT_EQ(demo["baseline"]["no_memory"], "the trace has no shapes");
}

TEST(PredictJson, TwoBaselinesAreNoSingleOne) {
  PredictReport report = Demo();
  report.baselines.push_back(report.baselines[0]);
  const Json json = Json::parse(RenderPredictJson(report));
  EXPECT_TRUE(json["baseline"].is_null());
  EXPECT_EQ(json["baselines"].size(), 2u);
}

TEST(PredictJson, ExtremesAreNumbers) {
  PredictReport report = Demo();
  report.targets[0].step = {.low = -1, .mid = 0, .high = 1e18};
  report.targets[0].speedup = 1e300;
  const Json target = Json::parse(RenderPredictJson(report))["targets"][0];
  EXPECT_EQ(target["step_ms"]["high"], 1e18);
  EXPECT_EQ(target["speedup"], 1e300);
}

}  // namespace predict_render_test
}  // namespace headroom
