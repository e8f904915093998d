// Measures the cost of a region, and the lower limit: two clock readings and two records of 16
// bytes. `recorded` has a recorder in another process. `threads` is the time per thread, and the
// wall time per region over all threads.
//
// usage: timer_bench     a table in ns; exit code 1 if a count is wrong
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <headroom/timer.hpp>
#include <string>
#include <thread>
#include <vector>

#include "test_recorder.h"

namespace headroom {
namespace {

constexpr int kRegions = 20'000, kRounds = 200;

std::uint64_t Wall() { return headroom_impl_gettime(CLOCK_MONOTONIC); }
std::uint64_t ThreadTime() { return headroom_impl_gettime(CLOCK_THREAD_CPUTIME_ID); }

void Limit() {
  static thread_local headroom_record records[4096];
  const std::uint32_t clock = headroom_impl_state_v1.clock;
  for (int i = 0; i < kRegions; ++i) {
    headroom_record* at = records + (i & 2047) * 2;
    at[0] = {headroom_impl_ticks(clock), 1, static_cast<std::uint32_t>(i)};
    at[1] = {headroom_impl_ticks(clock), 1, static_cast<std::uint32_t>(i)};
    asm volatile("" ::"r"(at) : "memory");
  }
}

void Scopes() {
  for (int i = 0; i < kRegions; ++i) {
    HEADROOM_SCOPE("scope");
    asm volatile("" ::: "memory");
  }
}

void ByText() {
  for (int i = 0; i < kRegions; ++i) {
    const Scope scope("by text");
    asm volatile("" ::: "memory");
  }
}

/// Minimum and median of kRounds, in ns per region. A pause after each round lets the recorder run.
void Report(const char* what, const std::function<void()>& body) {
  std::vector<double> wall, thread;
  body();
  for (int i = 0; i < kRounds; ++i) {
    const std::uint64_t wall_before = Wall(), thread_before = ThreadTime();
    body();
    thread.push_back(static_cast<double>(ThreadTime() - thread_before) / kRegions);
    wall.push_back(static_cast<double>(Wall() - wall_before) / kRegions);
    usleep(500);
  }
  std::sort(wall.begin(), wall.end());
  std::sort(thread.begin(), thread.end());
  std::printf("%-28s %8.2f %8.2f %8.2f\n", what, wall[0], wall[kRounds / 2], thread[kRounds / 2]);
}

/// Checks the counts. Returns the exit status.
int Measure(const char* how) {
  if (!enabled()) return 1;  // Also selects the clock.
  std::printf("%-28s %8s %8s %8s\n", how, "least", "median", "thread");
  Report("limit", Limit);
  Report("HEADROOM_SCOPE", Scopes);
  Report("Scope(text)", ByText);
  enable(false);
  Report("disabled", Scopes);
  enable(true);
  for (const int count : {2, 4}) {
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(count));
    const std::uint64_t before = Wall();
    std::vector<double> times(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([i, &times] {
        const std::uint64_t start = ThreadTime();
        for (int round = 0; round < kRounds; ++round) Scopes();
        times[static_cast<std::size_t>(i)] =
            static_cast<double>(ThreadTime() - start) / kRegions / kRounds;
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::printf("%d threads: wall %.2f, thread %.2f\n", count,
                static_cast<double>(Wall() - before) / kRegions / kRounds / count,
                *std::max_element(times.begin(), times.end()));
  }
  const std::uint64_t expected = static_cast<std::uint64_t>(kRegions) * (kRounds + 1 + 6 * kRounds);
  if (stats("scope").count != expected ||
      stats("by text").count != static_cast<std::uint64_t>(kRegions) * (kRounds + 1)) {
    std::printf("wrong: %llu regions instead of %llu\n",
                static_cast<unsigned long long>(stats("scope").count),
                static_cast<unsigned long long>(expected));
    return 1;
  }
  std::printf("events lost to a slow recorder: %llu\n\n",
              static_cast<unsigned long long>(drops().ring));
  std::fflush(stdout);
  return 0;
}

int Main() {
  TestRecorder recorder;
  const pid_t child = fork();
  if (child == 0) {
    setenv("HEADROOM_SOCKET", recorder.Path().c_str(), 1);
    const int status = recorded() ? Measure("recorded, ns a region") : 1;
    _exit(status);
  }
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    recorder.Drain();
    for (TestRecorder::Process& process : recorder.processes()) {
      for (TestRecorder::Ring& ring : process.rings) ring.records.clear();
    }
    usleep(10'000);
  }
  return status != 0 || Measure("not recorded, ns a region") != 0 ? 1 : 0;
}

}  // namespace
}  // namespace headroom

int main() { return headroom::Main(); }
