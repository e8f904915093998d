#include "answers/data/render.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "answers/data/stages.h"
#include "answers/test_text.h"
#include "render/escape.h"
#include "render/text_page.h"

namespace headroom {
namespace data_render_test {

using Json = nlohmann::ordered_json;

constexpr DurationNs Ms(std::int64_t ms) { return DurationNs(ms * 1'000'000); }

LoaderBatch Batch(std::int64_t start_ms, std::int64_t end_ms) {
  LoaderBatch batch;
  batch.span = {TimeNs() + Ms(start_ms), TimeNs() + Ms(end_ms)};
  batch.sample_count = 4;
  return batch;
}

LoadingOption Option(const std::string& name, double step_ms) {
  LoadingOption option;
  option.name = name;
  option.outcome.mid_ms = step_ms;
  option.outcome.low_ms = step_ms - 1;
  option.outcome.high_ms = step_ms + 1;
  option.outcome.samples_per_s = 4'000 / step_ms;
  return option;
}

/// A loader with two workers that compute all the time. Four workers would be enough.
DataReport Demo() {
  DataReport report;
  report.path = "a.json";
  LoaderProfile loader;
  loader.settings.workers = 2;
  loader.settings.prefetch = 1;
  loader.settings.batch_size = 4;
  loader.settings.cpus = 8;
  loader.batches = {Batch(0, 20), Batch(20, 40)};
  loader.stages = {{.name = "decode",
                    .is_stage = true,
                    .count = 8,
                    .total = Ms(30),
                    .own = Ms(30),
                    .cpu = Ms(27)},
                   {.name = "collate", .count = 2, .total = Ms(6), .own = Ms(6)}};
  report.loaders = {loader};
  LoadingSplit& split = report.split;
  split.bound = LoadingBound::kPreparation;
  split.period = Ms(40);
  split.wait = Ms(10);
  split.wait_share = 0.25;
  split.batch = Ms(20);
  split.cpu = Ms(16);
  split.blocked = Ms(3);
  split.queued = Ms(1);
  split.ready = 0.5;
  split.workers_busy = 0.99;
  LoadingModel& model = report.model.emplace();
  model.setting.workers = 2;
  model.setting.prefetch = 1;
  model.batch_size = 4;
  model.period = Ms(40);
  model.memory_bytes = 1e9;
  report.search.options = {Option("workers=2,prefetch=1", 40), Option("workers=4,prefetch=1", 30)};
  report.search.options[0].change.workers = 2;
  report.search.options[0].change.prefetch = 1;
  report.search.best = report.search.cheapest = 1;
  report.search.ideal.mid_ms = 29;
  return report;
}

/// A trace without loader data.
DataReport OfLoop() {
  DataReport report;
  report.path = "a.json";
  report.split.period = Ms(40);
  report.split.wait = Ms(10);
  report.no_forecast = "the trace has no loader";
  return report;
}

std::string Text(const DataReport& report) { return RenderDataText(report, PageStyle()); }

TEST(DataText, HasVerdictStagesAndSettings) {
  const std::string text = Text(Demo());
  for (const char* words :
       {"Input pipeline: preparation ",
        "  The loop waits 10.0 ms (25.0 %) of each 40.0 ms step for its batch.\n",
        "Workers compute for 80.0 % of a batch's preparation and wait for 15.0 % (files, network",
        "most expensive stage is decode: 3.75 ms per sample, 75.0 %.",
        "  loader   2 workers, 1 batch ahead per worker, batches of 4; 8 cores\n",
        "20.0 ms to prepare: 16.0 ms (80.0 %) computing, 3.00 ms (15.0 %) blocked, ",
        "0.5 batches ready when the loop asks; workers are busy 99.0 % of their time",
        "  decode                    3.75 ms  75.0 %   90.0 %      8\n",
        "1.00x        100  as recorded\n", "1.33x        133  enough\n",
        "cheapest setting within 2 % of the best\n  one is workers=4,prefetch=1.\n"})
    ExpectHas(text, words);
  ExpectHas(text,
            "Check: a step of the recorded setting takes 40.0 ms in the simulation, 40.0 ms in the "
            "recording.");
}

TEST(DataText, OfTheLoopAloneSaysHowToRecordMore) {
  const std::string text = Text(OfLoop());
  ExpectHas(text, "Input pipeline: too slow");
  ExpectHas(text, "The loop waits 10.0 ms (25.0 %) of the mean step (40.0 ms) for its batch.");
  ExpectHas(text, "records the stages of PyTorch's DataLoader");
  DataReport fine = OfLoop();
  fine.split.bound = LoadingBound::kNone;
  ExpectHas(Text(fine), "Input pipeline: keeps up");
}

TEST(DataText, EachBoundHasAWordAndASentence) {
  const struct {
    LoadingBound bound;
    const char *word, *sentence;
  } kCases[] = {{LoadingBound::kNone, "keeps up", "Batches are ready when the loop asks"},
                {LoadingBound::kFetch, "fetching", "A worker mostly waits for files"},
                {LoadingBound::kCores, "too few cores", "Workers are ready but have no core"},
                {LoadingBound::kThrottled, "a CPU quota", "the control group's quota"},
                {LoadingBound::kTransfer, "transfer to the device", "pin_memory=True"},
                {LoadingBound::kHandover, "hand-over", "Batches are ready"},
                {LoadingBound::kUnknown, "unknown", "was not recorded"}};
  for (const auto& c : kCases) {
    DataReport report = Demo();
    report.split.bound = c.bound;
    const std::string text = Text(report);
    ExpectHas(text, std::string("Input pipeline: ") + c.word);
    ExpectHas(text, c.sentence);
  }
}

TEST(DataText, WithoutAForecastSaysWhy) {
  DataReport report = Demo();
  report.model.reset();
  report.no_forecast = "too few batches";
  report.split.period = Ms(0);
  report.split.cpu.reset();
  const std::string text = Text(report);
  ExpectHas(text, "  Unknown: too few batches.\n");
  ExpectHas(text, "No complete step from one batch to the next was recorded");
  ExpectHas(text, "  batch    20.0 ms to prepare\n");
}

TEST(DataText, WarnsOfCrowdedCoresMemoryAndGuesses) {
  DataReport report = Demo();
  report.asked = {Option("workers=64", 50)};
  report.asked[0].oversubscribed = report.asked[0].exceeds_memory = true;
  report.asked[0].memory_bytes = 2e9;
  report.correction = 2;
  report.model->pickling_guessed = report.model->machine_guessed = report.model->storage_guessed =
      true;
  const std::string text = Text(report);
  for (const char* words :
       {"asked for, oversubscribed, ",
        "oversubscribed: more threads want to run than there are cores (1).\n",
        "too much memory: workers=64 keeps 2.00 GB of batches in flight, but only 1.00 GB was free",
        "The simulation is far off", "a rough guess. A recording with one worker measures it",
        "storage=N sets how many", "cores=N sets it"})
    ExpectHas(text, words);
}

TEST(DataText, ShowsProbes) {
  DataReport report = Demo();
  InputProbe& probe = report.probe.emplace();
  probe.step = ProbedMs{.low = 38, .mid = 40, .high = 42, .count = 5};
  probe.loop = ProbedMs{.low = 28, .mid = 30, .high = 32, .count = 5};
  probe.loader_cost = ProbedMs{.low = 8, .mid = 10, .high = 12, .count = 5};
  probe.storage = StorageMs{.low = std::nullopt, .mid = std::nullopt, .high = 3};
  probe.doubts = {"the run was short"};
  const std::string text = Text(report);
  for (const char* words :
       {"40.0 ms (38.0-42.0)", "The loader costs 10 ms (8-12) of a step.",
        "Reading from storage takes at most 3.00 ms per batch.", "  - the run was short.\n"})
    ExpectHas(text, words);
  const Json json = Json::parse(RenderDataJson(report))["probe"];
  EXPECT_EQ(json["loader_cost_ms"]["mid"], 10);
  EXPECT_TRUE(json["again_ms"].is_null());
  EXPECT_TRUE(json["storage_ms"]["mid"].is_null());
  EXPECT_TRUE(json["limit_ms"].is_null()) << "the loader alone was not probed";
}

TEST(DataText, NoNameBreaksOut) {
  for (const std::string& name : HostileNames()) {
    DataReport report = Demo();
    report.path = report.loaders[0].stages[0].name = name;
    report.loaders[0].failures = {name};
    report.search.options[1].name = name;
    const std::string text = Text(report);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      EXPECT_EQ(Printable(line), line);
      EXPECT_LE(DisplayWidth(line), PageStyle::kWidth) << line;
      at = end + 1;
    }
    EXPECT_EQ(Json::parse(RenderDataJson(report))["path"], ValidUtf8(name));
  }
}

TEST(DataJson, HasLoopBatchStagesAndForecast) {
  const Json json = Json::parse(RenderDataJson(Demo()));
  EXPECT_EQ(json["schema"], "headroom.data/1");
  EXPECT_EQ(json["bound"], NameOf(LoadingBound::kPreparation));
  EXPECT_EQ(json["loop"]["wait_ms"], 10);
  EXPECT_EQ(json["loop"]["wait_share_pct"], 25);
  EXPECT_EQ(json["batch"]["cpu_ms"], 16);
  EXPECT_EQ(json["stages"][0]["name"], "decode");
  EXPECT_EQ(json["loaders"][0]["prefetch_factor"], 1);
  EXPECT_TRUE(json["probe"].is_null());
  EXPECT_EQ(json["forecast"]["cheapest"], "workers=4,prefetch=1");
  EXPECT_TRUE(json["forecast"]["options"][0]["memory_bytes"].is_null());
  EXPECT_NEAR(json["forecast"]["options"][1]["speedup"].get<double>(), 4.0 / 3, 1e-9);
  EXPECT_TRUE(json["no_forecast"].is_null());
}

TEST(DataJson, UnknownIsNull) {
  const Json json = Json::parse(RenderDataJson(OfLoop()));
  for (const char* key : {"exposed_wait_ms", "transfer_ms", "handover_ms", "ready_batches"})
    EXPECT_TRUE(json["loop"][key].is_null()) << key;
  for (const auto& [key, value] : json["batch"].items()) EXPECT_TRUE(value.is_null()) << key;
  for (const char* key : {"stages", "workers", "loaders", "failures"})
    EXPECT_TRUE(json[key].empty()) << key;
  EXPECT_TRUE(json["forecast"].is_null());
  EXPECT_EQ(json["no_forecast"], "the trace has no loader");
}

TEST(StageRows, AddUpToTheTimeOfAllBatches) {
  const std::vector<StageRow> rows = StageRows(Demo().loaders[0]);
  std::vector<std::string> kinds;
  DurationNs own;
  double share_pct = 0;
  for (const StageRow& row : rows) {
    kinds.push_back(row.kind);
    own += row.own;
    share_pct += row.share_pct;
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"stage", "collate", "batch"}));
  EXPECT_EQ(own, Ms(40));
  EXPECT_NEAR(share_pct, 100, 1e-9);
  EXPECT_EQ(rows[0].per_sample_us, 3'750);
  EXPECT_TRUE(StageRows({}).empty());
}

TEST(SpeedupOf, IsOfSamplesIfTheBatchIsKnown) {
  LoadingModel recorded;
  recorded.period = Ms(40);
  LoadingOutcome outcome;
  outcome.mid_ms = 20;
  EXPECT_EQ(SpeedupOf(outcome, recorded), 2);
  recorded.batch_size = 4;
  outcome.samples_per_s = 400;
  EXPECT_EQ(SpeedupOf(outcome, recorded), 4);
}

}  // namespace data_render_test
}  // namespace headroom
