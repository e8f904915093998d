#include "answers/diff/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "answers/diff/baseline_json.h"
#include "answers/test_text.h"

namespace headroom {
namespace diff_render_test {

using Json = nlohmann::ordered_json;
using testing::Contains;
using testing::HasSubstr;

JobProfile Side(const std::string& path, double step_ms) {
  JobProfile side;
  side.paths = {path};
  side.steps = 10;
  side.verdict = "host";
  side.median_ms = step_ms;
  side.runs.resize(1);
  return side;
}

/// Two milliseconds slower, by a new kernel.
DiffReport Demo() {
  DiffReport report;
  JobDiff& diff = report.diff;
  diff.a = Side("a.json", 10);
  diff.b = Side("b.json", 12);
  diff.step = {.a = 10, .b = 12, .delta = 2, .low = 1.5, .high = 2.5, .bounded = true};
  diff.account = {{"aten::mm", true, 4, 5.8}, {"host_wait", false, 6, 6.2}};
  const Difference fresh = {.a = 0, .b = 2, .delta = 2, .low = 1.9, .high = 2.1, .bounded = true};
  diff.kernels = {{.name = "gemm", .state = RowChange::State::kNew, .calls_b = 3, .ms = fresh}};
  diff.swaps = {{"aten::mm", {"old", "older"}, {"fresh"}, 1, 2}};
  return report;
}

std::string Text(const DiffReport& report, Charset charset = Charset::kUtf8) {
  return RenderDiffText(report, /*color=*/false, charset);
}

TEST(DiffSentences, HaveTheirSignsAndIntervals) {
  EXPECT_EQ(MsText(12.344), "12.34 ms");
  EXPECT_EQ(ChangeMsText(0.0000001), "0 ms");
  EXPECT_EQ(ChangeMsText(-2), "-2.00 ms");
  EXPECT_EQ(ChangePctText(0, 1), "") << "nothing to compare with";
  EXPECT_EQ(ChangePctText(100, 100.05), "+0.05 %");
  EXPECT_EQ(ChangePctText(1, 20), "+1900 %");
  JobDiff diff = Demo().diff;
  EXPECT_EQ(StepSentence(diff),
            "10.00 ms -> 12.00 ms, +2.00 ms (+20.0 %); 95 % sure of +1.50 ms to +2.50 ms");
  EXPECT_EQ(ExplanationSentence(diff), "aten::mm +1.80 ms; GPU idle: waits for the host +0.200 ms");
  EXPECT_THAT(NoiseSentence(diff), HasSubstr("The change is beyond noise"));
  diff.step.bounded = false;
  EXPECT_THAT(NoiseSentence(diff), HasSubstr("record more steps"));
  EXPECT_EQ(ExplanationSentence(diff), "") << "nothing changed beyond noise";
}

TEST(DiffSentences, NameSidesAndRows) {
  JobProfile side = Side("a.json", 1);
  EXPECT_EQ(SideText(side), "a.json: 10 steps, health A");
  side.paths.push_back("b.json");
  side.baseline = "main";
  EXPECT_EQ(SideText(side), "baseline main, of a.json and 1 repeat: 10 steps, health A");
  side.paths.clear();
  side.baseline.clear();
  EXPECT_EQ(SideText(side), "no file: 10 steps, health A");
  EXPECT_EQ(AccountLabel({"phase.host_to_device", false}), "host to device");
  EXPECT_EQ(AccountLabel({"host_wait", true}), "host_wait") << "an operator of that name";
}

TEST(DiffSentences, NameTheFactsToAccept) {
  JobDiff diff = Demo().diff;
  EXPECT_EQ(NotComparableText(diff), "");
  diff.facts = {
      {.name = "gpu", .state = FactState::kDifferent, .blocks = true},
      {.name = "batch", .state = FactState::kDifferent, .blocks = true},
      {.name = "torch", .state = FactState::kDifferent},
      {.name = "model", .state = FactState::kDifferent, .blocks = true, .accepted = true}};
  EXPECT_EQ(NotComparableText(diff),
            "not the same: gpu, batch; where that is the change you test, say --accept gpu,batch");
}

TEST(DiffText, ShowsRowsOnceTheyMatter) {
  DiffReport report = Demo();
  report.diff.kernels.push_back({.name = "tiny", .ms = {.delta = 0.004}});
  ExpectFits(Text(report));
  ExpectFits(Text(report, Charset::kAscii));
  const std::vector<std::string> lines = LinesOf(Text(report));
  EXPECT_THAT(lines, Contains("  1 row more, +0.004 ms in all; --json has every row"));
  EXPECT_THAT(lines, Contains("    was  old and 1 more"));
  EXPECT_THAT(lines, Contains("  Verdict both: host"));
  EXPECT_THAT(lines, Contains(HasSubstr("gemm")).Times(1));
}

TEST(DiffMarkdown, LosesRowsThenItsEnd) {
  DiffReport report = Demo();
  const std::string whole = RenderDiffMarkdown(report, 20'000);
  EXPECT_THAT(whole, HasSubstr("| `gemm` (new) | 0.000 | 2.000 | +2.000 | 0 | 3 |"));
  EXPECT_THAT(whole, HasSubstr("| **the step (median)** | 10.000 | 12.000 | +2.000 |"));
  EXPECT_EQ(RenderDiffMarkdown(report, whole.size()), whole);
  for (std::size_t max = 200; max < whole.size(); max += 37) {
    const std::string cut = RenderDiffMarkdown(report, max);
    EXPECT_LE(cut.size(), max);
    EXPECT_TRUE(cut.ends_with("`--max-bytes` with more shows it.\n"));
    EXPECT_EQ(cut.find("<details>") == std::string::npos,
              cut.find("</details>") == std::string::npos);
  }
}

TEST(Diff, TakesAnyName) {
  for (const std::string& name : HostileNames()) {
    DiffReport report = Demo();
    JobDiff& diff = report.diff;
    diff.a.paths = {name};
    diff.a.verdict = diff.a.baseline = name;
    diff.account[0].name = diff.kernels[0].name = name;
    diff.operators = diff.layers = diff.kernels;
    diff.swaps = {{"aten::mm", {name}, {name}, 1, 2}};
    diff.facts = {{.name = "gpu",
                   .label = "GPU",
                   .a = name,
                   .b = "x",
                   .state = FactState::kDifferent,
                   .blocks = true}};
    ExpectFits(Text(report));
    EXPECT_TRUE(Json::accept(RenderDiffJson(report))) << name;
    EXPECT_TRUE(Json::accept(RenderBaseline(name, diff.a))) << name;
    for (const std::string& line : LinesOf(RenderDiffMarkdown(report, 20'000)))
      EXPECT_EQ(Printable(line), line);
  }
}

TEST(DiffJson, HasEveryRow) {
  DiffReport report = Demo();
  report.top = 0;
  const Json json = Json::parse(RenderDiffJson(report));
  EXPECT_EQ(json["schema"], "headroom.diff/1");
  EXPECT_EQ(json["kernels"].size(), 1u);
  EXPECT_EQ(json["kernels"][0]["name"], "gemm");
  EXPECT_TRUE(json["gate"].is_null());
}

TEST(Baseline, HasARowALineAndRoundedFigures) {
  JobProfile side = Side("a.json", 1.23456789);
  side.kernels = {{.name = "gemm", .calls = 2, .ms = {1.00000049, 0.25, 3.14}}};
  const std::string text = RenderBaseline("main", side);
  EXPECT_THAT(text, HasSubstr("{\"name\": \"gemm\", \"calls\": 2, \"ms\": 1, \"error\": 0.25, "
                              "\"freedom\": 3.1}"));
  EXPECT_EQ(Json::parse(text)["schema"], "headroom.baseline/1");
}

}  // namespace diff_render_test
}  // namespace headroom
