#include "capture/metrics/host/disk.h"

#include <gtest/gtest.h>

#include "capture/metrics/board/test_root.h"
#include "capture/metrics/host/memory.h"

namespace headroom {
namespace disk_test {

TEST(ParseDiskStats, ReadsOldAndNewLines) {
  std::vector<DiskLine> disks;
  ParseDiskStats(
      "   8       0 sda 1000 10 80000 500 2000 20 160000 900 0 700 1400\n"
      " 259 0 nvme0n1 5 0 6 9 7 0 8 90 0 990 990 10 0 80 5 3 1\n"
      "   8       1 sda1 900 70000 1900 150000\n"  // Format before 2.6.25.
      "garbage\n\n",
      disks);
  ASSERT_EQ(disks.size(), 2u);
  EXPECT_EQ(disks[0].name, "sda");
  EXPECT_EQ(disks[0].counters.sectors_written, 160000u);
  EXPECT_EQ(disks[1].counters.reads, 5u);
  EXPECT_EQ(disks[1].counters.busy_ms, 990u);
}

TEST(DiskSource, SumsWholeDisksOnly) {
  const TestRoot old("linux-3.10-cgroup-v1");
  TestBoard board;
  DiskSource disks(old.path(), board.board);
  board.Sample(disks);
  EXPECT_TRUE(board.Missing("disk_iops"));
  EXPECT_EQ(board.Total("disk_iops"), 3000) << "sda; not sda1, dm-0, ram0";
  EXPECT_EQ(board.Total("disk_throughput_read"), 80000.0 * 512);
  EXPECT_TRUE(board.Has("disk_busy_pct", "sda"));
  EXPECT_FALSE(board.Has("disk_busy_pct", "sda1"));
}

TEST(DiskSource, KnowsADiskWithASlashInItsName) {
  const TestRoot root("linux-5.15-cgroup-v2");
  TestBoard board;
  DiskSource disks(root.path(), board.board);
  board.Sample(disks);
  EXPECT_EQ(board.Total("disk_iops"), 5100 + 30) << "nvme0n1 and cciss/c0d0";
  EXPECT_TRUE(board.Has("disk_busy_pct", "cciss/c0d0"));
}

TEST(DiskSource, ADiskThatComesOrStartsAgainMakesNoPeak) {
  const TestRoot root("linux-6.18-hybrid");
  TestBoard board;
  DiskSource disks(root.path(), board.board);
  board.Sample(disks);
  const std::string vda = " 254 0 vda 56000 100 4400000 9000 7000 300 900000 8000 0 9000 17000\n";
  root.Write("sys/block/vdb/device/vendor", "x");
  root.Write("proc/diskstats", vda + " 254 16 vdb 900000 0 9000000 0 0 0 0 0 0 0 0\n");
  board.Sample(disks);
  EXPECT_EQ(board.Value("disk_iops"), 0);
  EXPECT_EQ(board.Value("disk_busy_pct", "vda"), 0);
  root.Write("proc/diskstats", vda + " 254 16 vdb 1 0 8 0 0 0 0 0 0 0 0\n");
  board.Sample(disks);
  EXPECT_TRUE(board.Missing("disk_iops")) << "a counter went backwards";
  EXPECT_TRUE(board.Missing("disk_throughput_read"));
  EXPECT_EQ(board.Value("disk_throughput_write"), 0) << "another counter did not";
}

TEST(DiskSource, BetweenLooksAtAllDisksEachIsAskedByItself) {
  const TestRoot root("");
  root.Write("sys/block/sda/device/vendor", "x");
  root.Write("sys/block/sda/stat", "    110 0  2100 0 20 0 340 0 0 5 0 0 0 0 0\n");
  root.Write("proc/diskstats",
             "8 0 sda 100 0 2000 0 20 0 300 0 0 5 0\n7 0 loop0 9 0 9 0 9 0 9 0 0 9 0\n");
  TestBoard board;
  DiskSource disks(root.path(), board.board);
  board.Sample(disks);
  board.Sample(disks, /*edge=*/false, /*slow=*/false);
  EXPECT_EQ(board.Total("disk_iops"), 130);
  EXPECT_EQ(board.Total("disk_throughput_read"), 2100.0 * 512);
  EXPECT_EQ(board.Total("disk_throughput_write"), 340.0 * 512);
  EXPECT_GT(board.Value("disk_iops"), 0);
  EXPECT_EQ(board.Value("disk_busy_pct", "sda"), 0);

  root.Write("sys/block/sda/stat", "");  // A disk disappears, but the other file still lists it.
  board.Sample(disks, /*edge=*/false, /*slow=*/false);
  EXPECT_TRUE(board.Missing("disk_iops")) << "100 + 20 after 110 + 20";
  EXPECT_FALSE(board.Has("disk_busy_pct", "loop0"));
}

TEST(DiskSource, ManyDisksAreReadFromOneFile) {
  const TestRoot root("");
  std::string all;
  for (const std::string name : {"sda", "sdb", "sdc", "sdd", "sde"}) {
    root.Write("sys/block/" + name + "/device/vendor", "x");
    root.Write("sys/block/" + name + "/stat", "999 0 999 0 999 0 999 0 0 9 0\n");
    all += "8 0 " + name + " 1 0 1 0 1 0 1 0 0 1 0\n";
  }
  root.Write("proc/diskstats", all);
  TestBoard board;
  DiskSource disks(root.path(), board.board);
  board.Sample(disks);
  board.Sample(disks, /*edge=*/false, /*slow=*/false);
  EXPECT_EQ(board.Value("disk_iops"), 0);
  EXPECT_EQ(board.Total("disk_iops"), 10);
}

TEST(DiskSource, TheTimeInIoWrapsAt32Bits) {
  const TestRoot root("");
  root.Write("sys/block/sda/device/vendor", "x");
  root.Write("proc/diskstats", "8 0 sda 1 0 1 0 1 0 1 0 0 4294967295 0\n");
  TestBoard board;
  DiskSource disks(root.path(), board.board);
  board.Sample(disks);
  root.Write("proc/diskstats", "8 0 sda 1 0 1 0 1 0 1 0 0 0 0\n");  // 1 ms later.
  board.Sample(disks);
  EXPECT_GT(board.Value("disk_busy_pct", "sda"), 0);
  EXPECT_LE(board.Value("disk_busy_pct", "sda"), 100);
  root.Write("proc/diskstats", "8 0 sda 1 0 1 0 1 0 1 0 0 3000000000 0\n");
  board.Sample(disks);
  EXPECT_TRUE(board.Missing("disk_busy_pct", "sda")) << "weeks of work in 2 ms";
}

TEST(DiskSource, WithoutADiskAllIsMissing) {
  const TestRoot root("");
  root.Write("proc/diskstats", "7 0 loop0 1 0 1 0 1 0 1 0 0 1 0\n");
  TestBoard board;
  DiskSource disks(root.path(), board.board);
  board.Sample(disks);
  board.Sample(disks);
  EXPECT_TRUE(board.Missing("disk_iops"));
}

TEST(MemorySource, AvailableIsNotGuessedWhereTheKernelDoesNotTell) {
  TestBoard board;
  const TestRoot old("linux-3.10-cgroup-v1");
  MemorySource memory(old.path(), board.board);
  board.Sample(memory);
  EXPECT_TRUE(board.Missing("free_memory"));
  EXPECT_EQ(board.Value("memory_total_bytes"), 16264904.0 * 1024);
  EXPECT_EQ(board.Value("memory_dirty_bytes"), 128.0 * 1024);
  EXPECT_EQ(board.Value("memory_cached_bytes"), (4066226.0 + 2048) * 1024);

  TestBoard newer;
  const TestRoot root("linux-5.15-cgroup-v2");
  MemorySource source(root.path(), newer.board);
  newer.Sample(source);
  EXPECT_EQ(newer.Value("free_memory"), 950000000.0 * 1024);
}

}  // namespace disk_test
}  // namespace headroom
