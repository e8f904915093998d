// Tests GPU regions with a simulated GPU, opened like a real one. Each test runs in a separate
// process, because a process opens the library only once.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <headroom/gpu_timer.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "fake_gpu.h"
#include "test_recorder.h"

namespace headroom {
namespace {

constexpr std::int64_t kMs = 1'000'000;
void* const kStream = reinterpret_cast<void*>(7);

FakeGpu OpenFakeGpu(const char* path = FAKE_GPU) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<FakeGpu (*)()>(dlsym(library, "HeadroomFakeGpu"))();
}

/// Runs `body` in a child. The test fails if an expectation fails there.
void InChild(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::fflush(stdout);
    std::exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

/// Runs `body` in a child with the GPU.
void WithGpu(const std::function<void(const FakeGpu&)>& body, bool hip = false) {
  InChild([&] {
    setenv("HEADROOM_CUDA_LIBRARY", hip ? "/none.so" : FAKE_GPU, 1);
    setenv("HEADROOM_HIP_LIBRARY", hip ? FAKE_GPU : "/none.so", 1);
    body(OpenFakeGpu());
  });
}

void LengthsAreThoseOfTheStream(const FakeGpu& gpu) {
  for (int i = 0; i < 10; ++i) {
    const GpuScope outer("outer", kStream);
    gpu.work(kStream, 2 * kMs);
    const GpuScope inner("inner", kStream);
    gpu.work(kStream, 1 * kMs);
  }
  EXPECT_TRUE(gpu_wait());
  const Stats outer = gpu_stats("outer"), inner = gpu_stats("inner");
  EXPECT_EQ(outer.count, 10);
  EXPECT_GE(outer.mean_s, 3e-3 - 1e-7);
  EXPECT_LT(outer.p50_s, 3.5e-3);
  EXPECT_NEAR(inner.p50_s, 1e-3, 0.1e-3);
  EXPECT_NEAR(outer.self_s, outer.total_s - inner.total_s, 1e-5);
  EXPECT_EQ(gpu_counts().resolved, 20);
  EXPECT_EQ(gpu_counts().failed + gpu_counts().full + gpu_counts().host, 0);
  EXPECT_GT(gpu.calls("relaxed"), 0) << "or asking would end a capture";
  EXPECT_EQ(stats("outer").count, 0) << "the host's are others";
}

TEST(GpuTimerTest, LengthsByCuda) { WithGpu(LengthsAreThoseOfTheStream); }
TEST(GpuTimerTest, LengthsByHip) { WithGpu(LengthsAreThoseOfTheStream, /*hip=*/true); }

// The development package has libamdhip64.so; programs link libamdhip64.so.6. Any call to HIP
// starts its runtime.
TEST(GpuTimerTest, HipIsTheOneThatTheProgramHasLoaded) {
  InChild([] {
    setenv("HEADROOM_CUDA_LIBRARY", "/none.so", 1);
    { GpuScope before("region", kStream); }
    EXPECT_EQ(gpu_counts().host, 1);
    EXPECT_EQ(dlopen(FAKE_HIP, RTLD_NOW | RTLD_NOLOAD), nullptr) << "and found beside us";
    const FakeGpu hip = OpenFakeGpu(FAKE_HIP);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    {
      const GpuScope after("region", kStream);
      hip.work(kStream, kMs);
    }
    EXPECT_TRUE(gpu_wait());
    EXPECT_EQ(gpu_counts().resolved, 1);
    EXPECT_EQ(gpu_counts().host, 1);
  });
}

TEST(GpuTimerTest, NothingWaitsForTheGpu) {
  WithGpu([](const FakeGpu& gpu) {
    // Long enough for a busy host.
    gpu.work(kStream, 2000 * kMs);
    const auto before = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i) {
      const GpuScope scope("queued", kStream);
      gpu.work(kStream, kMs / 100);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(1500));
    EXPECT_EQ(gpu_stats("queued").count, 0) << "late";
    EXPECT_FALSE(gpu_wait(std::chrono::milliseconds(1)));
    EXPECT_TRUE(gpu_wait());
    EXPECT_EQ(gpu_stats("queued").count, 100);
  });
}

TEST(GpuTimerTest, AFullPoolDropsAndCounts) {
  WithGpu([](const FakeGpu& gpu) {
    gpu.hold(true);
    const auto before = std::chrono::steady_clock::now();
    for (int i = 0; i < 1500; ++i) {
      const GpuScope scope("held", kStream);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(2));
    EXPECT_EQ(gpu_counts().full, 1500 - detail::GpuRegions::kRegions);
    gpu.hold(false);
    EXPECT_TRUE(gpu_wait());
    EXPECT_EQ(gpu_stats("held").count, detail::GpuRegions::kRegions);
    { GpuScope after("held", kStream); }
    EXPECT_TRUE(gpu_wait());
    EXPECT_EQ(gpu_stats("held").count, detail::GpuRegions::kRegions + 1);
  });
}

TEST(GpuTimerTest, ACapturingStreamIsLeftAlone) {
  WithGpu([](const FakeGpu& gpu) {
    { GpuScope before("captured", kStream); }
    gpu.capture(kStream, true);
    const std::uint64_t events = gpu.events();
    { GpuScope during("captured", kStream); }
    EXPECT_EQ(gpu.events(), events);
    gpu.capture(kStream, false);
    {
      GpuScope open("captured", kStream);  // Capturing begins inside.
      gpu.capture(kStream, true);
    }
    gpu.capture(kStream, false);
    gpu.fail("StreamIsCapturing", 906, 1, 0);  // Another stream is captured, and waits for this
                                               // one.
    { GpuScope implicit("captured", kStream); }
    { GpuScope after("captured", kStream); }
    EXPECT_TRUE(gpu_wait());
    EXPECT_EQ(gpu_stats("captured").count, 2);
    EXPECT_EQ(gpu_counts().capturing, 2);
    EXPECT_EQ(gpu_counts().failed, 1);
  });
}

TEST(GpuTimerTest, ErrorsCostTheRegionNoMore) {
  WithGpu([](const FakeGpu& gpu) {
    int regions = 0;
    const std::vector<const char*> functions = {"EventCreate", "EventRecord", "EventQuery",
                                                "EventElapsedTime"};
    constexpr int kEvents = 2;
    for (const char* function : functions) {
      for (int after = 0; after < kEvents; ++after) {  // Fails the first or the second event.
        const std::uint64_t before = gpu_counts().failed;
        { GpuScope fine("errors", kStream); }
        EXPECT_TRUE(gpu_wait());
        // Opens all at once, so that new events must be made.
        gpu.hold(true);
        gpu.fail(function, 700, 1, after);
        for (int i = 0; i < 20; ++i, ++regions) {
          const GpuScope scope("errors", kStream);
        }
        gpu.hold(false);
        EXPECT_TRUE(gpu_wait());
        EXPECT_LE(gpu_counts().failed, before + 1) << function << after;
      }
    }
    const GpuCounts counts = gpu_counts();
    EXPECT_EQ(counts.resolved + counts.failed,
              static_cast<std::uint64_t>(regions) + kEvents * functions.size());
    EXPECT_GE(counts.failed, 1);
    gpu.fail("EventQuery", 4, 1 << 30, 0);  // The driver is shutting down.
    for (int i = 0; i < 2000; ++i) {
      const GpuScope scope("errors", kStream);
    }
    EXPECT_TRUE(gpu_wait());
  });
}

// If streams share hardware queues, an event on our stream may wait for other streams' work.
TEST(GpuTimerTest, ClocksThatCannotBeComparedCostNeitherTheProgramNorLengths) {
  WithGpu([](const FakeGpu& gpu) {
    gpu.hold_own(true);
    constexpr int kRegions = 1000;
    for (int i = 0; i < kRegions; ++i) {
      {
        const GpuScope outer("outer", kStream);
        gpu.work(kStream, kMs);
        const GpuScope inner("inner", kStream);
        gpu.work(kStream, kMs / 4);
      }
      usleep(1300);
    }
    // Attempts become rarer: every 5 ms they would make millions of queries.
    EXPECT_LT(gpu.calls("EventQuery"), 500'000u);
    EXPECT_TRUE(gpu_wait());
    EXPECT_EQ(gpu_counts().resolved, 2 * kRegions);
    EXPECT_EQ(gpu_counts().anchors, 0);
    EXPECT_NEAR(gpu_stats("outer").p50_s, 1.25e-3, 0.1e-3);
    EXPECT_NEAR(gpu_stats("outer").self_s, gpu_stats("outer").total_s - gpu_stats("inner").total_s,
                1e-5);
    gpu.hold_own(false);
    for (int i = 0; i < 200 && gpu_counts().anchors == 0; ++i) {
      { const GpuScope scope("outer", kStream); }
      usleep(20'000);
    }
    EXPECT_GT(gpu_counts().anchors, 0) << "it is tried again";
  });
}

TEST(GpuTimerTest, AContextThatIsGoneTakesItsRegionsOnly) {
  WithGpu([](const FakeGpu& gpu) {
    for (int round = 0; round < 3; ++round) {
      { const GpuScope before("gone", kStream); }
      EXPECT_TRUE(gpu_wait());
      const GpuCounts counts = gpu_counts();
      {
        gpu.hold(true);
        const GpuScope open("gone", kStream);
        { const GpuScope pending("gone", kStream); }
        gpu.reset();
        gpu.hold(false);
        EXPECT_TRUE(gpu_wait(std::chrono::seconds(5)));
        EXPECT_EQ(gpu_counts().failed, counts.failed + 2);
        { const GpuScope after("gone", kStream); }
        EXPECT_TRUE(gpu_wait());
        EXPECT_EQ(gpu_counts().resolved, counts.resolved + 1);
      }  // Ends the lost region.
      { const GpuScope after("gone", kStream); }
      EXPECT_TRUE(gpu_wait());
      EXPECT_EQ(gpu_counts().resolved, counts.resolved + 2);
      // A new stream also has new events.
      gpu.reset();
      for (int i = 0; i < 3; ++i) {
        { const GpuScope scope("new stream", reinterpret_cast<void*>(50 + round)); }  // NOLINT
        EXPECT_TRUE(gpu_wait());
      }
      EXPECT_GE(gpu_stats("new stream").count, 2u * (static_cast<unsigned>(round) + 1));
      { const GpuScope scope("gone", kStream); }
      EXPECT_TRUE(gpu_wait());
      // No region is unresolved during the reset. The next region finds that its events were
      // destroyed.
      gpu.reset();
      const std::uint64_t resolved = gpu_counts().resolved, failed = gpu_counts().failed;
      for (int i = 0; i < 3; ++i) {
        const GpuScope scope("gone", kStream);
      }
      EXPECT_TRUE(gpu_wait());
      EXPECT_EQ(gpu_counts().resolved, resolved + 2) << "all but the first";
      EXPECT_EQ(gpu_counts().failed, failed + 1);
    }
  });
}

TEST(GpuTimerTest, StreamsMayComeAndGo) {
  WithGpu([](const FakeGpu& gpu) {
    constexpr std::uintptr_t kStreams = 3 * detail::GpuRegions::kStreams;
    for (std::uintptr_t i = 0; i < kStreams; ++i) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr)
      { const GpuScope scope("come and go", reinterpret_cast<void*>(100 + i)); }
      EXPECT_TRUE(gpu_wait());
    }
    EXPECT_EQ(gpu_stats("come and go").count, kStreams);
    EXPECT_EQ(gpu_counts().full, 0);
    // All lanes belong to the destroyed context. The next region finds this.
    gpu.reset();
    for (int i = 0; i < 3; ++i) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr)
      const GpuScope scope("after", reinterpret_cast<void*>(100 + kStreams - 1));
    }
    EXPECT_TRUE(gpu_wait());
    EXPECT_EQ(gpu_stats("after").count, 2);
    EXPECT_EQ(gpu.calls("destroy what is gone"), 0) << "a driver may crash at such a handle";
  });
}

