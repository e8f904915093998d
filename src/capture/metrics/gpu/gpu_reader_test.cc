#include "capture/metrics/gpu/gpu_reader.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "capture/metrics/board/clock.h"
#include "capture/metrics/board/test_root.h"

namespace headroom {
namespace gpu_reader_test {

constexpr GpuPatience kLittle{.to_open = DurationNs(50'000'000), .to_read = DurationNs(50'000'000)};

/// Gate at which a fake driver waits.
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

/// State of a fake driver, which may outlive its test.
struct Driver {
  Gate opening;
  std::array<Gate, 8> reading;  ///< One gate per GPU.
  std::atomic<int> readings = 0, closed = 0;
};

class Gpus : public GpuSource {
 public:
  Gpus(std::shared_ptr<Driver> driver, int count) : driver_(std::move(driver)) {
    for (int i = 0; i < count; ++i) Add(i);
  }
  ~Gpus() override { ++driver_->closed; }

 private:
  void Add(int number) {
    const std::string name = "GPU " + std::to_string(number);
    gpus_.push_back({.instance = name, .name = "Fake", .uuid = "GPU-1"});
    GpuPart& gpu = parts_.emplace_back(name);
    const auto power = gpu.board.AddGauge(GpuMetric("gpu_power_w", "W", name));
    const auto sent =
        gpu.board.AddRate(GpuMetric("gpu_sent_per_s", "bytes/s", name, "gpu_sent_bytes"));
    gpu.probes.Add([=, driver = driver_](SampleRun& run) {
      driver->reading.at(static_cast<std::size_t>(number)).Pass();
      const int reading = ++driver->readings;
      run.board.Set(power, 100 + reading);
      run.board.Count(sent, run.now, 1000 * static_cast<std::uint64_t>(reading));
      run.board.users().push_back({.resource = name, .pid = 7, .name = "", .value = 5});
      return GpuCall::kOk;
    });
  }

  std::shared_ptr<Driver> driver_;
};

struct Reader : TestBoard {
  GpuReader::Open Opens(int count = 1) {
    return [driver = driver, count]() -> std::unique_ptr<GpuSource> {
      driver->opening.Pass();
      return std::make_unique<Gpus>(driver, count);
    };
  }
  /// Samples regardless of the cost limit.
  void Sample(GpuReader& reader) { TestBoard::Sample(reader, /*edge=*/true); }

