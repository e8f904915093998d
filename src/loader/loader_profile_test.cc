// Loader profiles of handwritten recordings. Times are in microseconds.
#include "loader/loader_profile.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "loader/test_times.h"
#include "store/store_builder.h"

namespace headroom {
namespace loader_profile_test {

constexpr std::int64_t kMain = 1, kWorkerThread = 2, kFeeder = 3;

/// A loop in process "1" with workers in other processes, in the format of headroom._loader.
class Recording {
 public:
  Recording& Settings(double seed, int workers, int batch_size, std::int64_t time) {
    In("1").Setting("seed", time, seed).Setting("cpus", time, 4).Setting("workers", time, workers);
    if (workers > 0) Setting("prefetch_factor", time, 2);
    return Setting("batch_size", time, batch_size).Setting("dataset_size", time, 100);
  }

  Recording& Fetch(std::int64_t start, std::int64_t end, double step_cpu, double ready = 0) {
    In("1");
    builder_.Region("dataloader_next", kMain, start, end - start);
    return Value("step_cpu_us", start, step_cpu)
        .Value("ready", start, ready)
        .Value("next_cpu_us", end, 5);
  }

  /// Adds two samples of equal length, each half within a stage, and then 10 us of collation.
  Recording& Batch(const std::string& process, double seed, std::int64_t start, std::int64_t end,
                   double cpu, double queued) {
    In(process).Setting("seed", start, seed);
    const std::int64_t thread = process == "1" ? kMain : kWorkerThread;
    const std::int64_t sample = (end - start - 10) / 2, stage_cpu = sample / 4;
    builder_.Region("loader.batch", thread, start, end - start);
    for (const std::int64_t at : {start, start + sample}) {
      builder_.Region("loader.sample", thread, at, sample);
      builder_.Region("stage::Decode", thread, at + 1, sample / 2);
      builder_.Region("stage::Entropy", thread, at + 2, sample / 4);
    }
    builder_.Region("loader.collate", thread, end - 10, 10);
    return Value("batch_thread_cpu_us", end, cpu)
        .Value("batch_runqueue_us", end, queued)
        .Value("batch_bytes", end, 4096)
        .Value("stage_cpu_us stage::Decode", end, static_cast<double>(stage_cpu));
  }

  Recording& In(const std::string& process) {
    builder_.InProcess(process);
    return *this;
  }
  Recording& Value(const std::string& name, std::int64_t time, double value) {
    builder_.Counter("loader." + name, "", "", time, value);
    return *this;
  }
  Recording& Setting(const std::string& name, std::int64_t time, double value) {
    builder_.Counter("setting.loader." + name, "", "", time, value);
    return *this;
  }
  Recording& Mark(const std::string& name, std::int64_t time) {
    builder_.Instant("region", "loader." + name, time);
    return *this;
  }
  StoreBuilder& builder() { return builder_; }

  std::vector<LoaderProfile> Find() const { return FindLoaders(*builder_.Build()); }

