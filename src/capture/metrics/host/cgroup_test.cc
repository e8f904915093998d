#include "capture/metrics/host/cgroup.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/read_file.h"
#include "capture/metrics/board/test_root.h"
#include "capture/metrics/host/cgroup_source.h"
#include "capture/metrics/host/pressure.h"
#include "capture/metrics/host/rapl.h"

namespace headroom {
namespace cgroup_test {

Cgroups GroupsOf(const TestRoot& root) {
  const std::string proc = root.path() + "/proc/self/";
  return FindCgroups(*ReadFile(proc + "cgroup").value(), *ReadFile(proc + "mountinfo").value(),
                     root.path());
}

TEST(FindCgroups, Version1InAContainer) {
  const TestRoot root("linux-3.10-cgroup-v1");
  const Cgroups groups = GroupsOf(root);
  EXPECT_FALSE(groups.cpu.v2);
  EXPECT_EQ(groups.cpu.folders,
            std::vector<std::string>{root.path() + "/sys/fs/cgroup/cpu,cpuacct"})
      << "the mount shows the group itself";
  EXPECT_EQ(groups.cpu_usage.folders, groups.cpu.folders);
}

TEST(FindCgroups, Version2WithItsAncestors) {
  const TestRoot root("linux-5.15-cgroup-v2");
  const Cgroups groups = GroupsOf(root);
  const std::string top = root.path() + "/sys/fs/cgroup";
  EXPECT_TRUE(groups.memory.v2);
  EXPECT_EQ(
      groups.memory.folders,
      (std::vector<std::string>{top + "/kubepods.slice/pod1.slice/main.scope",
                                top + "/kubepods.slice/pod1.slice", top + "/kubepods.slice", top}));
}

TEST(FindCgroups, Hybrid) {
  const TestRoot root("linux-6.18-hybrid");
  const Cgroups groups = GroupsOf(root);
  const std::string top = root.path() + "/sys/fs/cgroup";
  EXPECT_FALSE(groups.memory.v2);
  EXPECT_EQ(
      groups.memory.folders,
      (std::vector<std::string>{top + "/memory/api/c6bf", top + "/memory/api", top + "/memory"}));
  EXPECT_EQ(groups.cpu.folders, std::vector<std::string>{top + "/cpu"});
}

TEST(FindCgroups, APathOutsideTheMountLeavesItsTop) {
  const TestRoot root("");
  root.Write("mnt/cg roup/cpu.max", "max 100000\n");
  const char* mounts = "30 23 0:26 /a /mnt/cg\\040roup rw - cgroup2 cgroup2 rw\n";
  const std::vector<std::string> top = {root.path() + "/mnt/cg roup"};
  for (const char* path : {"0::/../..\n", "0::/gone\n", "0::/a\n", "0::/\n", "0::/ab\n"})
    EXPECT_EQ(FindCgroups(path, mounts, root.path()).cpu.folders, top) << path;
  EXPECT_TRUE(FindCgroups("", mounts, root.path()).cpu.folders.empty());
  EXPECT_TRUE(FindCgroups("0::/\n", "", root.path()).cpu.folders.empty());
}

TEST(ParseMemoryLimit, UnlimitedIsNoNumber) {
  const struct {
    const char* text;
    std::optional<std::uint64_t> limit;
  } kCases[] = {{"max\n", std::nullopt},
                {"9223372036854771712\n", std::nullopt},  // 2^63 minus a page of 4 KiB.
                {"9223372036854710272\n", std::nullopt},  // 2^63 minus a page of 64 KiB.
                {"9223372036854775807\n", std::nullopt},
                {"18446744073709551615\n", std::nullopt},
                {"8589934592\n", 8589934592},
                {"0\n", 0},
                {"", std::nullopt}};
  for (const auto& c : kCases) EXPECT_EQ(ParseMemoryLimit(c.text), c.limit) << c.text;
}

TEST(CpuLimits, AreInCores) {
  EXPECT_EQ(ParseCpuMax("max 100000\n"), std::nullopt);
  EXPECT_EQ(ParseCpuMax("50000 100000\n"), 0.5);
  EXPECT_EQ(ParseCpuMax("50000"), std::nullopt);
  EXPECT_EQ(CpuQuota("-1\n", "100000\n"), std::nullopt);
  EXPECT_EQ(CpuQuota("150000\n", "100000\n"), 1.5);
  EXPECT_EQ(CpuQuota("150000\n", "0\n"), std::nullopt);
}

// wandb reads the limits of the leaf only, so it finds none in a pod with limits one level up.
TEST(CgroupSource, TheLeastLimitOfAllLevelsHolds) {
  const TestRoot root("linux-5.15-cgroup-v2");
  TestBoard board;
  CgroupSource group(GroupsOf(root), board.board);
  board.Sample(group);
  EXPECT_EQ(board.Value("cgroup_cpu_limit_cores"), 4);
  EXPECT_EQ(board.Value("cgroup_memory_limit_bytes"), 8589934592);
  EXPECT_EQ(board.Value("cgroup_memory_bytes"), 1e9);
  EXPECT_EQ(board.Value("cgroup_memory_free_bytes"), 8589934592 - 8e9)
      << "its siblings also use memory";
  EXPECT_EQ(board.Value("cgroup_oom_kills"), 1);
  EXPECT_EQ(board.Total("cgroup_disk_read_bytes_per_s"), 1459300);
  EXPECT_TRUE(board.Missing("cgroup_cpu_cores"));
  EXPECT_TRUE(board.Missing("cgroup_cpu_throttled_periods_pct"));

  const double used_before = board.Total("cgroup_cpu_cores");
  const std::string pod = "sys/fs/cgroup/kubepods.slice/pod1.slice/";
  root.Write(pod + "cpu.stat",
             "usage_usec 5500000\nnr_periods 110\nnr_throttled 24\nthrottled_usec 900000\n");
  root.Write(pod + "main.scope/cpu.stat",
             "usage_usec 4100000\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
  root.Write(pod + "main.scope/cpu.pressure",
             "some avg10=9.00 avg60=0.00 avg300=0.00 total=2200000\n");
  board.Sample(group);
  EXPECT_DOUBLE_EQ(board.Value("cgroup_cpu_throttled_periods_pct"), 40);
  // Rates over a few milliseconds would mainly depend on when the files are read.
  EXPECT_NEAR(board.Total("cgroup_cpu_throttled_cores"), 0.2, 1e-9) << "seconds throttled";
  EXPECT_NEAR(board.Total("cgroup_cpu_cores") - used_before, 0.1, 1e-9) << "seconds used";
  EXPECT_GT(board.Value("cgroup_cpu_throttled_cores"), board.Value("cgroup_cpu_cores"));
  EXPECT_GT(board.Value("cgroup_cpu_pressure_some_pct"), 0);
}

TEST(CgroupSource, Version1) {
  const TestRoot root("linux-3.10-cgroup-v1");
  TestBoard board;
  CgroupSource group(GroupsOf(root), board.board);
  board.Sample(group);
  EXPECT_EQ(board.Value("cgroup_cpu_limit_cores"), 1.5);
  EXPECT_TRUE(board.Missing("cgroup_memory_limit_bytes")) << "no limit means missing";
  EXPECT_EQ(board.Value("cgroup_memory_bytes"), 1073741824);
  EXPECT_DOUBLE_EQ(board.Total("cgroup_cpu_cores"), 30) << "seconds";
  EXPECT_TRUE(board.Missing("cgroup_oom_kills")) << "this kernel does not count them";
  EXPECT_EQ(board.Total("cgroup_disk_written_bytes_per_s"), 8192);
  root.Write("sys/fs/cgroup/cpu,cpuacct/cpu.stat",
             "nr_periods 104\nnr_throttled 11\nthrottled_time 5400000000\n");
  board.Sample(group);
  EXPECT_DOUBLE_EQ(board.Value("cgroup_cpu_throttled_periods_pct"), 25);
  EXPECT_GT(board.Value("cgroup_cpu_throttled_cores"), 0);
}

TEST(CgroupSource, HybridTakesTheTightestLevel) {
  const TestRoot root("linux-6.18-hybrid");
  TestBoard board;
  CgroupSource group(GroupsOf(root), board.board);
  board.Sample(group);
  EXPECT_EQ(board.Value("cgroup_memory_bytes"), 65236992);
  EXPECT_EQ(board.Value("cgroup_memory_limit_bytes"), 2e9);
  EXPECT_EQ(board.Value("cgroup_memory_free_bytes"), 1.5e9);
  EXPECT_TRUE(board.Missing("cgroup_cpu_limit_cores"));
}

TEST(PressureSource, TakesRatesOfTheTotals) {
  const TestRoot root("linux-5.15-cgroup-v2");
  TestBoard board;
  PressureSource pressure = PressureSource::OfHost(root.path(), board.board);
  board.Sample(pressure);
  EXPECT_TRUE(board.Missing("io_pressure_full_pct"));
  EXPECT_FALSE(board.Has("cpu_pressure_full_pct"));
  root.Write("proc/pressure/io",
             "some avg10=99.00 avg60=0.00 avg300=0.00 total=1002000\n"
             "full avg10=99.00 avg60=0.00 avg300=0.00 total=401000\n");
  board.Sample(pressure);
  EXPECT_NEAR(board.Value("io_pressure_some_pct"), 2 * board.Value("io_pressure_full_pct"), 1e-6);
  EXPECT_EQ(board.Value("memory_pressure_some_pct"), 0);
  const TestRoot old("linux-3.10-cgroup-v1");
  TestBoard none;
  PressureSource::OfHost(old.path(), none.board);
  EXPECT_TRUE(none.board.metrics().empty());
}

// The energy counter of a package wraps after a few minutes.
TEST(RaplSource, CountsAcrossAWrapOfItsCounter) {
  const TestRoot root("linux-5.15-cgroup-v2");
  TestBoard board;
  RaplSource rapl(root.path(), board.board);
  ASSERT_TRUE(board.Has("cpu_power_w", "package-0"));
  ASSERT_TRUE(board.Has("cpu_power_w", "package-0 dram"));
  EXPECT_EQ(board.board.metrics().size(), 2u) << "intel-rapl-mmio counts the same energy again";
  board.Sample(rapl);
  EXPECT_TRUE(board.Missing("cpu_power_w", "package-0"));
  const double before = board.Total("cpu_power_w", "package-0");
  root.Write("sys/class/powercap/intel-rapl:0/energy_uj", "671150\n");
  root.Write("sys/class/powercap/intel-rapl:0:0/energy_uj", "2000000\n");
  board.Sample(rapl);
  // 328,850 uJ to the end plus 671,150 uJ from the start are 1 J.
  EXPECT_NEAR(board.Total("cpu_power_w", "package-0") - before, 1, 1e-9);
  EXPECT_GT(board.Value("cpu_power_w", "package-0"), 0);
}

}  // namespace cgroup_test
}  // namespace headroom