  std::shared_ptr<Driver> driver = std::make_shared<Driver>();
};

using Names = std::vector<std::string>;

TEST(GpuReader, TellsWhatItsSourceTells) {
  Reader test;
  {
    GpuReader reader(test.Opens(), test.board);
    ASSERT_EQ(reader.gpus().size(), 1u);
    test.Sample(reader);
    EXPECT_EQ(test.Value("gpu_power_w", "GPU 0"), 101);
    EXPECT_TRUE(test.Missing("gpu_sent_per_s", "GPU 0")) << "the first value of a rate is missing";
    EXPECT_EQ(test.Total("gpu_sent_per_s", "GPU 0"), 1000);
    EXPECT_EQ(test.board.reading().users.size(), 1u);
    test.Sample(reader);
    EXPECT_EQ(test.Value("gpu_power_w", "GPU 0"), 102);
    EXPECT_GT(test.Value("gpu_sent_per_s", "GPU 0"), 0);
    EXPECT_EQ(reader.silent(), Names());
    EXPECT_GT(reader.cpu_time().ns(), 0);
    test.board.DropRates();
    EXPECT_TRUE(test.Missing("gpu_sent_per_s", "GPU 0")) << "its kind is still rate";
  }
  EXPECT_EQ(test.driver->closed, 1);
}

TEST(GpuReader, ADriverThatDoesNotAnswerIsWaitedForOnce) {
  Reader test;
  GpuReader reader(test.Opens(), test.board, kLittle);
  test.Sample(reader);
  test.driver->reading[0].Set(false);
  test.Sample(reader);
  EXPECT_EQ(reader.silent(), Names{"GPU 0"});
  EXPECT_TRUE(test.Missing("gpu_power_w", "GPU 0"));
  EXPECT_TRUE(test.board.reading().users.empty());
  EXPECT_EQ(reader.gpus().size(), 1u) << "it is still listed";
  const TimeNs begin = MonotonicNow();
  constexpr int kSamples = 20;
  for (int i = 0; i < kSamples; ++i) test.Sample(reader);
  EXPECT_EQ(reader.silent(), Names{"GPU 0"});
  // Each sample pauses for 2 ms. Waiting for the driver each time would take 20 time limits.
  EXPECT_LT((MonotonicNow() - begin).ns(), kSamples / 2 * kLittle.to_read.ns());

  test.driver->reading[0].Set(true);
  while (test.driver->readings < 2) std::this_thread::yield();
  while (!reader.silent().empty()) test.Sample(reader);
  EXPECT_GE(test.driver->readings, 3) << "the late reading belongs to an earlier sample";
  EXPECT_EQ(test.Value("gpu_power_w", "GPU 0"), 100 + test.driver->readings);
}

TEST(GpuReader, AGpuThatDoesNotAnswerHarmsNoOther) {
  Reader test;
  {
    // GPU 1 must answer within this time, even on a busy machine.
    constexpr DurationNs kMuch(400'000'000);
    GpuReader reader(test.Opens(3), test.board, {.to_open = kMuch, .to_read = kMuch});
    test.Sample(reader);
    EXPECT_EQ(test.board.reading().users.size(), 3u);
    test.driver->reading[0].Set(false);
    test.driver->reading[2].Set(false);
    for (int i = 0; i < 3; ++i) {
      test.Sample(reader);
      EXPECT_EQ(reader.silent(), (Names{"GPU 0", "GPU 2"}));
      EXPECT_TRUE(test.Missing("gpu_power_w", "GPU 0"));
      EXPECT_EQ(test.Value("gpu_power_w", "GPU 1"), 104 + i);
      EXPECT_GT(test.Value("gpu_sent_per_s", "GPU 1"), 0);
      EXPECT_TRUE(test.Missing("gpu_power_w", "GPU 2"));
      EXPECT_EQ(test.board.reading().users.size(), 1u);
    }
    test.driver->reading[0].Set(true);
    while (reader.silent().size() > 1) test.Sample(reader);
    test.Sample(reader);
    EXPECT_EQ(reader.silent(), Names{"GPU 2"});
    EXPECT_FALSE(test.Missing("gpu_power_w", "GPU 0"));
    EXPECT_FALSE(test.Missing("gpu_power_w", "GPU 1"));
    test.driver->reading[1].Set(false);
    test.Sample(reader);
    EXPECT_EQ(reader.silent(), (Names{"GPU 1", "GPU 2"}));
    EXPECT_FALSE(test.Missing("gpu_power_w", "GPU 0"));
  }
  EXPECT_EQ(test.driver->closed, 0);
  test.driver->reading[1].Set(true);
  test.driver->reading[2].Set(true);
  while (test.driver->closed == 0) std::this_thread::yield();
}

TEST(GpuReader, HoweverManyDoNotAnswerTheyAreWaitedForTogether) {
  Reader test;
  GpuReader reader(test.Opens(8), test.board, kLittle);
  for (Gate& gate : test.driver->reading) gate.Set(false);
  const TimeNs begin = MonotonicNow();
  test.Sample(reader);
  EXPECT_EQ(reader.silent().size(), 8u);
  EXPECT_LT((MonotonicNow() - begin).ns(), 6 * kLittle.to_read.ns())
      << "twice the limit, plus a margin";
  for (Gate& gate : test.driver->reading) gate.Set(true);
  while (!reader.silent().empty()) test.Sample(reader);
  EXPECT_FALSE(test.Missing("gpu_power_w", "GPU 7"));
}

TEST(GpuReader, OneThatOpensLateJoinsThen) {
  Reader test;
  test.driver->opening.Set(false);
  GpuReader reader(test.Opens(), test.board, kLittle);
  EXPECT_EQ(reader.silent(), Names{"the GPUs' driver"});
  test.Sample(reader);
  EXPECT_TRUE(test.board.metrics().empty());
  test.driver->opening.Set(true);
  while (!reader.silent().empty()) test.Sample(reader);
  EXPECT_EQ(reader.gpus().size(), 1u);
  EXPECT_EQ(test.Value("gpu_power_w", "GPU 0"), 101);
}

TEST(GpuReader, IsLeftAloneByWhoEnds) {
  Reader test;
  {
    GpuReader reader(test.Opens(), test.board, kLittle);
    test.driver->reading[0].Set(false);
    test.Sample(reader);
    EXPECT_EQ(reader.silent(), Names{"GPU 0"});
  }  // The destructor must not wait for the driver.
  EXPECT_EQ(test.driver->closed, 0);
  test.driver->reading[0].Set(true);
  while (test.driver->closed == 0) std::this_thread::yield();
}

TEST(GpuReader, WithoutAGpuThereIsNothing) {
  TestBoard test;
  GpuReader reader([] { return nullptr; }, test.board);
  test.Sample(reader);
  EXPECT_EQ(reader.silent(), Names());
  EXPECT_TRUE(reader.gpus().empty());
  EXPECT_TRUE(test.board.metrics().empty());
}

}  // namespace gpu_reader_test
}  // namespace headroom
