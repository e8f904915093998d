// Changes and simulates demands of recorded loaders. The loaders use whole numbers.
#include "loader/loading_forecast.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "loader/loading_verdict.h"

namespace headroom {
namespace loading_forecast_test {

DurationNs Ms(double ms) { return DurationNs(static_cast<std::int64_t>(ms * 1e6)); }

struct Made {
  int workers = 1;
  double cpu_ms = 30, blocked_ms = 0, queued_ms = 0;  // Per batch.
  double step_ms = 10, step_cpu_ms = 10, wait_ms = 20;
  int count = 60;
};

/// Returns a loader with identical batches and two stages. Decode computes for half of a batch's
/// CPU time, and Read has all the blocked time.
LoaderProfile Loader(const Made& made) {
  LoaderProfile loader;
  loader.settings.workers = made.workers;
  loader.settings.prefetch = made.workers > 0 ? 2 : 0;
  loader.settings.batch_size = 8;
  loader.settings.cpus = 8;
  loader.workers.resize(static_cast<std::size_t>(std::max(made.workers, 1)));
  const DurationNs length = Ms(made.cpu_ms + made.blocked_ms + made.queued_ms);
  TimeNs now;
  for (int i = 0; i < made.count; ++i) {
    LoaderBatch batch{.span = {now, now + length}};
    batch.samples.assign(8, DurationNs(length.ns() / 8));
    batch.sample_count = 8;
    batch.cpu = batch.process_cpu = Ms(made.cpu_ms);
    batch.queued = Ms(made.queued_ms);
    batch.bytes = 1e6;
    batch.objects = 2;
    batch.collate = Ms(made.cpu_ms / 10);
    loader.batches.push_back(batch);
    LoaderFetch fetch{.span = {now, now + Ms(made.wait_ms)}, .first = i == 0};
    fetch.cpu = DurationNs();
    if (i > 0) {
      fetch.step = Ms(made.step_ms);
      fetch.step_cpu = Ms(made.step_cpu_ms);
      fetch.step_queued = DurationNs();
    }
    loader.fetches.push_back(fetch);
    now = now + Ms(made.step_ms + made.wait_ms);
  }
  const auto all = [&](double ms) { return Ms(ms * made.count); };
  loader.stages = {{.name = "Decode",
                    .is_stage = true,
                    .count = 1,
                    .total = all(made.cpu_ms / 2),
                    .own = all(made.cpu_ms / 2),
                    .cpu = all(made.cpu_ms / 2)},
                   {.name = "Read",
                    .is_stage = true,
                    .count = 1,
                    .total = all(made.blocked_ms),
                    .own = all(made.blocked_ms),
                    .cpu = DurationNs()}};
  return loader;
}

double StepOf(const LoaderProfile& loader, const std::string& change) {
  const Result<LoadingModel> model = ModelLoading(loader, std::nullopt);
  EXPECT_TRUE(model.ok()) << model.status().message();
  const Result<LoadingForecaster> forecaster = LoadingForecaster::Make(model.value());
  EXPECT_TRUE(forecaster.ok()) << forecaster.status().message();
  const Result<LoadingChange> asked = ParseLoadingChange(change);
  EXPECT_TRUE(asked.ok()) << asked.status().message();
  const Result<LoadingModel> changed = WithChange(model.value(), loader, asked.value());
  EXPECT_TRUE(changed.ok()) << changed.status().message();
  const Result<LoadingOutcome> outcome = forecaster.value().Run(changed.value());
  EXPECT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_LE(outcome.value().low_ms, outcome.value().mid_ms);
  EXPECT_GE(outcome.value().high_ms, outcome.value().mid_ms);
  return outcome.value().mid_ms;
}

struct Case {
  std::string change;
  double step_ms;
};

TEST(LoadingForecast, ChangesOfALoaderThatComputes) {
  const LoaderProfile loader = Loader({});
  for (const auto& [change, step_ms] : std::vector<Case>{
           {"", 30},                // One worker: a batch every 30 ms.
           {"workers=0", 38.7},     // One after the other, without shared memory.
           {"workers=2", 15},       // Two workers alternate.
           {"workers=4", 10},       // Only the loop's own 10 ms remain.
           {"cached=100%", 10},     // Collation alone takes 3 ms, less than a step.
           {"stage=Decode:3", 20},  // Half of the 30 ms becomes 3 times as fast.
           {"workers=2,stage=Decode:3", 10},
           {"step=5", 50},
           {"batch=16", 60},
       }) {
    EXPECT_NEAR(StepOf(loader, change), step_ms, 0.02 * step_ms) << change;
  }
}

TEST(LoadingForecast, ChangesOfALoaderThatIsBlocked) {
  const LoaderProfile loader =
      Loader({.workers = 2, .cpu_ms = 4, .blocked_ms = 36, .step_ms = 5, .wait_ms = 15});
  for (const auto& [change, step_ms] : std::vector<Case>{
           {"", 20},
           {"workers=4", 10},
           {"workers=4,storage=1", 36},  // Reads are serialized.
           {"cached-files=50%", 11},     // 22 ms each.
           {"storage-speed=2", 11},
           {"stage=Read:2", 11},
           {"stage=Decode:2", 19},
       }) {
    EXPECT_NEAR(StepOf(loader, change), step_ms, 0.06 * step_ms) << change;
  }
}

TEST(LoadingForecast, PinningTakesWorkFromTheLoopAndTransfersFromTheStep) {
  Made made{.workers = 2, .cpu_ms = 5, .step_ms = 10, .step_cpu_ms = 2, .wait_ms = 1};
  LoaderProfile loader = Loader(made);
  for (LoaderFetch& fetch : loader.fetches) fetch.cpu = Ms(1);  // Unpickling.
  LoadingModel model = ModelLoading(loader, std::nullopt).value();
  model.transfer = Ms(4);
  const LoadingForecaster forecaster = LoadingForecaster::Make(model).value();
  const LoadingOption option =
      TryLoading(model, loader, forecaster, "pin=1", ParseLoadingChange("pin=1").value()).value();
  EXPECT_NEAR(option.outcome.mid_ms, 11 - 1 - 2, 0.3);  // Half of the transfer remains ...
  EXPECT_LT(option.outcome.low_ms, 11 - 1 - 4 + 0.3);   // ... or none ...
  EXPECT_GT(option.outcome.high_ms, 11 - 1 - 0.3);      // ... or the whole transfer.
  // Reverts the change.
  model.setting.pin = true;
  model.setting.pin_time = Ms(1.5);
  model.setting.receive = DurationNs();
  const LoadingModel unpinned =
      WithChange(model, loader, ParseLoadingChange("pin=0").value()).value();
  EXPECT_FALSE(unpinned.setting.pin);
  EXPECT_GT(unpinned.setting.receive, Ms(0.1));
  EXPECT_TRUE(unpinned.pickling_guessed);
  EXPECT_GT(unpinned.steps.front().wall, model.steps.front().wall);
}

TEST(LoadingForecast, FewCoresAreShared) {
  // The worker and the loop, 30 ms each, share one core: each waits half of the time.
  LoaderProfile loader = Loader({.queued_ms = 30, .step_ms = 30, .step_cpu_ms = 30, .wait_ms = 30});
  loader.settings.cpus = 1;
  EXPECT_NEAR(StepOf(loader, "workers=4"), 60, 1);
  EXPECT_NEAR(StepOf(loader, "cores=2"), 30, 3);
}

TEST(LoadingForecast, IntervalsHoldTheRecordedStepHoweverFarTheSimulationIsOff) {
  for (const double wait_ms : {5.0, 20.0, 200.0}) {
    const LoaderProfile loader = Loader({.wait_ms = wait_ms});
    const Result<LoadingModel> model = ModelLoading(loader, {});
    const Result<LoadingForecaster> forecaster = LoadingForecaster::Make(model.value());
    const Result<LoadingOutcome> outcome = forecaster.value().Run(model.value());
    // Forecasts are relative to the recorded period.
    EXPECT_NEAR(outcome.value().mid_ms, 10 + wait_ms, 0.1);
    EXPECT_GT(outcome.value().low_ms, 0);
    EXPECT_LE(outcome.value().low_ms, 10 + wait_ms);
    EXPECT_GE(outcome.value().high_ms, 10 + wait_ms);
  }
}

TEST(LoadingForecast, ACollateFunctionOfTheProgramsOwnStays) {
  LoaderProfile loader = Loader({});
  for (LoaderBatch& batch : loader.batches) {
    batch.collate = Ms(25);  // Collation computes: a copy of 1 MB takes much less than 25 ms.
    batch.bytes = 1e5;
  }
  EXPECT_NEAR(StepOf(loader, "workers=0"), 40, 0.5);
}

TEST(LoadingForecast, HandingOverIsGuessedWithoutWorkers) {
  const Result<LoadingModel> model = ModelLoading(Loader({.workers = 0, .wait_ms = 30}), {});
  ASSERT_TRUE(model.ok());
  EXPECT_TRUE(model.value().pickling_guessed);
  EXPECT_GT(model.value().pickling_cpu, DurationNs());
  EXPECT_FALSE(ModelLoading(Loader({}), {}).value().pickling_guessed);
}

TEST(LoadingForecast, TooLittleIsNoAnswer) {
  const Result<LoadingModel> model = ModelLoading(Loader({.count = 12}), {});
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), StatusCode::kNoAnswer);
}