 private:
  StoreBuilder builder_;
};

TEST(LoaderProfile, ALoopAndItsWorkers) {
  Recording r;
  r.In("1").builder().Region("dataloader_start", kMain, 0, 50);
  r.Settings(7, 2, 2, 40);
  r.In("20").Setting("seed", 55, 7).builder().Region("loader.index_wait", kWorkerThread, 60, 40);
  r.Batch("20", 7, 100, 310, 150, 20).Batch("30", 7, 120, 330, 200, 0);
  r.In("20").builder().Region("loader.send", kFeeder, 312, 8);
  r.Fetch(60, 320, 11).Fetch(400, 420, 60, 1);
  const std::vector<LoaderProfile> found = r.Find();
  ASSERT_EQ(found.size(), 1u);
  const LoaderProfile& loader = found[0];
  EXPECT_EQ(loader.settings.workers, 2);
  EXPECT_EQ(loader.settings.prefetch, 2);
  EXPECT_EQ(loader.settings.batch_size, 2);
  EXPECT_EQ(loader.settings.dataset_size, 100);
  EXPECT_EQ(loader.settings.cpus, 4);
  EXPECT_EQ(loader.epochs, 1);
  EXPECT_EQ(loader.starting, Us(50));
  EXPECT_EQ(loader.sending, Us(8));

  ASSERT_EQ(loader.fetches.size(), 2u);
  EXPECT_TRUE(loader.fetches[0].first);
  EXPECT_FALSE(loader.fetches[0].step);  // No fetch came before it.
  EXPECT_FALSE(loader.fetches[1].first);
  EXPECT_EQ(loader.fetches[1].step, Us(80));
  EXPECT_EQ(loader.fetches[1].step_cpu, Us(60));
  EXPECT_EQ(loader.fetches[1].ready, 1);
  EXPECT_EQ(loader.Wait(), Us(20));  // Excludes the first fetch of an epoch.

  ASSERT_EQ(loader.batches.size(), 2u);
  const LoaderBatch& batch = loader.batches[0];
  EXPECT_EQ(batch.span.length(), Us(210));
  EXPECT_EQ(batch.samples, (std::vector<DurationNs>{Us(100), Us(100)}));
  EXPECT_EQ(batch.collate, Us(10));
  EXPECT_EQ(batch.Blocked(), Us(210 - 150 - 20));
  EXPECT_EQ(batch.bytes, 4096);
  EXPECT_EQ(loader.batches[1].Blocked(), Us(10));

  ASSERT_EQ(loader.workers.size(), 2u);
  EXPECT_EQ(loader.workers[0].pid, "20");
  EXPECT_EQ(loader.workers[0].starting, Us(60));  // From iter(loader) to its first wait.
  EXPECT_EQ(loader.workers[0].waiting, Us(40));
  EXPECT_EQ(loader.workers[0].busy, Us(210));

  ASSERT_GE(loader.stages.size(), 2u);
  for (const LoaderStage& stage : loader.stages) {
    if (stage.name == "Decode") {
      EXPECT_EQ(stage.count, 4);
      EXPECT_EQ(stage.total, Us(4 * 50));
      EXPECT_EQ(stage.own, Us(4 * 25));  // Excludes Entropy, which it calls.
      EXPECT_EQ(stage.cpu, Us(2 * 25));
      EXPECT_TRUE(stage.is_stage);
    }
    if (stage.name == "sample") {
      EXPECT_EQ(stage.own, Us(4 * 50));
    }
  }
}

TEST(LoaderProfile, WithoutWorkersTheLoopPreparesItsBatches) {
  Recording r;
  r.Settings(7, 0, 2, 0);
  r.Fetch(10, 230, 0)
      .Batch("1", 7, 11, 221, 200, 0)
      .Fetch(300, 520, 70)
      .Batch("1", 7, 301, 511, 200, 0);
  const std::vector<LoaderProfile> found = r.Find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].batches.size(), 2u);
  ASSERT_EQ(found[0].workers.size(), 1u);
  EXPECT_EQ(found[0].workers[0].pid, "1");
  EXPECT_EQ(found[0].workers[0].starting, Us(0));
}

TEST(LoaderProfile, EpochsEndWhereTheLoaderIsExhausted) {
  Recording r;
  r.Settings(7, 1, 2, 0);
  r.Fetch(10, 20, 0).Fetch(30, 40, 5).Fetch(50, 60, 5).In("1").Mark("exhausted", 59);
  r.Fetch(500, 520, 400).Fetch(530, 540, 5);
  const std::vector<LoaderProfile> found = r.Find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].epochs, 2);
  ASSERT_EQ(found[0].fetches.size(), 4u);  // One fetch got no batch.
  EXPECT_TRUE(found[0].fetches[2].first);
  EXPECT_FALSE(found[0].fetches[2].step);  // The time between epochs is not a step.
}

TEST(LoaderProfile, AnEpochThatIsLeftBeginsAnother) {
  Recording r;
  r.Settings(7, 1, 2, 0).Fetch(10, 20, 0).Fetch(30, 40, 5);
  r.In("1").builder().Region("dataloader_start", kMain, 5000,
                             20);  // After `break` and an evaluation.
  r.Settings(8, 1, 2, 5015).Fetch(5030, 5040, 4000).Fetch(5050, 5060, 5);
  const std::vector<LoaderProfile> found = r.Find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].epochs, 2);
  ASSERT_EQ(found[0].fetches.size(), 4u);
  EXPECT_TRUE(found[0].fetches[2].first);
  EXPECT_FALSE(found[0].fetches[2].step);
}

TEST(LoaderProfile, EqualSeedsAreToldApartByTime) {
  Recording r;
  r.Settings(7, 1, 2, 0).Batch("20", 7, 5, 215, 100, 0).Fetch(10, 220, 0).Fetch(230, 240, 5);
  r.Settings(7, 1, 64, 1000).Batch("30", 7, 1005, 1215, 100, 0).Fetch(1010, 1220, 0);
  r.Fetch(1230, 1300, 5);
  const std::vector<LoaderProfile> found = r.Find();
  ASSERT_EQ(found.size(), 2u);
  for (const LoaderProfile& loader : found) {
    EXPECT_EQ(loader.fetches.size(), 2u);
    ASSERT_EQ(loader.batches.size(), 1u);
    EXPECT_EQ(loader.workers[0].pid, loader.settings.batch_size == 2 ? "20" : "30");
  }
}

