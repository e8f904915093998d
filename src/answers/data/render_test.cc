#include "answers/data/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "answers/test_text.h"

namespace headroom {
namespace data_render_test {

using Json = nlohmann::ordered_json;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

DurationNs Ms(std::int64_t ms) { return DurationNs(ms * 1'000'000); }

/// A loader of two workers that computes all the time.
DataReport Demo() {
  DataReport report;
  report.path = "run.pftrace";
  LoaderProfile loader;
  loader.settings.workers = 2;
  loader.settings.prefetch = 1;
  loader.settings.batch_size = 32;
  loader.batches.resize(20);
  for (LoaderBatch& batch : loader.batches) batch.sample_count = 32;
  loader.stages = {{"Decode", true, 640, Ms(640), Ms(640), Ms(320)}};
  report.loaders = {loader};
  report.split.bound = LoadingBound::kPreparation;
  report.split.period = Ms(40);
  report.split.wait = Ms(10);
  report.split.wait_share = 0.25;
  report.split.batch = Ms(80);
  report.no_forecast = "too few batches";
  return report;
}

std::vector<std::string> Lines(const DataReport& report) {
  const std::string text = RenderDataText(report, /*color=*/false, Charset::kUtf8);
  ExpectFits(text);
  return LinesOf(text);
}

TEST(RenderDataText, SaysWhatStarvesTheLoop) {
  const std::vector<std::string> lines = Lines(Demo());
  EXPECT_THAT(lines, Contains(StartsWith("Input pipeline: preparation ")));
  EXPECT_THAT(lines, Contains("  The loop waits 10.00 ms (25.0 %) of each 40.00 ms step for its "
                              "batch."));
  EXPECT_THAT(lines, Contains("  loader   2 workers, 1 batch a worker ahead, batches of 32"));
  EXPECT_THAT(lines, Contains("  a batch  80.00 ms to prepare"));
}

TEST(RenderDataText, HasATitleAndASentenceForEachBound) {
  std::set<std::string> seen;
  for (int bound = 0; bound <= static_cast<int>(LoadingBound::kUnknown); ++bound) {
    DataReport report = Demo();
    report.split.bound = static_cast<LoadingBound>(bound);
    const std::vector<std::string> lines = Lines(report);
    EXPECT_TRUE(seen.insert(lines.at(0) + lines.at(1)).second || bound == 0) << lines.at(0);
  }
}

TEST(RenderDataText, OfALoopAloneSaysHowToRecordMore) {
  DataReport report;
  report.split.period = Ms(40);
  report.split.wait = Ms(10);
  EXPECT_THAT(Lines(report), Contains(StartsWith("Input pipeline: too slow ")));
  EXPECT_THAT(Lines(report), Contains(HasSubstr("headroom record -- python train.py")));
  report = Demo();
  report.split.period = {};
  EXPECT_THAT(Lines(report), Contains("  No step was recorded from one batch to the next: record "
                                      "more of the run."));
}

TEST(RenderDataJson, IsNullWhereNothingIsKnown) {
  DataReport bare;
  const Json json = Json::parse(RenderDataJson(bare));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"schema", "path", "bound", "loop", "batch", "stages",
                                            "workers", "loaders", "failures", "probe", "forecast",
                                            "no_forecast"}));
  EXPECT_EQ(json["schema"], "headroom.data/1");
  EXPECT_EQ(json["bound"], "unknown");
  EXPECT_TRUE(json["loop"]["handover_ms"].is_null());
  EXPECT_TRUE(json["probe"].is_null() && json["forecast"].is_null());
  const Json known = Json::parse(RenderDataJson(Demo()));
  EXPECT_EQ(known["loop"]["wait_share_pct"], 25);
  EXPECT_EQ(known["loop"]["handover_ms"], 0);
  EXPECT_EQ(known["stages"][0]["name"], "Decode");
  EXPECT_EQ(known["loaders"][0]["prefetch_factor"], 1);
  EXPECT_EQ(known["no_forecast"], "too few batches");
}

TEST(RenderDataJson, HasTheProbe) {
  DataReport report = Demo();
  report.probe = InputProbe{};
  report.probe->loader = ProbedMs{1, 2, 3, 4};
  report.probe->storage = StorageMs{{}, {}, 5};
  report.probe->doubts = {"few turns"};
  const Json probe = Json::parse(RenderDataJson(report))["probe"];
  EXPECT_EQ(probe["loader_ms"].dump(), R"({"low":1,"mid":2,"high":3,"count":4})");
  EXPECT_TRUE(probe["storage_ms"]["mid"].is_null() && probe["step_ms"].is_null());
  EXPECT_THAT(Lines(report), Contains("  Reading from storage takes 5.00 ms of a batch at most."));
  EXPECT_THAT(Lines(report), Contains("  - few turns."));
}

TEST(RenderData, TakesAnyName) {
  for (const std::string& name : HostileNames()) {
    DataReport report = Demo();
    report.path = report.no_forecast = report.loaders[0].stages[0].name = name;
    report.loaders[0].failures = {name};
    Lines(report);
    EXPECT_TRUE(Json::accept(RenderDataJson(report))) << name;
  }
}

}  // namespace data_render_test
}  // namespace headroom