TEST(GpuTimerTest, EachThreadHasADefaultStreamOfItsOwn) {
  WithGpu([](const FakeGpu& gpu) {
    void* const own = reinterpret_cast<void*>(2);  // NOLINT(performance-no-int-to-ptr)
    {
      const GpuScope outer("outer", own);
      gpu.work(own, kMs);
      std::thread([own, &gpu] {
        const GpuScope other("other", own);
        gpu.work(own, kMs);
      }).join();
      const GpuScope inner("inner", own);
    }
    EXPECT_TRUE(gpu_wait());
    EXPECT_GE(gpu_stats("other").total_s, 1e-3 - 1e-6);
    EXPECT_NEAR(gpu_stats("outer").self_s, gpu_stats("outer").total_s - gpu_stats("inner").total_s,
                1e-5)
        << "what another thread has begun is not inside";
  });
}

TEST(GpuTimerTest, WithoutAContextOnTheHostAndBack) {
  WithGpu([](const FakeGpu& gpu) {
    gpu.set_context(false);
    testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) {
      const GpuScope scope("host", kStream);
      usleep(1000);
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "headroom: no GPU is in use; GPU regions are timed on the host\n");
    EXPECT_EQ(gpu_stats("host").count, 3);
    EXPECT_GE(gpu_stats("host").min_s, 1e-3);
    EXPECT_EQ(gpu_counts().host, 3);
    EXPECT_EQ(stats("host").count, 3) << "as regions of the thread";
    gpu.set_context(true);
    { GpuScope scope("host", kStream); }
    EXPECT_TRUE(gpu_wait());
    EXPECT_EQ(gpu_counts().resolved, 1);
  });
}