// A fetch that ends a stream, or that raises, leaves a batch without figures.
TEST(LoaderProfile, ABatchWithoutFiguresIsNone) {
  Recording r;
  r.Settings(7, 1, 2, 0);
  r.Batch("20", 7, 5, 215, 100, 0);
  r.builder().Region("loader.batch", kWorkerThread, 300, 10);
  r.Batch("20", 7, 400, 610, 100, 0).Fetch(10, 220, 0);
  const std::vector<LoaderProfile> found = r.Find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].batches.size(), 2u);
}

TEST(LoaderProfile, LoadersAreToldApartAndTheOneThatIsWaitedForComesFirst) {
  Recording r;
  r.Settings(1, 1, 2, 0).Fetch(10, 20, 0).Fetch(30, 40, 5);
  r.Settings(2, 1, 64, 50).Fetch(60, 100, 0).Fetch(110, 190, 5);
  r.In("1").Setting("seed", 199, 1).Fetch(200, 210, 5);
  const std::vector<LoaderProfile> found = r.Find();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].settings.batch_size, 64);
  EXPECT_EQ(found[1].fetches.size(), 3u);
}

TEST(LoaderProfile, PartsOfABatchAddUp) {
  Recording r;
  r.Settings(7, 1, 2, 0).Batch("20", 7, 5, 215, 150, 400).Fetch(10, 220, 0);
  const LoaderBatch batch = r.Find().at(0).batches.at(0);
  EXPECT_EQ(*batch.cpu + *batch.queued + *batch.Blocked(), batch.span.length());
}

TEST(LoaderProfile, WhatAProbeDidIsLeftOut) {
  Recording r;
  r.Settings(7, 1, 2, 0);
  r.Batch("20", 7, 5, 215, 100, 0).Fetch(10, 220, 0).Batch("20", 7, 220, 430, 100, 0);
  r.Fetch(300, 440, 80).In("1").Mark("probe begin", 450);
  r.Batch("20", 7, 500, 710, 100, 0).Fetch(460, 720, 80);
  // The probe's own loader.
  r.Settings(8, 1, 64, 730).Batch("30", 8, 740, 950, 100, 0).Fetch(735, 960, 0);
  r.In("20").Setting("seed", 965, 7).In("1").Setting("seed", 966, 7);
  r.Batch("20", 7, 970, 1180, 100, 0);  // Began while the probe ran.
  r.In("1").Mark("probe end", 1000);
  r.Fetch(1001, 1190, 80).Batch("20", 7, 1200, 1410, 100, 0).Fetch(1250, 1420, 60);
  const std::vector<LoaderProfile> found = r.Find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].epochs, 1);
  EXPECT_EQ(found[0].batches.size(), 3u);
  ASSERT_EQ(found[0].fetches.size(), 3u);  // The first fetch after the probe waited for it.
  EXPECT_EQ(found[0].fetches[2].step, Us(60));
  ASSERT_EQ(found[0].workers.size(), 1u);
  EXPECT_EQ(found[0].workers[0].recorded, Us(1410 - 5 - (1000 - 450)));
  for (const LoaderStage& stage : found[0].stages) {
    if (stage.name == "Decode") {
      EXPECT_EQ(stage.count, 6);
    }
  }
}

TEST(LoaderProfile, FailuresAreTold) {
  Recording r;
  r.Settings(7, 1, 2, 0);
  r.Batch("20", 7, 10, 220, 100, 0)
      .In("20")
      .Mark("failed sample 5 in stage::Decode: ValueError", 100);
  r.Fetch(10, 300, 0)
      .In("1")
      .Mark("raised ValueError", 299)
      .Mark("worker_died worker 0: signal 9", 299);
  const std::vector<LoaderProfile> found = r.Find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].fetches.empty());
  EXPECT_TRUE(found[0].batches.empty());
  EXPECT_EQ(found[0].failures,
            (std::vector<std::string>{"failed sample 5 in stage::Decode: ValueError",
                                      "worker_died worker 0: signal 9"}));
}

TEST(LoaderProfile, CountersThatCannotBeAreLeftOut) {
  Recording r;
  r.Settings(7, 1, 2, 0);
  r.Batch("20", 7, 10, 220, -5, 1e300).Fetch(10, 300, 0);
  const std::vector<LoaderProfile> found = r.Find();
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].batches.size(), 1u);
  EXPECT_FALSE(found[0].batches[0].cpu);
  EXPECT_FALSE(found[0].batches[0].queued);
  EXPECT_FALSE(found[0].batches[0].Blocked());
}

TEST(LoaderProfile, NothingOfALoader) {
  StoreBuilder builder;
  builder.Step(0, kMain, 0, 100);
  builder.Region("dataloader_next", kMain, 0, 10);  // From a loop with manual timing.
  EXPECT_TRUE(FindLoaders(*builder.Build()).empty());
}

}  // namespace loader_profile_test
}  // namespace headroom
