#include "answers/report/ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "answers/report/report_fixture.h"
#include "answers/report/text.h"
#include "render/escape.h"

namespace headroom {
namespace ranks_report_test {

using Json = nlohmann::ordered_json;

/// A job of two ranks on two hosts; rank 1 holds rank 0 up.
JobRanks SlowRankOne() {
  JobRanks job;
  job.ranks.resize(2);
  job.ranks[0].rank = 0;
  job.ranks[1].rank = 1;
  job.ranks[0].host = "node1";
  job.ranks[1].host = "node2";
  job.alignment.clocks.resize(2);
  for (RankClock& clock : job.alignment.clocks) clock.aligned = true;
  job.alignment.clocks[1].offset_ns = 7'200'000'000'000;
  job.alignment.unmatched = 4;
  job.waits.ranks = {
      {.waited = DurationNs(30'000'000), .caused = DurationNs(0), .last = 0, .culprit = 0},
      {.waited = DurationNs(0), .caused = DurationNs(30'000'000), .last = 3, .culprit = 2}};
  job.waits.classes = {{.group = "world",
                        .kind = "allreduce",
                        .bytes = 1e6,
                        .count = 3,
                        .ranks = 2,
                        .members = 8,
                        .wait = DurationNs(10'000'000),
                        .transfer = DurationNs(100'000),
                        .exposed = DurationNs(200'000),
                        .hidden = DurationNs(0),
                        .algorithm_gbs = 10,
                        .bus_gbs = 17.5}};
  job.waits.pattern = StragglerPattern::kRecurrent;
  job.waits.stragglers = {1};
  job.waits.straggler_host = "node2";
  job.waits.lost = DurationNs(30'000'000);
  job.waits.steps = 3;
  job.waits.lost_share = 0.25;
  job.waits.uncertainty = DurationNs(1'500);
  job.work.measure = WorkMeasure::kFlops;
  job.work.ranks = {{.computing = DurationNs(50'000'000), .work = 2e12},
                    {.computing = std::nullopt, .work = std::nullopt}};
  job.work.steps = 3;
  job.work.computing_imbalance = 0.1;
  job.work.cause = LateCause::kSlowGpu;
  job.work.why = "Its GPU takes longer for the same work.";
  job.axes = {{.group = "world",
               .axis = ParallelAxis::kData,
               .recorded = false,
               .why = "it reduces gradients",
               .members = 8,
               .ranks = {0, 1}}};
  return job;
}

Pipeline TwoStages(double imbalance) {
  Pipeline pipeline;
  pipeline.stages.resize(2);
  for (std::size_t i = 0; i < 2; ++i) pipeline.stages[i].ranks = {i};
  pipeline.stages[0].computing = DurationNs(60'000'000);
  pipeline.stages[1].computing = DurationNs(90'000'000);
  pipeline.imbalance = imbalance;
  pipeline.bubble_share = 0.3;
  return pipeline;
}

Json JsonOf(const JobRanks* job) {
  JsonWriter json;
  json.BeginObject();
  WriteJobRanksJson(job, json);
  json.EndObject();
  return Json::parse(std::move(json).Take())["job_ranks"];
}

std::string TextOf(const JobRanks* job, std::optional<std::size_t> top = {}) {
  TextOptions options;
  options.only = Section::kRanks;
  options.ranks = job;
  options.top = top;
  return RenderText(std::vector{DemoReport()}, options);
}

TEST(RanksVerdict, NamesWhoIsLateAndWhatItCosts) {
  JobRanks job = SlowRankOne();
  EXPECT_EQ(RanksVerdict(job),
            "Rank 1 (on node2) holds the others up, step after step: the job loses 30.00 ms of 3 "
            "steps (25.0 %) by who comes last. Less than 3.00 us apart is not told apart. Its GPU "
            "takes longer for the same work.");
  job.work.why.clear();
  job.waits.stragglers = {0, 1};
  EXPECT_EQ(RanksVerdict(job).rfind("Ranks 0, 1 (all on node2) hold the others up", 0), 0u);
  job.waits.straggler_host.clear();
  EXPECT_EQ(RanksVerdict(job).rfind("Ranks 0, 1 hold the others up", 0), 0u);
}

TEST(RanksVerdict, OfEachPattern) {
  const struct {
    StragglerPattern pattern;
    const char* words;
  } kCases[] = {
      {StragglerPattern::kNone, "No rank holds the others up for a share of time that counts: "},
      {StragglerPattern::kRotating, "Another rank comes last each time: "},
      {StragglerPattern::kOnce, "Rank 1 (on node2) held the others up in one step: "}};
  for (const auto& c : kCases) {
    JobRanks job = SlowRankOne();
    job.waits.pattern = c.pattern;
    EXPECT_EQ(RanksVerdict(job).rfind(c.words, 0), 0u) << RanksVerdict(job);
  }
}

TEST(RanksVerdict, ClaimsNothingWithoutCollectivesOrSteps) {
  JobRanks job = SlowRankOne();
  job.waits.pattern = StragglerPattern::kNone;
  job.work.why.clear();
  job.waits.lost_share.reset();
  EXPECT_NE(RanksVerdict(job).find("without steps"), std::string::npos) << RanksVerdict(job);
  job.waits.classes.clear();
  EXPECT_EQ(RanksVerdict(job).rfind("No collective that all wait in was joined over ranks", 0), 0u);
  EXPECT_EQ(RanksVerdict({}).find('%'), std::string::npos) << "no rank at all";
}

TEST(PipelineVerdict, NamesTheLongestStageIfStagesAreUneven) {
  EXPECT_EQ(PipelineVerdict(TwoStages(0.2)),
            "2 stages wait for each other for 30.0 % of their time (the bubble). Stage 1 computes "
            "longest, 20.0 % above the mean: move layers away from it.");
  EXPECT_EQ(PipelineVerdict(TwoStages(0.049)),
            "2 stages wait for each other for 30.0 % of their time (the bubble). They compute "
            "about equally long.");
}

TEST(AxisOf, MarksWhatIsInferred) {
  JobRanks job = SlowRankOne();
  EXPECT_EQ(AxisOf(job, "world"), "data?");
  job.axes[0].recorded = true;
  EXPECT_EQ(AxisOf(job, "world"), "data");
  job.axes[0].axis.reset();
  EXPECT_EQ(AxisOf(job, "world"), "");
  EXPECT_EQ(AxisOf(job, "unknown group"), "");
  EXPECT_EQ(FindAxis(job, ""), nullptr);
}

TEST(RanksNameOf, WordsOfTheContract) {
  EXPECT_EQ(NameOf(StragglerPattern::kNone), "none");
  EXPECT_EQ(NameOf(StragglerPattern::kRecurrent), "recurrent");
  EXPECT_EQ(NameOf(StragglerPattern::kRotating), "rotating");
  EXPECT_EQ(NameOf(StragglerPattern::kOnce), "once");
  EXPECT_EQ(NameOf(LateCause::kNobodyIsLate), "");
  EXPECT_EQ(NameOf(LateCause::kUnknown), "unknown");
  EXPECT_EQ(NameOf(LateCause::kMoreWork), "more-work");
  EXPECT_EQ(NameOf(LateCause::kSlowGpu), "slow-gpu");
  EXPECT_EQ(NameOf(LateCause::kLateStart), "late-start");
  EXPECT_EQ(NameOf(WorkMeasure::kNone), "");
  EXPECT_EQ(NameOf(WorkMeasure::kFlops), "flops");
  EXPECT_EQ(NameOf(WorkMeasure::kInputBytes), "input_bytes");
}

TEST(JobRanksJson, HasTheStragglerItsCauseAndTheGroups) {
  JobRanks job = SlowRankOne();
  job.pipeline = TwoStages(0.2);
  const Json json = JsonOf(&job);
  EXPECT_EQ(json["straggler"]["pattern"], "recurrent");
  EXPECT_EQ(json["straggler"]["rank"], 1);
  EXPECT_EQ(json["straggler"]["ranks"], Json::array({1}));
  EXPECT_EQ(json["straggler"]["cause"], "slow-gpu");
  EXPECT_EQ(json["straggler"]["lost_ms"], 30);
  EXPECT_EQ(json["straggler"]["lost_pct"], 25);
  EXPECT_EQ(json["waits"].size(), 2u);
  EXPECT_EQ(json["clocks"][1]["offset_ms"], 7'200'000);
  EXPECT_EQ(json["work"]["measure"], "flops");
  EXPECT_TRUE(json["work"]["explained_pct"].is_null());
  EXPECT_EQ(json["groups"][0]["axis_from"], "inferred");
  EXPECT_EQ(json["collectives"][0]["axis"], "data");
  EXPECT_EQ(json["pipeline"]["stages"][1]["computing_ms"], 90);
  EXPECT_EQ(json["unmatched"], 4);
}

TEST(JobRanksJson, UnknownIsNull) {
  EXPECT_TRUE(JsonOf(nullptr).is_null());
  JobRanks job = SlowRankOne();
  job.waits.stragglers = {0, 1};
  job.waits.straggler_host.clear();
  job.waits.lost_share.reset();
  job.work = {};
  job.axes[0].axis.reset();
  const Json json = JsonOf(&job);
  for (const char* key : {"rank", "host", "cause", "why", "lost_pct"})
    EXPECT_TRUE(json["straggler"][key].is_null()) << key;
  EXPECT_EQ(json["straggler"]["ranks"], Json::array({0, 1}));
  EXPECT_TRUE(json["work"]["measure"].is_null());
  EXPECT_TRUE(json["groups"][0]["axis"].is_null());
  EXPECT_TRUE(json["groups"][0]["axis_from"].is_null());
  EXPECT_TRUE(json["waits"][0]["work"].is_null());
  EXPECT_TRUE(json["pipeline"].is_null());
  const JobRanks nobody;
  EXPECT_TRUE(JsonOf(&nobody)["waits"].empty());
}

TEST(TextRanks, OneRankSaysWhatItNeeds) {
  const std::string text = TextOf(nullptr);
  EXPECT_NE(text.find("pass the files of all, or their folder"), std::string::npos) << text;
}

TEST(TextRanks, ListsTheRankThatHoldsTheOthersUpFirst) {
  const JobRanks job = SlowRankOne();
  const std::string text = TextOf(&job);
  EXPECT_LT(text.find("\n     1  node2  30.00 ms     3      2"), text.find("\n     0  node1"))
      << text;
  for (const char* words : {"2.00 h", "2000 GFLOP", "17.5 GB/s", "2/8", "data?",
                            "data?: inferred of group world: it reduces gradients"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " in\n" << text;
}

TEST(TextRanks, ARankWithoutAClockHasNoFigures) {
  JobRanks job = SlowRankOne();
  job.alignment.clocks[1].aligned = false;
  const std::string text = TextOf(&job);
  EXPECT_NE(text.find("not known"), std::string::npos) << text;
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
  EXPECT_NE(text.find("90.00 ms"), std::string::npos) << text;
}

TEST(TextRanks, NoNameBreaksOut) {
  for (const std::string& name :
       {std::string("a\x1b[31m\nb"), std::string("\"<|>\xff"), std::string(500, 'x')}) {
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
    EXPECT_EQ(JsonOf(&job)["groups"][0]["group"], ValidUtf8(name));
  }
}

}  // namespace ranks_report_test
}  // namespace headroom
