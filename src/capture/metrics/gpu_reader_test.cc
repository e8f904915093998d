#include "capture/metrics/gpu_reader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "capture/metrics/clock.h"
#include "capture/metrics/test_root.h"

namespace headroom {
namespace gpu_reader_test {

constexpr GpuPatience kLittle{.to_open = DurationNs(50'000'000), .to_read = DurationNs(50'000'000)};

/// Something that a driver waits for.
class Gate {
 public:
  void Set(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
};

/// Shared with a driver that outlives its test's end.
struct Driver {
  Gate opening, reading;
  std::atomic<int> readings = 0, closed = 0;
};

class OneGpu : public GpuSource {
 public:
  OneGpu(std::shared_ptr<Driver> driver, MetricBoard& board)
      : driver_(std::move(driver)),
        power_(board.AddGauge(GpuMetric("gpu_power_w", "W", "GPU 0"))),
        sent_(board.AddRate(GpuMetric("gpu_sent_per_s", "bytes/s", "GPU 0", "gpu_sent_bytes"))) {}
  ~OneGpu() override { ++driver_->closed; }

  void Read(SampleRun& run) override {
    driver_->reading.Pass();
    const int reading = ++driver_->readings;
    run.board.Set(power_, 100 + reading);
    run.board.Count(sent_, run.now, 1000 * static_cast<std::uint64_t>(reading));
    run.board.users().push_back({.resource = "GPU 0", .pid = 7, .name = "", .value = 5});
  }
  const std::vector<GpuIdentity>& gpus() const override { return gpus_; }

 private:
  std::shared_ptr<Driver> driver_;
  MetricBoard::Id power_, sent_;
  std::vector<GpuIdentity> gpus_{{.instance = "GPU 0", .name = "Fake", .uuid = "GPU-1"}};
};

struct Reader : TestBoard {
  GpuReader::Open Opens() {
    return [driver = driver](MetricBoard& opened) -> std::unique_ptr<GpuSource> {
      driver->opening.Pass();
      return std::make_unique<OneGpu>(driver, opened);
    };
  }
  std::shared_ptr<Driver> driver = std::make_shared<Driver>();
};

TEST(GpuReader, TellsWhatItsSourceTells) {
  Reader test;
  {
    GpuReader reader(test.Opens(), test.board);
    ASSERT_EQ(reader.gpus().size(), 1u);
    test.Sample(reader);
    EXPECT_EQ(test.Value("gpu_power_w", "GPU 0"), 101);
    EXPECT_TRUE(test.Missing("gpu_sent_per_s", "GPU 0")) << "a rate";
    EXPECT_EQ(test.Total("gpu_sent_per_s", "GPU 0"), 1000);
    EXPECT_EQ(test.board.reading().users.size(), 1u);
    test.Sample(reader);
    EXPECT_EQ(test.Value("gpu_power_w", "GPU 0"), 102);
    EXPECT_GT(test.Value("gpu_sent_per_s", "GPU 0"), 0);
    EXPECT_FALSE(reader.silent());
    EXPECT_GT(reader.cpu_time().ns(), 0);
    test.board.DropRates();
    EXPECT_TRUE(test.Missing("gpu_sent_per_s", "GPU 0")) << "it is still known to be a rate";
  }
  EXPECT_EQ(test.driver->closed, 1);
}

TEST(GpuReader, ADriverThatDoesNotAnswerIsWaitedForOnce) {
  Reader test;
  GpuReader reader(test.Opens(), test.board, kLittle);
  test.Sample(reader);
  test.driver->reading.Set(false);
  test.Sample(reader);
  EXPECT_TRUE(reader.silent());
  EXPECT_TRUE(test.Missing("gpu_power_w", "GPU 0"));
  EXPECT_TRUE(test.board.reading().users.empty());
  EXPECT_EQ(reader.gpus().size(), 1u) << "it is there still";
  const TimeNs begin = MonotonicNow();
  constexpr int kSamples = 20;
  for (int i = 0; i < kSamples; ++i) test.Sample(reader);
  EXPECT_TRUE(reader.silent());
  // Each pauses for 2 ms itself; to wait for the driver each time would take twenty patiences.
  EXPECT_LT((MonotonicNow() - begin).ns(), kSamples / 2 * kLittle.to_read.ns());

  test.driver->reading.Set(true);
  while (test.driver->readings < 2) std::this_thread::yield();
  while (reader.silent()) test.Sample(reader);
  EXPECT_GE(test.driver->readings, 3) << "what the late reading found is of an earlier sample";
  EXPECT_EQ(test.Value("gpu_power_w", "GPU 0"), 100 + test.driver->readings);
}

TEST(GpuReader, OneThatOpensLateJoinsThen) {
  Reader test;
  test.driver->opening.Set(false);
  GpuReader reader(test.Opens(), test.board, kLittle);
  EXPECT_TRUE(reader.silent());
  test.Sample(reader);
  EXPECT_TRUE(test.board.metrics().empty());
  test.driver->opening.Set(true);
  while (reader.silent()) test.Sample(reader);
  EXPECT_EQ(reader.gpus().size(), 1u);
  EXPECT_EQ(test.Value("gpu_power_w", "GPU 0"), 101);
}

TEST(GpuReader, IsLeftAloneByWhoEnds) {
  Reader test;
  {
    GpuReader reader(test.Opens(), test.board, kLittle);
    test.driver->reading.Set(false);
    test.Sample(reader);
    EXPECT_TRUE(reader.silent());
  }  // Would wait for ever otherwise.
  EXPECT_EQ(test.driver->closed, 0);
  test.driver->reading.Set(true);
  while (test.driver->closed == 0) std::this_thread::yield();
}

TEST(GpuReader, WithoutAGpuThereIsNothing) {
  TestBoard test;
  GpuReader reader([](MetricBoard&) { return nullptr; }, test.board);
  test.Sample(reader);
  EXPECT_FALSE(reader.silent());
  EXPECT_TRUE(reader.gpus().empty());
  EXPECT_TRUE(test.board.metrics().empty());
}

}  // namespace gpu_reader_test
}  // namespace headroom
