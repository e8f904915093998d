#include "export/merged_trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/folder.h"
#include "ingest/open_trace.h"

namespace headroom {
namespace merged_trace_test {

/// Two ranks with first timestamps of 50 and 20 ns on their own clocks.
JobTraces TwoRanks() {
  JobTraces job;
  job.ranks.ranks.resize(2);
  for (std::size_t r = 0; r < 2; ++r) job.ranks.ranks[r].rank = static_cast<std::int64_t>(r);
  job.ranks.alignment.clocks.resize(2);
  job.ranks.alignment.clocks[1].root = 1;
  job.bases = {DurationNs(0), DurationNs(0)};
  job.firsts = {TimeNs(50), TimeNs(20)};
  return job;
}

TEST(ShiftAt, AnAlignedRankGoesByTheClockOfItsRoot) {
  JobTraces job = TwoRanks();
  job.bases = {DurationNs(1000), DurationNs(1300)};
  RankClock& clock = job.ranks.alignment.clocks[1];
  clock = {.aligned = true, .root = 0, .offset_ns = 200, .origin = {}, .uncertainty = {}};
  // Time 7 is 1307 in Unix time, 1107 on rank 0's clock, and 107 in rank 0's trace.
  EXPECT_EQ(TimeNs(7) + ShiftAt(job, 1, TimeNs(7)), TimeNs(107));
  EXPECT_EQ(ShiftAt(job, 0, TimeNs(7)), DurationNs(0));
}

TEST(ShiftAt, OthersGoByTheClocksOfTheirMachinesWhereBothTellTheirs) {
  JobTraces job = TwoRanks();
  EXPECT_EQ(ShiftAt(job, 1, TimeNs(7)), DurationNs(0));
  job.bases[1] = DurationNs(1300);
  EXPECT_EQ(ShiftAt(job, 1, TimeNs(7)), DurationNs(0)) << "from the same zero on";
  job.bases[0] = DurationNs(1000);
  EXPECT_EQ(ShiftAt(job, 1, TimeNs(7)), DurationNs(300));
}

// Ranks 1 and 2 share collectives with each other, but not with rank 0.
TEST(ShiftAt, RanksOfAnotherRootKeepTheirDistance) {
  JobTraces job = TwoRanks();
  job.ranks.ranks.emplace_back();
  job.ranks.alignment.clocks[1].aligned = true;
  job.ranks.alignment.clocks.push_back(
      {.aligned = true, .root = 1, .offset_ns = 200, .origin = {}, .uncertainty = {}});
  job.bases = {DurationNs(0), DurationNs(1300), DurationNs(1600)};
  // Time 7 of rank 2 is 1607 in Unix time, 1407 on rank 1's clock, and 107 in rank 1's trace.
  EXPECT_EQ(ShiftAt(job, 1, TimeNs(107)), DurationNs(0));
  EXPECT_EQ(TimeNs(7) + ShiftAt(job, 2, TimeNs(7)), TimeNs(107));
  job.bases[0] = DurationNs(1000);
  EXPECT_EQ(ShiftAt(job, 1, TimeNs(107)), DurationNs(300));
  EXPECT_EQ(TimeNs(7) + ShiftAt(job, 2, TimeNs(7)), TimeNs(407));
}

class WriteMergedTraceTest : public TestFolder {
 protected:
  /// Writes the trace of a rank whose operator begins at `us`.
  void AddRank(std::size_t rank, std::int64_t us, JobTraces& job) const {
    RankTimeline& timeline = job.ranks.ranks[rank];
    timeline.path = Path("rank" + std::to_string(rank) + ".json");
    std::ofstream(timeline.path) << R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm",)"
                                 << R"("pid":1,"tid":1,"ts":)" << us << R"(,"dur":5}]})";
  }
};

TEST_F(WriteMergedTraceTest, NoStampIsNegativeAndNoProcessIsShared) {
  JobTraces job = TwoRanks();
  AddRank(0, 50, job);
  AddRank(1, 20, job);
  // Rank 1's clock is 100 us ahead, so its operator is 80 us before the zero of rank 0.
  job.ranks.alignment.clocks[1] = {
      .aligned = true, .root = 0, .offset_ns = 100'000, .origin = {}, .uncertainty = {}};
  job.firsts = {TimeNs(50'000), TimeNs(20'000)};
  job.ranks.alignment.clocks[0].aligned = true;
  const Result<std::int64_t> events = WriteMergedTrace(job, Path("job.json"), {});
  ASSERT_TRUE(events.ok()) << events.status().message();
  const auto merged = OpenTrace(Path("job.json"), {});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  const auto& host = merged.value()->host_events;
  ASSERT_EQ(host.rows(), 2u);
  EXPECT_EQ(host.start[0], TimeNs(130'000));
  EXPECT_EQ(host.start[1], TimeNs(0));
  EXPECT_NE(host.thread[0], host.thread[1]);
}

TEST_F(WriteMergedTraceTest, LeavesNoFileWhereARankIsGone) {
  JobTraces job = TwoRanks();
  AddRank(0, 50, job);
  job.ranks.ranks[1].path = Path("gone.json");
  EXPECT_FALSE(WriteMergedTrace(job, Path("job.json"), {}).ok());
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_EQ(entry.path().filename(), "rank0.json");
    ++files;
  }
  EXPECT_EQ(files, 1u);
}

}  // namespace merged_trace_test
}  // namespace headroom
