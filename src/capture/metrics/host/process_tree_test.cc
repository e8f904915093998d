#include "capture/metrics/host/process_tree.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "capture/metrics/board/test_root.h"
#include "capture/metrics/host/process_scan.h"

namespace headroom {
namespace process_tree_test {

std::string StatLine(int pid, const std::string& name, int parent, int ticks, std::uint64_t start,
                     int child_ticks = 0) {
  return std::to_string(pid) + " (" + name + ") S " + std::to_string(parent) +
         " 1 1 0 -1 4194304 1 0 3 7 " + std::to_string(ticks) + " 0 0 " +
         std::to_string(child_ticks) + " 20 0 1 0 " + std::to_string(start) +
         " 1000000 100 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17\n";
}

// A name may contain its own terminator: "(a) b" is followed by a blank and a state.
TEST(ParseProcessStat, NamesMayHoldAnything) {
  const struct {
    const char* what;
    std::string name;
  } kCases[] = {{"plain", "python3"},
                {"blanks", "tmux: server"},
                {"a parenthesis", "a) R 1"},
                {"all of it", ") S 1 1 ("},
                {"a line break", "two\nlines"},
                {"empty", ""},
                {"bytes that are not text", "\xff\xfe"}};
  for (const auto& c : kCases) {
    const std::string line = StatLine(4711, c.name, 17, 42, 99, 8);
    const auto stat = ParseProcessStat(line);
    ASSERT_TRUE(stat) << c.what;
    EXPECT_EQ(stat->name, c.name) << c.what;
    EXPECT_EQ(stat->pid, 4711) << c.what;
    EXPECT_EQ(stat->parent, 17) << c.what;
    EXPECT_EQ(stat->major_faults, 3u) << c.what;
    EXPECT_EQ(stat->child_major_faults, 7u) << c.what;
    EXPECT_EQ(stat->user_ticks, 42u) << c.what;
    EXPECT_EQ(stat->child_system_ticks, 8u) << c.what;
    EXPECT_EQ(stat->threads, 1u) << c.what;
    EXPECT_EQ(stat->start_ticks, 99u) << c.what;
    EXPECT_EQ(stat->resident_pages, 100u) << c.what;
  }
  for (const char* text : {"", "1 (x", "1 x) S", ")(", "1 (x) S 1 2 3"})
    EXPECT_FALSE(ParseProcessStat(text)) << text;
}

TEST(ParseProcessFiles, OtherFiles) {
  const auto io = ParseProcessIo(
      "rchar: 7\nwchar: 8\nsyscr: 1\nsyscw: 1\nread_bytes: 9\nwrite_bytes: 10\n"
      "cancelled_write_bytes: 3\n");
  ASSERT_TRUE(io);
  EXPECT_EQ(io->read, 7u);
  EXPECT_EQ(io->disk_read, 9u);
  EXPECT_EQ(io->disk_written, 10u);
  EXPECT_FALSE(ParseProcessIo("rchar: 7\n"));
  EXPECT_EQ(ParseRunQueueWait("1144588 84607 2\n"), 84607u);
  EXPECT_EQ(ParseRunQueueWait("\n"), std::nullopt);
  EXPECT_EQ(CountInList("0-3,8"), 5u);
  EXPECT_EQ(CountInList("7"), 1u);
  EXPECT_EQ(CountInList("3-1"), std::nullopt);
  EXPECT_EQ(CountInList("0-"), std::nullopt);
  EXPECT_EQ(CountInList(""), std::nullopt);
}

TEST(ProcessTreeSource, FollowsChildrenAndTheirs) {
  const TestRoot root("processes");
  TestBoard board;
  ProcessTreeSource tree(root.path(), 10, board.board);
  board.Sample(tree);
  EXPECT_EQ(board.Value("process_tree_processes"), 3) << "from the lists of children";
  tree.Adopt(ScanProcesses(root.path(), board.buffer));
  board.Sample(tree);
  EXPECT_EQ(board.Value("process_tree_processes"), 4)
      << "a scan finds the one started by another thread";
  EXPECT_TRUE(tree.Contains(13));
  EXPECT_FALSE(tree.Contains(99));
  EXPECT_EQ(board.Value("process_tree_threads"), 7);
  EXPECT_EQ(board.Value("process_tree_rss_bytes"), 400.0 * static_cast<double>(getpagesize()));
  EXPECT_EQ(board.Value("process_allowed_cores"), 5);
  EXPECT_EQ(board.Value("process_tree_cpu_pct"), 0);
  EXPECT_TRUE(board.Has("process_cpu_pct", "10 python (train) x"));
}

// Not all kernels have 100 ticks per second.
TEST(ProcessTreeSource, CpuTimeIsInTicksOfTheSystem) {
  const TestRoot root("processes");
  TestBoard board;
  constexpr double kTicksPerSecond = 250;
  ProcessTreeSource tree(root.path(), 10, board.board, kTicksPerSecond);
  root.Write("proc/11/schedstat", "1 1000000 9\n");
  board.Sample(tree);
  EXPECT_DOUBLE_EQ(board.Total("process_tree_cpu_pct"), 3 * 150 / kTicksPerSecond);
  board.Sample(tree);
  root.Write("proc/11/stat", StatLine(11, "pt_data_worker", 10, 250, 10));
  root.Write("proc/11/schedstat", "1 3000000 9\n");
  board.Sample(tree);
  EXPECT_GT(board.Value("process_tree_cpu_pct"), 0);
  EXPECT_DOUBLE_EQ(board.Value("process_tree_cpu_pct"),
                   board.Value("process_cpu_pct", "11 pt_data_worker"));
  EXPECT_EQ(board.Value("process_cpu_pct", "12 pt_data_worker"), 0);
  // Compares the process's 100 ticks with the 2 ms that it waited in the same interval.
  EXPECT_NEAR(board.Value("process_cpu_pct", "11 pt_data_worker") /
                  board.Value("process_runqueue_wait_pct", "11 pt_data_worker"),
              100 / kTicksPerSecond / 2e-3, 1e-6);
}

TEST(ProcessTreeSource, ProcessesMayEndAndTheirNumbersComeAgain) {
  const TestRoot root("processes");
  TestBoard board;
  ProcessTreeSource tree(root.path(), 10, board.board);
  board.Sample(tree);
  root.Write("proc/10/task/10/children", "12 ");
  root.Remove("proc/11");
  root.Write("proc/12/stat", StatLine(12, "somebody else", 1, 100000, 777));
  board.Sample(tree);
  // Files of a real /proc fail once their process has exited. Here they stay open, and the start
  // time distinguishes the new process 12.
  EXPECT_FALSE(std::isinf(board.Value("process_tree_cpu_pct")));
  EXPECT_EQ(board.Value("process_tree_cpu_pct"), 0) << "the other process's 1,000 s do not count";
}

// A data loader starts new workers in each epoch.
TEST(ProcessTreeSource, MetricsOfProcessesThatEndedServeLaterOnes) {
  constexpr int kMaxWithMetrics = 64, kEpochs = 5, kWorkers = 32;
  const TestRoot root("processes");
  TestBoard board;
  ProcessTreeSource tree(root.path(), 10, board.board);
  const auto write = [&](int pid, int ticks, int start) {
    root.Write("proc/" + std::to_string(pid) + "/stat", StatLine(pid, "worker", 10, ticks, start));
  };
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    std::string children;
    for (int i = 0; i < kWorkers; ++i) {
      write(1000 * epoch + i, 100 * epoch, 1);
      children += std::to_string(1000 * epoch + i) + " ";
    }
    root.Write("proc/10/task/10/children", children);
    board.Sample(tree);
    board.Sample(tree);
    for (int i = 0; i < kWorkers; ++i) {
      const std::string instance = std::to_string(1000 * epoch + i) + " worker";
      EXPECT_TRUE(board.Missing("process_cpu_pct", instance)) << instance;
      EXPECT_GT(board.Value("process_rss_bytes", instance), 0) << instance;
      write(1000 * epoch + i, 0, 2);  // Another process: this one has ended.
    }
    root.Write("proc/10/task/10/children", "");
  }
  const std::vector<Metric>& metrics = board.board.metrics();
  EXPECT_LE(std::count_if(metrics.begin(), metrics.end(),
                          [](const Metric& metric) { return metric.name == "process_cpu_pct"; }),
            kMaxWithMetrics);
}

/// The tree of testdata/processes: process 10 and its children 11 and 12, each with 150 ticks.
class EndedChildren : public testing::Test {
 protected:
  EndedChildren() : tree_(root_.path(), 10, board_.board) {
    board_.Sample(tree_);
    before_ = board_.Total("process_tree_cpu_pct");
  }
  /// Writes the ticks of process 10 and of its ended children.
  void WriteParent(int ticks, int child_ticks) {
    root_.Write("proc/10/stat", StatLine(10, "python", 1, ticks, 10, child_ticks));
  }
  /// Ends process 11 by reusing its pid, because files of a fake /proc outlive their process.
  void End11() { root_.Write("proc/11/stat", StatLine(11, "another", 1, 0, 777)); }
  /// Returns the ticks that the tree counted since the last call.
  long Counted() {
    board_.Sample(tree_);
    const double total = board_.Total("process_tree_cpu_pct");
    return std::lround((total - std::exchange(before_, total)) *
                       static_cast<double>(sysconf(_SC_CLK_TCK)));
  }