TEST(LoadingForecast, AQuotaLimitsTheCores) {
  EXPECT_EQ(ModelLoading(Loader({}), 1.5).value().machine.cores, 1.5);
  EXPECT_EQ(ModelLoading(Loader({}), {}).value().machine.cores, 8);
}

TEST(LoadingChange, IsReadAsWritten) {
  const Result<LoadingChange> read =
      ParseLoadingChange("workers=4,prefetch=8,cached=25%,stage=a:b:2,cores=1.5,batch=3,step=0.5");
  ASSERT_TRUE(read.ok()) << read.status().message();
  const LoadingChange& change = read.value();
  EXPECT_EQ(change.workers, 4);
  EXPECT_EQ(change.prefetch, 8);
  EXPECT_EQ(change.cached, 0.25);
  EXPECT_EQ(change.stage, "a:b");
  EXPECT_EQ(change.stage_factor, 2);
  EXPECT_EQ(change.cores, 1.5);
  EXPECT_EQ(change.batch_size, 3);
  EXPECT_EQ(change.step_factor, 0.5);
}

TEST(LoadingChange, WhatMakesNoSenseIsRefusedWithTheKeys) {
  for (const std::string text : {"workers",
                                 "workers=",
                                 "workers=-1",
                                 "workers=1.5",
                                 "workers=1e9",
                                 "prefetch=0",
                                 "batch=0",
                                 "cached=2",
                                 "cached=-1",
                                 "cached=nan",
                                 "stage=Decode",
                                 "stage=:2",
                                 "stage=a:0",
                                 "cores=0",
                                 "stage=a:1e-300",
                                 "step=1e300",
                                 "storage=-2",
                                 "step=inf",
                                 "speed=2",
                                 "=1",
                                 ",",
                                 "workers=1,,",
                                 "pin=2",
                                 "workers=1,workers=2",
                                 "stage=a:2,stage=b:2",
                                 "storage-speed=0"}) {
    const Result<LoadingChange> read = ParseLoadingChange(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.status().code(), StatusCode::kUsage);
    EXPECT_NE(read.status().message().find("prefetch=N"), std::string::npos);
  }
}

