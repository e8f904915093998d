#include "capture/metrics/host/cpu.h"

#include <gtest/gtest.h>

#include "capture/metrics/board/test_root.h"

namespace headroom {
namespace cpu_test {

TEST(SharesBetween, CountsAsPsutilDoes) {
  const CpuTimes last{.user = 100, .idle = 100};
  CpuTimes now = last;
  now.user += 20;
  now.nice += 5;
  now.system += 10;
  now.irq += 2;
  now.softirq += 3;
  now.steal += 10;
  now.iowait += 20;
  now.idle += 30;
  const auto shares = SharesBetween(last, now);
  ASSERT_TRUE(shares);
  EXPECT_DOUBLE_EQ(shares->busy, 50) << "waiting for I/O is not busy";
  EXPECT_DOUBLE_EQ(shares->user, 25);
  EXPECT_DOUBLE_EQ(shares->system, 15);
  EXPECT_DOUBLE_EQ(shares->iowait, 20);
  EXPECT_DOUBLE_EQ(shares->steal, 10);
}

TEST(SharesBetween, IdleTimeMayGoBackwardsBusyTimeMayNot) {
  const CpuTimes last{.user = 100, .idle = 100, .iowait = 50};
  CpuTimes now = last;
  now.user += 10;
  now.idle += 10;
  now.iowait -= 5;
  EXPECT_DOUBLE_EQ(SharesBetween(last, now)->busy, 50);
  now.user = 99;
  EXPECT_FALSE(SharesBetween(last, now));
  EXPECT_FALSE(SharesBetween(last, last)) << "no time passed: unknown, not 0";
}

TEST(ParseProcStat, ReadsShortLinesAndSurvivesNonsense) {
  ProcStat stat;
  ParseProcStat("cpu 1 2 3 4\ncpu0 1 2 3\ncpufreq 1 2 3 4\ncpu7 1 2 3 4 x\nctxt\nprocs_running y",
                stat);
  ASSERT_TRUE(stat.all);
  EXPECT_EQ(stat.all->idle, 4u);
  EXPECT_EQ(stat.all->iowait, 0u);
  ASSERT_EQ(stat.cores.size(), 1u);
  EXPECT_EQ(stat.cores[0].id, 7);
  EXPECT_FALSE(stat.context_switches);
  EXPECT_FALSE(stat.running);
  ParseProcStat("", stat);
  EXPECT_FALSE(stat.all);
}

// dynolog assumed core numbers without gaps, and read the wrong counters after a gap.
TEST(CpuSource, CoreNumbersMayHaveGapsAndCoresMayComeAndGo) {
  const TestRoot root("linux-5.15-cgroup-v2");
  TestBoard board;
  CpuSource cpu(root.path(), board.board);
  board.Sample(cpu);
  EXPECT_TRUE(board.Missing("cpu_util_simple"));
  EXPECT_EQ(board.Value("tasks_running"), 3);
  EXPECT_EQ(board.Value("tasks_blocked"), 2);
  // Core 1 goes offline, core 26 comes online, core 207 is always busy, and the others are idle.
  std::string cores;
  int count = 0;
  for (int id = 2; id < 208; ++id) {
    if (id % 26 == 0 && id != 26) continue;
    ++count;
    cores += "cpu" + std::to_string(id) +
             (id == 207  ? " 200 0 50 800 50 0 0 0 0 0\n"
              : id == 26 ? " 9999 0 0 0 0 0 0 0 0 0\n"
                         : " 100 0 50 900 50 0 0 0 0 0\n");
  }
  EXPECT_EQ(count, 200);
  root.Write("proc/stat", "cpu  20100 0 10000 179900 10000 0 0 0 0 0\n" + cores);
  board.Sample(cpu);
  EXPECT_DOUBLE_EQ(board.Value("cpu_util_simple"), 0.5);
  EXPECT_DOUBLE_EQ(board.Value("cpu_busiest_core_pct"), 100);
}

TEST(CpuSource, ReadsEveryKernel) {
  for (const char* kernel : {"linux-3.10-cgroup-v1", "linux-5.15-cgroup-v2", "linux-6.18-hybrid"}) {
    const TestRoot root(kernel);
    TestBoard board;
    CpuSource cpu(root.path(), board.board);
    board.Sample(cpu);
    EXPECT_FALSE(board.Missing("tasks_running")) << kernel;
    EXPECT_GT(board.Total("context_switches_per_s"), 0) << kernel;
  }
}

}  // namespace cpu_test
}  // namespace headroom