  TestRoot root_{"processes"};
  TestBoard board_;
  ProcessTreeSource tree_;
  double before_ = 0;
};

TEST_F(EndedChildren, ThatWereNeverSeenCount) {
  WriteParent(150, 60);
  EXPECT_EQ(Counted(), 60);
  EXPECT_GT(board_.Value("process_tree_cpu_pct"), 0);
  EXPECT_EQ(Counted(), 0) << "once";
}

TEST_F(EndedChildren, ThatWereSeenCountBeyondWhatWasCounted) {
  End11();
  WriteParent(160, 250);
  EXPECT_EQ(Counted(), 10 + 100);
  EXPECT_EQ(Counted(), 0);
}

// Parents are read before their children, and a child may end in between.
TEST_F(EndedChildren, MayShowAtTheirParentsASampleLater) {
  End11();
  EXPECT_EQ(Counted(), 0);
  WriteParent(150, 250);
  EXPECT_EQ(Counted(), 100);
}

// If the parent ignores SIGCHLD, the kernel adds nothing to the parent's counters.
TEST_F(EndedChildren, MayBeHandedToNobody) {
  End11();
  EXPECT_EQ(Counted(), 0);
  EXPECT_EQ(Counted(), 0);
  WriteParent(150, 70);
  EXPECT_EQ(Counted(), 70) << "the ticks of others";
}

TEST_F(EndedChildren, HideNothingThatTheirParentTookItself) {
  End11();  // Its 150 ticks go to no process.
  WriteParent(190, 0);
  EXPECT_EQ(Counted(), 40);
  WriteParent(240, 0);
  EXPECT_EQ(Counted(), 50);
}

// Between two samples, process 13 ends and 12 collects its time. Then 12 ends, and 10 collects the
// time of 12 and 13.
TEST_F(EndedChildren, MayEndTogether) {
  tree_.Adopt(ScanProcesses(root_.path(), board_.buffer));
  EXPECT_EQ(Counted(), 0);
  ASSERT_TRUE(tree_.Contains(13));
  root_.Write("proc/13/stat", StatLine(13, "another", 1, 0, 777));
  root_.Write("proc/12/stat", StatLine(12, "another", 1, 0, 777));
  WriteParent(150, 150 + 150 + 5);
  EXPECT_EQ(Counted(), 5);
}

// The kernel adds a child's reads to its parent's.
TEST_F(EndedChildren, BytesAreNotCountedTwice) {
  const double before = board_.Total("process_tree_disk_read_bytes_per_s");
  End11();
  root_.Write("proc/10/io", "rchar: 2100\nwchar: 0\nread_bytes: 900\nwrite_bytes: 0\n");
  EXPECT_EQ(Counted(), 0);
  EXPECT_EQ(board_.Total("process_tree_disk_read_bytes_per_s") - before, 100);
}

TEST_F(EndedChildren, ANewProcessCountsFromItsBeginning) {
  const auto now = static_cast<std::uint64_t>(Seconds(ReadClock(CLOCK_BOOTTIME) - TimeNs()) *
                                              static_cast<double>(sysconf(_SC_CLK_TCK)));
  root_.Write("proc/20/stat", StatLine(20, "new", 10, 400, now + 1, 30));
  root_.Write("proc/21/stat", StatLine(21, "old, found late", 10, 5000, 99));
  root_.Write("proc/10/task/10/children", "11 12 20 21 ");
  EXPECT_EQ(Counted(), 400 + 30);
  root_.Write("proc/20/stat", StatLine(20, "new", 10, 401, now + 1, 30));
  root_.Write("proc/21/stat", StatLine(21, "old, found late", 10, 5002, 99));
  EXPECT_EQ(Counted(), 1 + 2);
}

/// Runs until this process has used `seconds` of CPU time.
void Burn(double seconds) {
  while (Seconds(ReadClock(CLOCK_PROCESS_CPUTIME_ID) - TimeNs()) < seconds) {
  }
}

TEST(ProcessTreeSource, CountsRealChildrenOnce) {
  TestBoard board;
  ProcessTreeSource tree("", getpid(), board.board);
  board.Sample(tree);
  const double before = board.Total("process_tree_cpu_pct");
  const auto own = [] { return Seconds(ReadClock(CLOCK_PROCESS_CPUTIME_ID) - TimeNs()); };
  const double own_before = own();
  for (const bool seen : {false, true}) {
    int to_child[2], to_parent[2];
    ASSERT_EQ(pipe(to_child), 0);
    ASSERT_EQ(pipe(to_parent), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    char byte = 0;
    if (child == 0) {
      Burn(0.2);
      if (write(to_parent[1], &byte, 1) == 1 && read(to_child[0], &byte, 1) == 1) _exit(0);
      _exit(1);
    }
    ASSERT_EQ(read(to_parent[0], &byte, 1), 1);
    if (seen) board.Sample(tree);
    ASSERT_EQ(write(to_child[1], &byte, 1), 1);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    for (const int end : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) close(end);
    board.Sample(tree);
  }
  EXPECT_NEAR(board.Total("process_tree_cpu_pct") - before - (own() - own_before), 0.4, 0.08);
}

TEST(ProcessTreeSource, AnUnreadableFileHarmsNoOther) {
  const TestRoot root("processes");
  root.Remove("proc/10/io");
  root.Remove("proc/11/io");
  root.Remove("proc/12/io");
  TestBoard board;
  ProcessTreeSource tree(root.path(), 10, board.board);
  for (int i = 0; i < 3; ++i) board.Sample(tree);
  EXPECT_TRUE(board.Missing("process_tree_read_bytes_per_s"));
  EXPECT_TRUE(board.Missing("process_disk_read_bytes_per_s", "11 pt_data_worker"));
  EXPECT_EQ(board.Value("process_tree_cpu_pct"), 0);
  EXPECT_EQ(board.Value("process_tree_runqueue_wait_pct"), 0);
}

TEST(ProcessScan, NamesForeignUsersOnly) {
  const TestRoot root("processes");
  TestBoard board;
  ProcessTreeSource tree(root.path(), 10, board.board);
  ProcessScan scan(root.path(), &tree);
  board.Sample(scan, /*edge=*/true);
  EXPECT_TRUE(board.board.reading().users.empty());
  root.Write("proc/11/stat", StatLine(11, "pt_data_worker", 10, 100000, 10));
  root.Write("proc/99/stat", StatLine(99, "miner )", 1, 100000, 10));
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  board.Sample(scan, /*edge=*/true);
  ASSERT_EQ(board.board.reading().users.size(), 1u);
  EXPECT_EQ(board.board.reading().users[0].pid, 99);
  EXPECT_EQ(board.board.reading().users[0].resource, "CPU");
  EXPECT_GT(board.board.reading().users[0].value, 100);
}

TEST(ProcessScan, CpuTimeIsInTicksOfTheSystem) {
  for (const double ticks_per_second : {100.0, 250.0}) {
    const TestRoot root("processes");
    TestBoard board;
    ProcessScan scan(root.path(), nullptr, ticks_per_second);
    const auto read = [&](TimeNs now) {
      SampleRun run{
          .board = board.board, .buffer = board.buffer, .now = now, .edge = true, .slow = true};
      scan.Read(run);
    };
    read(TimeNs(1'000'000'000));
    root.Write("proc/99/stat", StatLine(99, "miner", 1, 250, 10));
    read(TimeNs(2'000'000'000));
    ASSERT_EQ(board.board.reading().users.size(), 1u);
    EXPECT_DOUBLE_EQ(board.board.reading().users[0].value, 100 * 100 / ticks_per_second);
  }
}

}  // namespace process_tree_test
}  // namespace headroom
