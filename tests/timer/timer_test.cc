// Tests the timers in a program without a recorder: threads, fork, limits, wrong use.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <headroom/timer.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "c_program.h"

// NOLINTBEGIN(bugprone-lambda-function-name,performance-inefficient-vector-operation): a region in
// a lambda has the lambda's name; lists of threads are short.

namespace headroom {
namespace {

/// Returns the exit status of a child that runs `body`, or -1 if a signal killed it.
template <typename Body>
int InChild(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(TimerTest, CAndCppOfOneImageShareTheirStatistics) {
  TimeInC(10);
  EXPECT_EQ(CountInC("c outer"), 10);
  EXPECT_EQ(stats("c inner").count, 10);
  EXPECT_EQ(stats("STEP").count, 10);
  { HEADROOM_SCOPE("c outer"); }
  EXPECT_EQ(CountInC("c outer"), 11);
}

TEST(TimerTest, LengthsAreThoseOfTheClock) {
  const std::uint64_t before = headroom_impl_gettime(HEADROOM_IMPL_CLOCK_MONOTONIC);
  {
    HEADROOM_SCOPE("sleep");
    usleep(20'000);
  }
  const std::uint64_t after = headroom_impl_gettime(HEADROOM_IMPL_CLOCK_MONOTONIC);
  EXPECT_GE(stats("sleep").total_s, 0.02 * 0.999);
  EXPECT_LE(stats("sleep").total_s, static_cast<double>(after - before) * 1e-9 * 1.001);
}

TEST(TimerTest, RegionsOfOneKeyNest) {
  {
    HEADROOM_SCOPE("recursive");
    usleep(1000);
    { HEADROOM_SCOPE("recursive"); }
    usleep(1000);
  }
  const Stats s = stats("recursive");
  EXPECT_EQ(s.count, 2);
  EXPECT_DOUBLE_EQ(s.total_s, s.max_s) << "each moment once";
  EXPECT_NEAR(s.self_s, s.max_s, 1e-9);
}

TEST(TimerTest, RegionsOfOneKeyThatOverlapCountEachMomentOnce) {
  const headroom_token first = headroom::begin("overlapping");
  usleep(2000);
  const headroom_token second = headroom::begin("overlapping");
  usleep(2000);
  headroom::end(first);
  usleep(2000);
  const headroom_token third = headroom::begin("overlapping");
  usleep(2000);
  headroom::end(third);
  headroom::end(second);
  usleep(2000);
  { HEADROOM_SCOPE("overlapping"); }
  const Stats s = stats("overlapping");
  EXPECT_EQ(s.count, 4);
  EXPECT_GE(s.total_s, 8e-3 * 0.999);
  EXPECT_LT(s.total_s, s.mean_s * 4 - 3.9e-3)
      << "the second lies 2 ms in the first and 2 around the third";
}

// MAELSTROM's timer lost a key after an exception between a start and its end.
TEST(TimerTest, ARegionThatIsNeverEndedCostsItsKeyNothingElse) {
  const headroom_token left = headroom::begin("left open");
  for (int i = 0; i < 5; ++i) {
    {
      HEADROOM_SCOPE("left open");
      usleep(1000);
    }
    usleep(1000);
  }
  const Stats open = stats("left open");
  EXPECT_EQ(open.count, 5);
  EXPECT_NEAR(open.total_s, 5 * open.mean_s, 1e-9);
  headroom::end(left);
  // Queries once, because each query measures the counter's rate again.
  const Stats ended = stats("left open");
  EXPECT_EQ(ended.count, 6);
  EXPECT_NEAR(ended.total_s, ended.max_s, 1e-9) << "it was around all";
}

TEST(TimerTest, AnExceptionEndsARegion) {
  const std::uint64_t unmatched = drops().unmatched;
  try {
    HEADROOM_SCOPE("thrown");
    throw std::runtime_error("x");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(stats("thrown").count, 1);
  EXPECT_EQ(drops().unmatched, unmatched);
}

TEST(TimerTest, WrongEndsAreCountedAndHarmNothing) {
  const std::uint64_t before = drops().unmatched;
  const headroom_token token = headroom::begin("ended twice");
  headroom::end(token);
  headroom::end(token);
  EXPECT_EQ(drops().unmatched, before + 1);

  const headroom_token foreign = headroom::begin("foreign");
  std::thread([foreign] {
    headroom::end(foreign);  // This thread has timed nothing.
    HEADROOM_SCOPE("own");
    headroom::end(foreign);
  }).join();
  EXPECT_EQ(drops().unmatched, before + 3);
  headroom::end(foreign);
  EXPECT_EQ(stats("foreign").count, 1);

  headroom::end(0);  // The token of a region that was not begun.
  EXPECT_EQ(drops().unmatched, before + 3);
  const headroom_token open = headroom::begin("open");
  for (const headroom_token nonsense : {open & ~headroom_token{0x1ff}, open | 0x1ff, open ^ 1,
                                        ~headroom_token{0}, headroom_token{1}}) {
    headroom::end(nonsense);
  }
  EXPECT_EQ(drops().unmatched, before + 8);
  headroom::end(open);
  EXPECT_EQ(stats("open").count, 1);
}

TEST(TimerTest, AskingForAKeyDoesNotMakeIt) {
  Stats out;
  EXPECT_EQ(headroom_stats_of("never begun", &out), 0);
  EXPECT_EQ(out.count, 0);
  EXPECT_EQ(headroom_stats_of("never begun", &out), 0);
}

TEST(TimerTest, AllIsForQueries) {
  EXPECT_EQ(headroom::begin(keys::kAll), 0);
  EXPECT_EQ(headroom_key("ALL"), 0);
  const std::uint64_t before = stats(keys::kAll).count;
  { HEADROOM_SCOPE("one of all"); }
  { HEADROOM_SCOPE("another of all"); }
  EXPECT_EQ(stats(keys::kAll).count, before + 2);
}

TEST(TimerTest, NoKeyIsNoRegion) { EXPECT_EQ(headroom_begin(nullptr), 0); }

TEST(TimerTest, DisabledAtRunTime) {
  const headroom_token open = headroom::begin("open when disabled");
  enable(false);
  EXPECT_FALSE(enabled());
  { HEADROOM_SCOPE("disabled"); }
  EXPECT_EQ(headroom::begin("disabled"), 0);
  const Key made_while_disabled("disabled");
  headroom::end(open);
  enable(true);
  EXPECT_TRUE(enabled());
  EXPECT_EQ(stats("disabled").count, 0);
  EXPECT_EQ(stats("open when disabled").count, 1) << "what is open may still end";
  { HEADROOM_SCOPE("disabled"); }
  { const Scope scope(made_while_disabled); }
  EXPECT_EQ(stats("disabled").count, 2);
}

TEST(TimerTest, StatisticsOfThreadsThatEndedStay) {
  for (int i = 0; i < 20; ++i) {
    std::thread([] {
      for (int j = 0; j < 100; ++j) {
        HEADROOM_SCOPE("on threads");
      }
    }).join();
  }
  EXPECT_EQ(stats("on threads").count, 2000);
}

TEST(TimerTest, ReadingWhileThreadsTime) {
  constexpr int kThreads = 4, kRegions = 20'000;
  std::vector<std::thread> threads;
  std::atomic<int> running = kThreads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([i, &running] {
      const std::string own = "own " + std::to_string(i);
      for (int j = 0; j < kRegions; ++j) {
        HEADROOM_SCOPE("shared");
        const Scope scope(own);
        if (j % 1000 == 0) mark("mark");
      }
      --running;
    });
  }
  std::uint64_t last = 0;
  while (running > 0) {
    const Stats s = stats("shared");
    EXPECT_GE(s.count, last);
    if (s.count > 0) {
      EXPECT_GE(s.total_s, s.self_s);
      EXPECT_GE(s.max_s, s.min_s);
    }
    last = s.count;
    stats(keys::kAll);
    drops();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stats("shared").count, kThreads * kRegions);
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_EQ(stats("own " + std::to_string(i)).count, kRegions);
  }
}

TEST(TimerTest, ARegionInADestructorOfTheThread) {
  struct Late {
    ~Late() { HEADROOM_SCOPE("late"); }
  };
  std::thread([] {
    static thread_local pthread_key_t key;
    pthread_key_create(&key, [](void*) { HEADROOM_SCOPE("late"); });
    pthread_setspecific(key, &key);
    static thread_local Late late;
    (void)late;
    HEADROOM_SCOPE("early");
  }).join();
  EXPECT_EQ(stats("late").count, 2);
}

TEST(TimerTest, AThreadEndsAfterTheLibraryThatTimedItIsClosed) {
  EXPECT_EQ(InChild([] {
              std::thread([] {
                void* plugin = dlopen(TIMER_PLUGIN, RTLD_NOW | RTLD_LOCAL);
                if (plugin == nullptr) _exit(2);
                reinterpret_cast<void (*)()>(dlsym(plugin, "TimeInPlugin"))();
                dlclose(plugin);
              }).join();
              return 0;
            }),
            0);
}

TEST(TimerTest, AChildHasItsOwnStatistics) {
  static const Key known("known before the fork");
  { const Scope scope(known); }
  const headroom_token open = headroom::begin("open at the fork");
  const std::uint64_t before = stats("known before the fork").count;
  EXPECT_EQ(InChild([open] {
              if (stats("known before the fork").count != 0) return 1;
              { const Scope scope(known); }  // The number still names the same text.
              if (stats("known before the fork").count != 1) return 2;
              if (headroom_key("known before the fork") != known.number()) return 3;
              headroom::end(open);  // Regions of the parent.
              if (stats("open at the fork").count != 0) return 4;
              { HEADROOM_SCOPE("new in the child"); }
              if (stats("new in the child").count != 1) return 5;
              return InChild([] {  // Later regions also count.
                { const Scope scope(known); }
                return stats("known before the fork").count == 1 ? 0 : 6;
              });
            }),
            0);
  headroom::end(open);
  EXPECT_EQ(stats("known before the fork").count, before);
  EXPECT_EQ(stats("open at the fork").count, 1);
  EXPECT_EQ(stats("new in the child").count, 0);
}

// With sanitizers of GCC 12, a child inherits locks that other threads held in the allocator.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST(TimerTest, ForksWhileThreadsTime) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([i, &stop] {
      for (int j = 0; !stop; ++j) {
        const Scope scope("busy " + std::to_string(i) + " " + std::to_string(j % 100));
        stats("busy 0 0");
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(InChild([] {
                { HEADROOM_SCOPE("child of many"); }
                return stats("child of many").count == 1 ? 0 : 1;
              }),
              0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}
#endif

TEST(TimerTest, OffByTheEnvironment) {
  // Uses a child with a fresh start, because the parent has already read its environment.
  EXPECT_EQ(InChild([] {
              setenv("HEADROOM", "0", 1);
              if (headroom::begin("off") != 0 || enabled()) return 1;
              enable(true);  // The user's setting wins.
              if (headroom::begin("off") != 0 || enabled()) return 1;
              return stats("off").count == 0 ? 0 : 2;
            }),
            0);
}

TEST(TimerTest, DeeperThanTheStack) {
  const std::uint64_t before = drops().depth;
  std::vector<headroom_token> tokens;
  for (int i = 0; i < 300; ++i) tokens.push_back(headroom::begin("deep"));
  EXPECT_EQ(drops().depth, before + 300 - 256);
  while (!tokens.empty()) {
    headroom::end(tokens.back());
    tokens.pop_back();
  }
  EXPECT_EQ(stats("deep").count, 256);
  { HEADROOM_SCOPE("after the deep"); }
  EXPECT_EQ(stats("after the deep").count, 1);
}

TEST(TimerTest, MoreNamesThanFit) {
  EXPECT_EQ(InChild([] {
              for (int i = 0; i < 70'000; ++i)
                headroom::end(headroom::begin("name " + std::to_string(i)));
              const Drops now = drops();
              if (now.names < 4000 || now.names > 70'000 - 65'000) return 1;
              if (now.statistics < 49'000) return 2;
              if (stats("(too many names)").count != now.names) return 3;
              if (stats("name 1").count != 1) return 4;
              { HEADROOM_SCOPE("name 2"); }
              return stats("name 2").count == 2 ? 0 : 5;
            }),
            0);
  EXPECT_EQ(InChild([] {  // The text of names has a limit, too.
              std::string name(1 << 20, 'x');
              for (int i = 0; i < 20; ++i) {
                name[0] = static_cast<char>('a' + i);
                headroom::end(headroom::begin(name));
              }
              return drops().names >= 4 ? 0 : 1;
            }),
            0);
}

// --- headroom::Timer -----------------------------------------------------------------------------

/// Each reading is one second after the previous one. Lengths are read late.
struct CountingClock {
  int* time;
  int start() const { return ++*time; }
  int end() const { return ++*time; }
  double get_time(int start, int end) const { return end - start; }
};

TEST(MaelstromTimerTest, TimesByKey) {
  int time = 0;
  BasicTimer<CountingClock> timer(CountingClock{&time});
  timer.start("BATCH");     // 1
  timer.start("FORWARD");   // 2
  timer.end("FORWARD");     // 3
  timer.start("BACKWARD");  // 4
  timer.end("BATCH");       // 5: regions may overlap.
  timer.end("BACKWARD");    // 6
  timer.start("FORWARD");   // 7
  timer.start("FORWARD");   // 8: the key nests.
  timer.end("FORWARD");     // 9
  timer.end("FORWARD");     // 10
  EXPECT_EQ(timer.get_time("BATCH"), (std::vector<double>{4}));
  EXPECT_EQ(timer.get_time("FORWARD"), (std::vector<double>{1, 1, 3}));
  EXPECT_EQ(timer.get_time("ALL"), (std::vector<double>{4, 1, 1, 3, 2}));
  const TimeStats s = timer.get_time_stats("FORWARD");
  EXPECT_DOUBLE_EQ(s.min, 1);
  EXPECT_DOUBLE_EQ(s.median, 1);
  EXPECT_DOUBLE_EQ(s.max, 3);
  EXPECT_DOUBLE_EQ(s.mean, 5.0 / 3);
  EXPECT_NEAR(s.stdev, std::sqrt(4.0 / 3), 1e-12);
  const TimeStats all = timer.get_time_stats("ALL");
  EXPECT_NEAR(all.mean, 11.0 / 5, 1e-12);
  EXPECT_NEAR(all.stdev, std::sqrt(6.8 / 4), 1e-12);
  EXPECT_EQ(timer.ignored(), 0);
}

TEST(MaelstromTimerTest, TextHasTheLayoutThatItsUsersRead) {
  int time = 0;
  BasicTimer<CountingClock> timer(CountingClock{&time});
  timer.start("EPOCH");
  timer.start("OTHER");
  timer.end("OTHER");
  timer.end("EPOCH");
  const std::string expected =
      "EPOCH\nmin: 3.00000 mean: 3.00000 median: 3.00000 max: 3.00000 stdev: 0.00000\n"
      "OTHER\nmin: 1.00000 mean: 1.00000 median: 1.00000 max: 1.00000 stdev: 0.00000\n---\n";
  std::ostringstream out;
  timer.print_all_time_stats(out);
  EXPECT_EQ(out.str(), expected);

  char folder[] = "/tmp/headroom_test_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/stats.txt";
  EXPECT_FALSE(timer.save_all_time_stats(path));
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), expected);
  EXPECT_EQ(timer.save_all_time_stats(path), std::errc::file_exists);
  EXPECT_EQ(timer.save_all_time_stats(std::string(folder) + "/none/x"),
            std::errc::no_such_file_or_directory);
  unlink(path.c_str());
  rmdir(folder);
}

TEST(MaelstromTimerTest, OpenUnusedAndUnbalancedAreNoErrors) {
  Timer timer;
  timer.start("EPOCH");  // Stays open.
  timer.end("BATCH");
  timer.start("ALL");
  EXPECT_TRUE(timer.get_time("never used").empty());
  EXPECT_DOUBLE_EQ(timer.get_time_stats("never used").max, 0);
  timer.complete_all();
  std::ostringstream out;
  timer.print_all_time_stats(out);
  EXPECT_EQ(out.str(), "---\n");
  EXPECT_EQ(timer.ignored(), 2);
  timer.end("EPOCH");
  EXPECT_EQ(timer.get_time("EPOCH").size(), 1);
}

TEST(MaelstromTimerTest, IsARegionOfTheCollector) {
  Timer timer;
  timer.start("maelstrom");
  timer.end("maelstrom");
  EXPECT_EQ(stats("maelstrom").count, 1);
}

TEST(MaelstromTimerTest, MemoryIsBoundedAndStatisticsExact) {
  int time = 0;
  BasicTimer<CountingClock> timer(CountingClock{&time});
  for (int i = 0; i < 10'000; ++i) {
    timer.start("BATCH");
    if (i >= 5000) ++time;
    timer.end("BATCH");
  }
  EXPECT_EQ(timer.get_time("BATCH").size(), TimeTable::kKept);
  EXPECT_EQ(timer.get_time("BATCH").front(), 2) << "the latest";
  EXPECT_NEAR(timer.get_time_stats("BATCH").mean, 1.5, 1e-9);
  EXPECT_NEAR(timer.get_time_stats("BATCH").stdev, std::sqrt(2500.0 / 9999), 1e-9);
  for (int i = 0; i < 2000; ++i) timer.start("key " + std::to_string(i));
  EXPECT_EQ(timer.ignored(), 2000 - 1024 + 1);
}

TEST(MaelstromTimerTest, StartsThatNeverEndDoNotPileUp) {
  std::thread([] {  // Has its own stack.
    Timer timer;
    const std::uint64_t depth = drops().depth;
    constexpr int kStarts = 1000;
    for (int i = 0; i < kStarts; ++i) timer.start("left by exceptions");
    EXPECT_EQ(timer.ignored(), kStarts / Timer::kNested * Timer::kNested);
    EXPECT_EQ(drops().depth, depth) << "the thread's stack has room";
    EXPECT_EQ(stats("left by exceptions").count, 0) << "they have no lengths";
    timer.end("left by exceptions");
    EXPECT_EQ(stats("left by exceptions").count, 1);
    EXPECT_GT(stats("left by exceptions").total_s, 0);
    { HEADROOM_SCOPE("after them"); }
    EXPECT_EQ(stats("after them").count, 1);
  })
      .join();
}

TEST(MaelstromTimerTest, ThreadsHaveTheirOwnRegions) {
  Timer timer;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&timer] {
      for (int j = 0; j < 500; ++j) {
        timer.start("IO");
        timer.end("IO");
        if (j % 100 == 0) timer.get_time_stats("IO");
      }
    });
  }
  timer.start("IO");
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(timer.get_time("IO").size(), 2000);
  std::thread([&timer] { timer.end("IO"); }).join();
  EXPECT_EQ(timer.ignored(), 1) << "not begun by that thread";
  timer.end("IO");
  EXPECT_EQ(timer.get_time("IO").size(), 2001);
}

}  // namespace
}  // namespace headroom

// NOLINTEND(bugprone-lambda-function-name,performance-inefficient-vector-operation)
