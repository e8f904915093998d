#include <gtest/gtest.h>

#include <algorithm>

#include "answers/report/report_fixture.h"
#include "answers/report/text.h"
#include "answers/test_text.h"
#include "render/escape.h"

namespace headroom {
namespace text_ranks_test {

std::string TextOf(const JobRanks* job, std::optional<std::size_t> top = {}) {
  TextOptions options;
  options.only = Section::kRanks;
  options.ranks = job;
  options.top = top;
  return RenderText(std::vector{DemoReport()}, options);
}

TEST(TextRanks, OneRankSaysWhatItNeeds) {
  const std::string text = TextOf(nullptr);
  EXPECT_NE(text.find("pass the files of all ranks, or their folder"), std::string::npos) << text;
}

TEST(TextRanks, ListsTheRankThatHoldsTheOthersUpFirst) {
  const JobRanks job = SlowRankOne();
  const std::string text = TextOf(&job);
  EXPECT_LT(text.find("\n     1  node2  30.0 ms     3      2"), text.find("\n     0  node1"))
      << text;
  for (const char* words : {"2.00 h", "2000 GFLOP", "17.5 GB/s", "2/8", "data?",
                            "data?: inferred of group world: it reduces gradients"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " in\n" << text;
}

TEST(TextRanks, ARankWithoutAClockHasNoFigures) {
  JobRanks job = SlowRankOne();
  job.alignment.clocks[1].aligned = false;
  const std::string text = TextOf(&job);
  EXPECT_NE(text.find("unknown"), std::string::npos) << text;
  EXPECT_EQ(text.find("2.00 h"), std::string::npos) << text;
}

TEST(TextRanks, ClocksApartHaveTheUnitOfTheirDistance) {
  const struct {
    std::int64_t offset_ns;
    const char* text;
  } kCases[] = {{1, "<0.001 ms"},
                {-5'000'000, "-5.00 ms"},
                {1'500'000'000, "1.50 s"},
                {-3'599'000'000'000, "-3599.00 s"},
                {3'600'000'000'000, "1.00 h"},
                {1'000'000'000'000'000'000, "277777.78 h"}};
  for (const auto& c : kCases) {
    JobRanks job = SlowRankOne();
    job.alignment.clocks[1].offset_ns = c.offset_ns;
    EXPECT_NE(TextOf(&job).find(c.text), std::string::npos) << c.text << " in\n" << TextOf(&job);
  }
}

TEST(TextRanks, ShowsThePipelineAndWhatIsMissing) {
  JobRanks job = SlowRankOne();
  job.pipeline = TwoStages(0.2);
  job.issues = {{.issue = ImportIssue::kTruncated, .count = 1, .detail = "rank 7 has no file"}};
  const std::string text = TextOf(&job);
  EXPECT_NE(text.find("Stage 1 computes longest"), std::string::npos) << text;
  EXPECT_NE(text.find("Rank 7 has no file"), std::string::npos) << text;
  EXPECT_NE(text.find("90.0 ms"), std::string::npos) << text;
}

TEST(TextRanks, NoNameBreaksOut) {
  for (const std::string& name : HostileNames()) {
    JobRanks job = SlowRankOne();
    job.ranks[1].host = job.waits.straggler_host = name;
    job.waits.classes[0].kind = job.waits.classes[0].group = name;
    job.axes[0].group = job.axes[0].why = name;
    const std::string text = TextOf(&job);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      EXPECT_EQ(Printable(text.substr(at, end - at)), text.substr(at, end - at));
      at = end + 1;
    }
  }
}

}  // namespace text_ranks_test
}  // namespace headroom
