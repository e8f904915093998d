#include "answers/report/markdown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "answers/report/report_fixture.h"
#include "answers/test_text.h"
#include "ranks/test_ranks.h"

namespace headroom {
namespace markdown_report_test {

std::string Render(const std::vector<TraceReport>& files, const ReportOptions& options = {}) {
  return RenderMarkdown(files, options);
}

void ExpectLine(const std::string& text, std::string_view line) {
  const std::vector<std::string> lines = LinesOf(text);
  EXPECT_NE(std::find(lines.begin(), lines.end(), line), lines.end()) << line << "\nin\n" << text;
}

TEST(RenderMarkdown, OfTheDemoHasTheFiguresOfTheReport) {
  const std::string text = Render({DemoReport()});
  for (const char* line :
       {"## Headroom: host", "| GPU 0 (NVIDIA H200) | busy 39.8 % of 222 ms |",
        "### Step breakdown (step 2)", "| part | time | share | GPU busy |",
        "| forward | 20.1 ms | 27.2 % | 8.00 ms |", "| **step** | 73.9 ms | 100.0 % | 29.4 ms |",
        "   - **Saves:** 13 ms (12-15) per step: forecast of fused-optimizer", "### Kernels",
        "| kernel | GPU time | share | calls | mean | id |", "### Operators", "### Missing data"})
    ExpectLine(text, line);
  EXPECT_EQ(text.find("| callback"), std::string::npos) << "a part that takes no time has no line";
}

TEST(RenderMarkdown, OfABareTraceHasNoFigureOfTheGpu) {
  const std::string text = Render({BareReport()});
  ExpectLine(text, "## Headroom: unknown");
  ExpectLine(text, "| step | no steps found |");
  ExpectLine(text, "### Missing data");
  for (const char* words : {"### Kernels", "### Operators", "### Findings", "Step breakdown",
                            "| GPU ", "MFU", "nan", "inf"})
    EXPECT_EQ(text.find(words), std::string::npos) << words << " in\n" << text;
}

TEST(RenderMarkdown, OfStepsThatAreNotWholeHasNoStepTime) {
  TraceReport report = DemoReport();
  for (StepRow& row : report.steps.list) row.lost_tasks = true;
  static_cast<WallSummary&>(report.steps) = {};
  ExpectLine(Render({report}), "| step | unknown: no step has all its GPU tasks recorded |");
}

TEST(RenderMarkdown, WithoutGpuWorkTheBreakdownHasNoColumnOfTheGpu) {
  TraceReport report = DemoReport();
  report.gpu_time.clear();
  const std::string text = Render({report});
  ExpectLine(text, "| part | time | share |");
  ExpectLine(text, "| **step** | 73.9 ms | 100.0 % |");
}

TEST(RenderMarkdown, ATableThatIsCutNamesTheCommandForTheRest) {
  ReportOptions options;
  options.top = 2;
  options.check_arguments = {"--steps", "2:4"};
  const std::string text = Render({DemoReport()}, options);
  ExpectLine(text, "3 more: `headroom report traces/gpt2_bs-1.json.gz --steps 2:4 --only kernels`");
  ExpectLine(text,
             "1 more: `headroom report traces/gpt2_bs-1.json.gz --steps 2:4 --only operators`");
  options.top = 5;
  EXPECT_EQ(Render({DemoReport()}, options).find(" more: "), std::string::npos);
}

TEST(RenderMarkdown, NamesTheFilesOfAJobAndTheRankThatStandsForAll) {
  std::vector<TraceReport> files(7, DemoReport());
  for (std::size_t i = 0; i < files.size(); ++i) files[i].input.rank = static_cast<std::int64_t>(i);
  files[3].steps.p50 = DurationNs(80'000'000);
  const std::string text = Render(files);
  ExpectLine(text, "| | and 2 files more |");
  EXPECT_NE(text.find(" (rank 3, the slowest of 7)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("| rank 4, GPU 0 (NVIDIA H200) |"), std::string::npos);
  EXPECT_EQ(text.find("| rank 5, GPU 0"), std::string::npos) << "of the first files alone";
  EXPECT_NE(text.find("- rank 0 and 6 more: `orphan-gpu-task` (12): "), std::string::npos) << text;
}

TEST(RenderMarkdown, SaysWhoWaitsForWhomIfRanksAreCompared) {
  RankBuilder b(2);
  b.Step(0, 0, 1000).AllReduce({100, 200}, 300).AllReduce({400, 500}, 600);
  b.AllReduce({700, 800}, 900);
  const JobRanks job = AnalyzeJobRanks(b.ranks());
  ReportOptions options;
  options.ranks = &job;
  EXPECT_NE(Render({DemoReport(), DemoReport()}, options).find("**Ranks.** "), std::string::npos);
  EXPECT_EQ(Render({DemoReport(), DemoReport()}).find("**Ranks.** "), std::string::npos);
}

TEST(RenderMarkdown, StaysWithinItsBytesAndEndsAfterALine) {
  TraceReport report = DemoReport();
  report.bottleneck.evidence.resize(300, report.bottleneck.evidence[0]);
  for (const std::size_t most : {200u, 500u, 3'000u, 20'000u}) {
    const std::string text = RenderMarkdown(std::vector{report}, {}, most);
    EXPECT_LE(text.size(), most);
    EXPECT_EQ(text.back(), '\n');
    EXPECT_NE(text.find("The rest is left out"), std::string::npos) << most;
  }
  report.input.path = std::string(5'000, 'p');
  const std::string text = RenderMarkdown(std::vector{report}, {}, 300);
  EXPECT_LE(text.size(), 300u);
  EXPECT_NE(text.find("\nThe rest is left out.\n"), std::string::npos) << "no room for the path";
}

TEST(RenderMarkdown, LosesRowsBeforeItLosesSections) {
  const std::string whole = Render({DemoReport()});
  const std::string shorter = RenderMarkdown(std::vector{DemoReport()}, {}, whole.size() - 1);
  EXPECT_LT(shorter.size(), whole.size());
  EXPECT_EQ(shorter.find("The rest is left out"), std::string::npos);
  ExpectLine(shorter, "### Missing data");
}

TEST(RenderMarkdown, ExtremesAreFigures) {
  TraceReport report = DemoReport();
  TimeRow& kernel = report.kernels[0];
  kernel.count = 0;
  kernel.total = DurationNs(1'000'000'000'000'000'000);
  report.gpu_time[0].span = DurationNs(0);
  report.breakdown->wall = DurationNs(0);
  const std::string text = Render({report});
  for (const char* word : {"nan", "inf"}) EXPECT_EQ(text.find(word), std::string::npos) << text;
}

}  // namespace markdown_report_test
}  // namespace headroom