TEST(GpuTimerTest, AForkedChildTimesOnTheHost) {
  WithGpu([](const FakeGpu& gpu) {
    const GpuScope open("forked", kStream);
    gpu.work(kStream, kMs);
    const pid_t child = fork();
    if (child == 0) {
      { GpuScope scope("forked", kStream); }
      _exit(gpu_wait() && gpu_stats("forked").count == 1 && gpu_counts().host == 1 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  });
}

TEST(GpuTimerTest, InputWaitIsSplitIntoFeltAndHidden) {
  WithGpu([](const FakeGpu& gpu) {
    const auto begin = std::chrono::steady_clock::now();
    {
      const InputWait wait(kStream);  // The GPU is idle for the whole wait.
      usleep(20'000);
    }
    const std::chrono::duration<double> around = std::chrono::steady_clock::now() - begin;
    EXPECT_TRUE(gpu_wait());
    const double felt = gpu_stats("IO").total_s;
    EXPECT_GE(felt, 0.02 - 1e-3);
    EXPECT_LE(felt, around.count() + 1e-3);
    gpu.work(kStream, 100 * kMs);
    {
      const InputWait wait(kStream);  // The GPU has work for longer than the host waits.
      usleep(20'000);
    }
    EXPECT_TRUE(gpu_wait());
    EXPECT_NEAR(gpu_stats("IO").total_s, felt, 1e-3);
    EXPECT_GE(stats("IO").total_s, 0.04);
    EXPECT_EQ(stats("IO").count, 2);
  });
}

TEST(GpuTimerTest, MaelstromTwin) {
  WithGpu([](const FakeGpu& gpu) {
    CpuGpuTimer timer;
    for (int i = 0; i < 3; ++i) {
      timer.start("BATCH", true, kStream);
      timer.start("IO");
      timer.end("IO");
      gpu.work(kStream, 2 * kMs);
      timer.end("BATCH", true);
    }
    EXPECT_EQ(timer.get_time("BATCH").size(), 3);
    EXPECT_EQ(timer.get_time("BATCH", true).size(), 3);
    EXPECT_GE(timer.get_time_stats("BATCH", true).min, 2e-3 - 1e-6);
    EXPECT_TRUE(timer.get_time("IO", true).empty());
    EXPECT_EQ(timer.ignored(), 0);
    std::ostringstream text;
    timer.print_all_time_stats(text);
    EXPECT_EQ(text.str().substr(0, 10), "CPU\nBATCH\n");
    EXPECT_NE(text.str().find("---\nGPU\nBATCH\nmin: "), std::string::npos) << text.str();

    // Mismatched flags cause no exception and no leak, in both directions.
    for (int i = 0; i < 2000; ++i) {
      timer.start("FORWARD", true, kStream);
      timer.end("FORWARD");
      timer.start("BACKWARD");
      timer.end("BACKWARD", true);
      if (i % 500 == 0) timer.complete_all();
    }
    EXPECT_EQ(timer.ignored(), 4000);
    timer.complete_all();
    EXPECT_EQ(timer.get_time("FORWARD").size(), 2000);
    timer.start("OTHER", true, kStream);  // Stays open.

    for (int i = 0; i < 3000; ++i) timer.start("LEFT", true, kStream);
    timer.complete_all();
    { const GpuScope scope("after them", kStream); }
    EXPECT_TRUE(gpu_wait());
    EXPECT_EQ(gpu_stats("after them").count, 1) << "the stream's places are not used up";

    GpuTimer alone;
    alone.start("BATCH", kStream);
    alone.end("BATCH");
    const std::string path = ::testing::TempDir() + "gpu_timer_test." + std::to_string(getpid());
    EXPECT_FALSE(alone.save_all_time_stats(path));
    EXPECT_TRUE(alone.save_all_time_stats(path)) << "it is there";
    std::remove(path.c_str());
  });
}

TEST(GpuTimerTest, ThreadsAndStreams) {
  WithGpu([](const FakeGpu& gpu) {
    std::vector<std::thread> threads;
    for (std::uintptr_t i = 1; i <= 4; ++i) {
      threads.emplace_back([i, &gpu] {
        void* stream = reinterpret_cast<void*>(i);  // NOLINT(performance-no-int-to-ptr)
        for (int j = 0; j < 200; ++j) {
          const GpuScope scope("threads", stream);
          gpu.work(stream, 1000);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(gpu_wait());
    EXPECT_EQ(gpu_stats("threads").count + gpu_counts().full, 800);
    EXPECT_EQ(gpu_counts().failed, 0);
  });
}

/// Checks that events in a recording have the host times at which the GPU reached them.
/// @param from_second  ignores earlier events, for which the clocks' rates are not yet measured
void PlacedWithin(const FakeGpu& gpu, int seconds, int from_second, double limit_ns) {
  TestRecorder recorder;
  setenv("HEADROOM_SOCKET", recorder.Path().c_str(), 1);
  std::vector<headroom_impl_anchor> clocks = {headroom_impl_anchor_now(headroom_impl_clock_here())};
  for (int i = 0; i < seconds * 20; ++i) {
    const GpuScope outer("outer", kStream);
    gpu.work(kStream, 3 * kMs);
    const GpuScope inner("inner", kStream);
    gpu.work(kStream, kMs);
    usleep(50'000);
  }
  EXPECT_TRUE(gpu_wait());
  clocks.push_back(headroom_impl_anchor_now(headroom_impl_clock_here()));
  recorder.Drain();
  ASSERT_EQ(recorder.processes().size(), 1);
  const TestRecorder::Ring* ring = nullptr;
  for (const TestRecorder::Ring& known : recorder.processes()[0].rings) {
    if (known.kind == HEADROOM_RING_STREAM) ring = &known;
  }
  ASSERT_NE(ring, nullptr);
  EXPECT_EQ(ring->name, "GPU 3 stream 7");
  ASSERT_EQ(ring->records.size(), gpu.events());
  const double rate = static_cast<double>(clocks[1].ns - clocks[0].ns) /
                      static_cast<double>(clocks[1].ticks - clocks[0].ticks);
  std::vector<double> errors;
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < ring->records.size(); ++i) {
    const std::uint64_t ticks = ring->records[i].ticks;
    EXPECT_GE(ticks, last);
    last = ticks;
    const double ns =
        static_cast<double>(clocks[0].ns) +
        static_cast<double>(static_cast<std::int64_t>(ticks - clocks[0].ticks)) * rate;
    errors.push_back(std::abs(ns - static_cast<double>(gpu.passed(i))));
  }
  errors.erase(errors.begin(), errors.begin() + from_second * 20 * 4);
  std::sort(errors.begin(), errors.end());
  const double most = errors[errors.size() * 99 / 100];
  EXPECT_LT(most, limit_ns);
  std::printf("error: median %.0f ns, p99 %.0f ns, most %.0f ns\n", errors[errors.size() / 2], most,
              errors.back());
}

TEST(GpuTimerTest, PlacedOnTheHostsClock) {
  WithGpu([](const FakeGpu& gpu) { PlacedWithin(gpu, 3, 0, 1000); });
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
// Under sanitizers, the host's two readings are too far apart to measure the rates so early.
TEST(GpuTimerTest, PlacedOnTheHostsClockByAFasterOne) {
  WithGpu([](const FakeGpu& gpu) {
    gpu.set_drift(20);  // 20 us per second.
    PlacedWithin(gpu, 8, 4, 1500);
  });
}
#endif

}  // namespace
}  // namespace headroom
