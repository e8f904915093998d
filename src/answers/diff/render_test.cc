#include "answers/diff/render.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "answers/diff/baseline_json.h"
#include "answers/test_text.h"
#include "compare/baseline_file.h"
#include "render/escape.h"
#include "render/row_id.h"
#include "render/text_page.h"

namespace headroom {
namespace diff_render_test {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBytes = 20'000;

Difference Change(double a, double b, double half_width) {
  return {.a = a,
          .b = b,
          .delta = b - a,
          .low = b - a - half_width,
          .high = b - a + half_width,
          .bounded = half_width > 0};
}

JobProfile Side(const std::string& path, double median_ms) {
  JobProfile side;
  side.paths = {path};
  side.steps = 12;
  side.verdict = "host";
  side.median_ms = median_ms;
  side.runs.resize(1);
  return side;
}

/// A comparison in which B is 20 ms faster, because the optimizer runs another kernel.
DiffReport Demo() {
  DiffReport report;
  JobDiff& diff = report.diff;
  diff.a = Side("a.json", 100);
  diff.b = Side("b.json", 80);
  diff.step = Change(100, 80, 1);
  diff.comparable = false;
  diff.account = {{.name = "aten::add_", .of_operator = true, .a_ms = 60, .b_ms = 35},
                  {.name = "host_wait", .a_ms = 40, .b_ms = 45}};
  diff.facts = {{.name = "gpu",
                 .label = "GPU",
                 .a = "A100",
                 .b = "H200",
                 .state = FactState::kDifferent,
                 .blocks = true},
                {.name = "batch", .label = "batch", .a = "8", .b = "8", .state = FactState::kSame}};
  diff.operators = {{.name = "aten::add_",
                     .calls_a = 10,
                     .calls_b = 2,
                     .ms = Change(60, 35, 1),
                     .by_count_ms = -20,
                     .by_time_ms = -5}};
  diff.kernels = {{.name = "fused_adam",
                   .state = RowChange::State::kNew,
                   .calls_b = 1,
                   .ms = Change(0, 35, 1)}};
  diff.swaps = {{.operator_name = "aten::add_",
                 .gone = {"add_kernel", "mul_kernel"},
                 .fresh = {"fused_adam"},
                 .gone_ms = 60,
                 .fresh_ms = 35}};
  return report;
}

DiffReport OfOneStep() {
  DiffReport report = Demo();
  report.diff = {};
  report.diff.a = report.diff.b = Side("a.json", 0);
  return report;
}

GateResult Failed() {
  RuleResult rule;
  rule.rule.text = "step_ms<=+3%";
  rule.rule.metric = "step_ms";
  rule.rule.limit = 3;
  rule.verdict = GateVerdict::kFail;
  rule.change = Change(100, 105, 1);
  rule.measured = true;
  return {.verdict = GateVerdict::kFail, .rules = {rule}};
}

std::string Text(const DiffReport& report) { return RenderDiffText(report, PageStyle()); }

template <typename Visit>
void ForEachLine(const std::string& text, Visit visit) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    visit(text.substr(at, end - at));
    at = end + 1;
  }
}