TEST(LoadingChange, AStageThatWasNotRecordedIsRefusedWithThoseThatWere) {
  const LoaderProfile loader = Loader({});
  const Result<LoadingModel> model = ModelLoading(loader, {});
  const Result<LoadingModel> changed =
      WithChange(model.value(), loader, ParseLoadingChange("stage=Encode:2").value());
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.status().message().find("Decode, Read"), std::string::npos)
      << changed.status().message();
}

// Refuses a batch of more than a day without simulating it.
TEST(LoadingChange, AHugeBatchIsRefusedAtOnce) {
  const LoaderProfile loader = Loader({});
  const Result<LoadingModel> model = ModelLoading(loader, {});
  const Result<LoadingForecaster> forecaster = LoadingForecaster::Make(model.value());
  const Result<LoadingOption> option =
      TryLoading(model.value(), loader, forecaster.value(), "batch=1000000000",
                 ParseLoadingChange("batch=1000000000").value());
  ASSERT_FALSE(option.ok());
  EXPECT_EQ(option.status().code(), StatusCode::kUsage);
}

struct BoundCase {
  Made made;
  LoadingBound bound;
};

TEST(LoadingVerdict, WhatHoldsALoaderBack) {
  for (const auto& [made, bound] : std::vector<BoundCase>{
           {{}, LoadingBound::kPreparation},
           {{.cpu_ms = 10, .blocked_ms = 20}, LoadingBound::kFetch},
           {{.cpu_ms = 10, .queued_ms = 20}, LoadingBound::kCores},
           {{.wait_ms = 0.1}, LoadingBound::kNone},
       }) {
    const LoadingSplit split = SplitLoading(Loader(made));
    EXPECT_EQ(NameOf(split.bound), NameOf(bound));
    EXPECT_EQ(split.period, Ms(made.step_ms + made.wait_ms));
  }
  LoaderProfile loader = Loader({});
  for (LoaderFetch& fetch : loader.fetches) fetch.cpu = Ms(15);
  EXPECT_EQ(SplitLoading(loader).bound, LoadingBound::kHandover);
  loader = Loader({});
  loader.fetches.resize(1);  // A truncated recording has one batch and no step.
  EXPECT_EQ(SplitLoading(loader).bound, LoadingBound::kUnknown);
  loader = Loader({});
  for (LoaderBatch& batch : loader.batches) batch.cpu.reset();
  EXPECT_EQ(SplitLoading(loader).bound, LoadingBound::kUnknown);
}

