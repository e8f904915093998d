#include "answers/predict/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "answers/test_text.h"

namespace headroom {
namespace predict_render_test {

using Json = nlohmann::ordered_json;

/// One recorded job, and two GPUs that cannot be told apart.
PredictReport Demo(const std::string& name) {
  PredictReport report;
  report.source_gpu = name;
  PredictBaseline baseline;
  baseline.trace = baseline.gpu = baseline.no_memory = baseline.steps_note = name;
  baseline.step = {9, 10, 11};
  report.baselines = {baseline};
  PredictedTarget target;
  target.workload = target.why = target.doubt = name;
  target.gpu = target.full_name = name;
  target.step = {4, 5, 6};
  target.speedup = 2;
  target.limited_by = "gpu";
  report.targets = {target, target};
  report.targets[0].ties = {name};
  report.abstained = {{name, name}};
  return report;
}

TEST(RenderPredict, HasATargetForEachGpu) {
  const PredictReport report = Demo("H100");
  const Json json = Json::parse(RenderPredictJson(report));
  EXPECT_EQ(json["schema"], "headroom.predict/1");
  EXPECT_EQ(json.dump().find("nan"), std::string::npos);
  const std::string text = RenderPredictText(report, /*color=*/false, Charset::kAscii);
  EXPECT_THAT(text, testing::HasSubstr("2.00"));
  ExpectFits(text);
}

TEST(RenderPredict, TakesAnyNameAndAnEmptyReport) {
  for (const std::string& name : HostileNames()) {
    EXPECT_TRUE(Json::accept(RenderPredictJson(Demo(name)))) << name;
    ExpectFits(RenderPredictText(Demo(name), false, Charset::kUtf8));
  }
  EXPECT_TRUE(Json::accept(RenderPredictJson({})));
  ExpectFits(RenderPredictText({}, false, Charset::kUtf8));
}

}  // namespace predict_render_test
}  // namespace headroom