TEST(DiffSentences, ChangesHaveASign) {
  EXPECT_EQ(MsText(12.34), "12.3 ms");
  EXPECT_EQ(ChangeMsText(12.34), "+12.3 ms");
  EXPECT_EQ(ChangeMsText(-0.5), "-0.500 ms");
  EXPECT_EQ(ChangeMsText(0), "0 ms");
  EXPECT_EQ(ChangePctText(100, 103.25), "+3.2 %");
  EXPECT_EQ(ChangePctText(100, 99.99), "-0.01 %");
  EXPECT_EQ(ChangePctText(1, 1'000), "+99900 %");
  EXPECT_EQ(ChangePctText(0, 5), "") << "nothing to compare with";
}

TEST(DiffSentences, OfTheStep) {
  const JobDiff diff = Demo().diff;
  EXPECT_EQ(StepSentence(diff),
            "100 ms -> 80.0 ms, -20.0 ms (-20.0 %); 95 % interval -21.0 ms to -19.0 ms");
  EXPECT_EQ(ExplanationSentence(diff),
            "aten::add_ -25.0 ms; partly offset by GPU idle: waits for the host +5.00 ms");
  ExpectHas(NoiseSentence(diff), "The change is beyond noise (the spread over steps, and ");
  EXPECT_EQ(SideText(diff.a), "a.json: 12 steps, health A");
  EXPECT_EQ(NotComparableText(diff),
            "not the same: gpu; if you test that change, add --accept gpu");
}

TEST(DiffSentences, ClaimNothingWithoutASpread) {
  const JobDiff diff = OfOneStep().diff;
  EXPECT_EQ(StepSentence(diff), "0 ms -> 0 ms, 0 ms");
  EXPECT_EQ(ExplanationSentence(diff), "");
  EXPECT_EQ(NotComparableText(diff), "");
  ExpectHas(NoiseSentence(diff), "One step has no spread");
  EXPECT_TRUE(RankSentences(diff).empty());
  EXPECT_EQ(SideText({}), "no file: 0 steps, health A");
}

TEST(DiffSentences, RecordingMayHideTheChange) {
  JobDiff diff = Demo().diff;
  diff.corrected = Change(70, 75, 1);
  ExpectHas(NoiseSentence(diff), "Recording hides the change");
}

TEST(DiffSentences, LabelsAreForPeople) {
  EXPECT_EQ(AccountLabel({.name = "unexplained"}), "GPU idle: unexplained");
  EXPECT_EQ(AccountLabel({.name = "phase.host_to_device"}), "host to device");
  EXPECT_EQ(AccountLabel({.name = "host_wait", .of_operator = true}), "host_wait");
}

TEST(DiffSentences, RanksByChangeOfTheirComputing) {
  JobDiff diff = Demo().diff;
  const auto figures = [](double compute_ms) {
    RankFigures rank;
    rank.compute_ms = compute_ms;
    return rank;
  };
  diff.ranks = {{.rank = 0, .a = figures(10), .b = figures(11)},
                {.rank = 1, .a = figures(10), .b = std::nullopt},
                {.rank = 2, .a = figures(10), .b = figures(5)}};
  std::vector<std::int64_t> order;
  for (const RankChange& rank : RanksByChange(diff)) order.push_back(rank.rank);
  EXPECT_EQ(order, (std::vector<std::int64_t>{2, 0, 1}));
}

TEST(RuleText, HasTheUnitOfItsLimit) {
  RuleResult rule = Failed().rules[0];
  EXPECT_EQ(RuleText(rule), "+5.00 % (+4.00 % to +6.00 %)");
  rule.rule.kind = GateRule::Limit::kChange;
  EXPECT_EQ(RuleText(rule), "+5 ms (+4 ms to +6 ms)");
  rule.rule.kind = GateRule::Limit::kValue;
  rule.change.bounded = false;
  EXPECT_EQ(RuleText(rule), "5 ms");
  rule.measured = false;
  rule.why = "B has no such figure";
  EXPECT_EQ(RuleText(rule), "B has no such figure");
}

TEST(IdOfRow, IsThatOfTheReport) {
  const RowChange row = Demo().diff.operators[0];
  EXPECT_EQ(IdOfRow("operator", row), RowId("operator", "aten::add_"));
}

TEST(DiffText, HasTheSectionsOfTheChange) {
  const std::string text = Text(Demo());
  for (const char* words :
       {"  A       a.json: 12 steps, health A\n", "  Verdict both: host\n",
        "  aten::add_                     60.00  35.00  -25.00      -25.0 %\n",
        "  the step (median)             100.00  80.00  -20.00      -20.0 %\n", "10 -> 2", "new",
        "  aten::add_  60.0 ms -> 35.0 ms\n    was  add_kernel and 1 more\n    is   fused_adam\n",
        "A100", "  same     batch\n"})
    ExpectHas(text, words);
  EXPECT_EQ(text.find("Gate"), std::string::npos) << "no rule was given";
}

TEST(DiffText, OfNothingIsNoTableOfRows) {
  const std::string text = Text(OfOneStep());
  ExpectHas(text, "the step (median)  0.000  0.000  +0.000\n");
  for (const char* word : {"Operators", "Kernels", "Layers", "nan", "inf"})
    EXPECT_EQ(text.find(word), std::string::npos) << word;
}

TEST(DiffText, NoNameBreaksOut) {
  for (const std::string& name : HostileNames()) {
    DiffReport report = Demo();
    report.gate = Failed();
    report.gate->rules[0].rule.text = report.gate->rules[0].why = name;
    report.diff.a.paths[0] = report.diff.b.verdict = name;
    report.diff.facts[0].a = report.diff.facts[0].cost = name;
    report.diff.account[0].name = report.diff.operators[0].name = name;
    report.diff.kernels[0].name = report.diff.swaps[0].operator_name = name;
    report.diff.swaps[0].gone = report.diff.swaps[0].fresh = {name};
    ForEachLine(Text(report), [](const std::string& line) {
      EXPECT_EQ(Printable(line), line);
      EXPECT_LE(DisplayWidth(line), PageStyle::kWidth) << line;
    });
    std::size_t cells = 0;
    ForEachLine(RenderDiffMarkdown(report, kBytes), [&](const std::string& line) {
      EXPECT_EQ(Printable(line), line);
      std::size_t here = 0;
      for (std::size_t i = 0; i < line.size(); ++i)
        here += line.starts_with('|') && line[i] == '|' && (i == 0 || line[i - 1] != '\\');
      EXPECT_TRUE(here == 0 || cells == 0 || here == cells) << line;
      cells = here;
    });
    EXPECT_EQ(Json::parse(RenderDiffJson(report))["a"]["paths"][0], ValidUtf8(name));
  }
}

TEST(DiffMarkdown, TheVerdictOfTheGateComesFirst) {
  DiffReport report = Demo();
  report.gate = Failed();
  const std::string text = RenderDiffMarkdown(report, kBytes);
  EXPECT_EQ(text.rfind("## Headroom: what changed\n\n**Gate: fail**\n\n", 0), 0u) << text;
  for (const std::string& words :
       {std::string("| `step_ms<=+3%` | fail | \\+5.00 % (+4.00 % to +6.00 %) |\n"),
        std::string("| `aten::add_` | 60.000 | 35.000 | -25.000 |\n"),
        std::string("| **the step (median)** | 100.000 | 80.000 | -20.000 |\n"),
        "| `aten::add_` | 60.000 | 35.000 | -25.000 | 10 | 2 | " + RowId("operator", "aten::add_") +
            " |\n",
        std::string("`fused_adam` (new) | 0.000 | 35.000 | +35.000 | 0 | 1 |"),
        std::string("One row of B: `headroom report b.json --show ID`\n")})
    ExpectHas(text, words);
  report.gate->verdict = GateVerdict::kNotComparable;
  ExpectHas(RenderDiffMarkdown(report, kBytes), "The runs are not the same: gpu;");
}

TEST(DiffMarkdown, StaysWithinItsBytesAndClosesWhatFolds) {
  DiffReport report = Demo();
  report.diff.operators.resize(60, report.diff.operators[0]);
  report.diff.kernels.resize(60, report.diff.kernels[0]);
  report.diff.facts.resize(40, report.diff.facts[0]);
  report.top = 60;
  for (const std::size_t most : {200u, 1'000u, 3'000u, 6'000u}) {
    const std::string text = RenderDiffMarkdown(report, most);
    EXPECT_LE(text.size(), most);
    EXPECT_EQ(text.back(), '\n');
    std::size_t opened = 0, closed = 0;
    ForEachLine(text, [&](const std::string& line) {
      opened += line.starts_with("<details>");
      closed += line.starts_with("</details>");
    });
    EXPECT_EQ(opened, closed) << text;
  }
}

TEST(DiffJson, HasAllRowsAndNoInfinity) {
  DiffReport report = Demo();
  report.top = 0;
  report.gate = Failed();
  const Json json = Json::parse(RenderDiffJson(report));
  EXPECT_EQ(json["schema"], "headroom.diff/1");
  EXPECT_EQ(json["a"]["p50_ms"], 100);
  EXPECT_TRUE(json["a"]["imbalance_ms"].is_null());
  EXPECT_EQ(json["step_ms"]["change"], -20);
  EXPECT_EQ(json["step_ms"]["noise"], false);
  EXPECT_EQ(json["operators"].size(), 1u);
  EXPECT_EQ(json["kernels"][0]["state"], "new");
  EXPECT_TRUE(json["kernels"][0]["ms"]["change_pct"].is_null()) << "from nothing";
  EXPECT_EQ(json["gate"]["verdict"], "fail");
  const Json empty = Json::parse(RenderDiffJson(OfOneStep()));
  EXPECT_TRUE(empty["gate"].is_null());
  EXPECT_TRUE(empty["step_ms"]["low"].is_null()) << "nothing is known of the interval";
  EXPECT_TRUE(empty["operators"].empty());
}

TEST(RenderBaseline, NamesFilesWithoutTheirFolders) {
  JobProfile profile = Side("/home/somebody/secret/a.json", 1.0 / 3);
  profile.facts = {{.name = "gpu", .value = "H200 \"x\""}};
  profile.operators = {{.name = "aten::add", .calls = 2, .ms = {.value = 1.5}}};
  const std::string text = RenderBaseline("main\n\"x\"", profile);
  EXPECT_EQ(text.find("secret"), std::string::npos);
  const Json json = Json::parse(text);
  EXPECT_EQ(json["schema"], kBaselineSchema);
  EXPECT_EQ(json["name"], "main\n\"x\"");
  EXPECT_EQ(json["sources"], Json::array({"a.json"}));
  EXPECT_EQ(json["facts"]["gpu"], "H200 \"x\"");
  EXPECT_EQ(json["operators"][0]["name"], "aten::add");
  EXPECT_TRUE(json["kernels"].empty());
  EXPECT_TRUE(json["calibration"].is_null());
}

}  // namespace diff_render_test
}  // namespace headroom