TEST(LoadingVerdict, WhatTheGpuFeelsCounts) {
  const LoaderProfile loader = Loader({.workers = 1, .step_ms = 10, .wait_ms = 20});
  ASSERT_EQ(SplitLoading(loader).bound, LoadingBound::kPreparation);
  LoopView view{.step = Ms(60), .wait = Ms(40), .exposed_share = 0.025, .transfer = Ms(1)};
  LoadingSplit split = SplitLoading(loader, view);
  EXPECT_EQ(split.bound, LoadingBound::kNone);  // The GPU is busy with kernels launched before.
  // Relative to a period of 30 ms, not to the median step.
  EXPECT_EQ(split.exposed_wait, Ms(0.5));
  view.transfer = Ms(4);
  EXPECT_EQ(SplitLoading(loader, view).bound, LoadingBound::kTransfer);
  view.exposed_share = 1;
  EXPECT_EQ(SplitLoading(loader, view).bound, LoadingBound::kPreparation);
  EXPECT_EQ(SplitLoop(view).bound, LoadingBound::kUnknown);
  EXPECT_EQ(SplitLoop({}).bound, LoadingBound::kUnknown);
}

TEST(LoadingVerdict, WhatDoesNotFitIntoMemoryIsTold) {
  const LoaderProfile loader = Loader({.workers = 1});  // Two batches of 1 MB under way.
  LoadingModel model = ModelLoading(loader, std::nullopt).value();
  const LoadingForecaster forecaster = LoadingForecaster::Make(model).value();
  const auto exceeds = [&](const char* change) {
    const LoadingChange parsed = ParseLoadingChange(change).value();
    return TryLoading(model, loader, forecaster, change, parsed).value().exceeds_memory;
  };
  EXPECT_FALSE(exceeds("workers=8")) << "memory is unknown";
  model.memory_bytes = 10e6;
  EXPECT_FALSE(exceeds("workers=4"));
  EXPECT_TRUE(exceeds("workers=8"));
  EXPECT_TRUE(exceeds("workers=4,batch=16"));
  EXPECT_FALSE(exceeds("workers=0,batch=800"));
}

TEST(LoadingVerdict, MemoryThatTheRecordedBatchesTookIsFreeForOthers) {
  LoaderProfile loader = Loader({.workers = 4});  // 8 MB under way.
  LoadingModel model = ModelLoading(loader, std::nullopt).value();
  LimitMemory(loader, 1e6, model);
  EXPECT_EQ(model.memory_bytes, 9e6);
  loader.settings.shared_memory = 5e6;
  LimitMemory(loader, 1e6, model);
  EXPECT_EQ(model.memory_bytes, 5e6);
  LimitMemory(Loader({}), std::nullopt, model);
  EXPECT_FALSE(model.memory_bytes);
}

TEST(LoadingVerdict, AQuotaIsToldFromTooFewCores) {
  const LoaderProfile loader =
      Loader({.workers = 4, .cpu_ms = 10, .queued_ms = 30, .step_ms = 10, .wait_ms = 20});
  EXPECT_EQ(SplitLoading(loader, {.throttled_cores = 0.1}).bound, LoadingBound::kCores);
  EXPECT_EQ(SplitLoading(loader, {.throttled_cores = 2.5}).bound, LoadingBound::kThrottled);
}

TEST(LoadingVerdict, TheCheapestSettingWithinTwoPercentOfTheBest) {
  const LoaderProfile loader = Loader({});
  const Result<LoadingModel> model = ModelLoading(loader, {});
  const Result<LoadingForecaster> forecaster = LoadingForecaster::Make(model.value());
  const Result<LoadingSearch> search = SearchLoading(model.value(), loader, forecaster.value());
  ASSERT_TRUE(search.ok()) << search.status().message();
  // 30 ms of work per 10 ms step: three workers are just enough.
  EXPECT_EQ(search.value().options[search.value().cheapest].change.workers, 3);
  EXPECT_NEAR(search.value().ideal.mid_ms, 10, 0.2);
}

TEST(LoadingVerdict, WorkersThatWaitAreNoCrowd) {
  LoaderProfile loader = Loader(
      {.workers = 2, .cpu_ms = 1, .blocked_ms = 99, .step_ms = 5, .step_cpu_ms = 1, .wait_ms = 45});
  loader.settings.cpus = 2;
  const LoadingModel model = ModelLoading(loader, {}).value();
  const LoadingForecaster forecaster = LoadingForecaster::Make(model).value();
  const LoadingSearch search = SearchLoading(model, loader, forecaster).value();
  const LoadingOption& enough = search.options[search.cheapest];
  EXPECT_GE(*enough.change.workers, 16) << "more than twice the cores";
  EXPECT_FALSE(enough.oversubscribed);
}

}  // namespace loading_forecast_test
}  // namespace headroom
