#include "analysis/loop/regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "analysis/test_trace.h"

namespace headroom {
namespace regions_test {

std::vector<RegionRow> Table(const StoreBuilder& builder) {
  TestTrace trace(builder);
  return RegionTable(*trace.store, trace.names, trace.attribution);
}

const RegionRow& Row(const std::vector<RegionRow>& rows, std::string_view key) {
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const RegionRow& r) { return r.key == key; });
  EXPECT_NE(row, rows.end()) << key;
  static const RegionRow kNone;
  return row == rows.end() ? kNone : *row;
}

TEST(RegionTable, OwnTimeIsWithoutTheRegionsInside) {
  StoreBuilder b;
  b.Region("BATCH", kMain, 0, 100);
  b.Region("FORWARD", kMain, 10, 30);
  b.Op("aten::mm", kMain, 12, 20);  // Not a region, so it does not reduce self time.
  b.Annotation("loss", kMain, 15, 5);
  b.Region("BACKWARD", kMain, 50, 40);
  const std::vector<RegionRow> rows = Table(b);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].key, "BATCH") << "largest first";
  EXPECT_EQ(rows[0].total, Us(100));
  EXPECT_EQ(rows[0].self, Us(30));
  EXPECT_EQ(Row(rows, "FORWARD").self, Us(25));
  EXPECT_EQ(Row(rows, "loss").self, Us(5));
}

// Lightning's profiler adds up nested entries of one action, and so exceeds 100 %.
TEST(RegionTable, EntriesInsideEntriesOfTheSameNameCountOnce) {
  StoreBuilder b;
  b.Region("step", kMain, 0, 100);
  b.Region("other", kMain, 10, 60);
  b.Region("step", kMain, 20, 40);
  b.Region("step", kMain, 30, 10);
  const std::vector<RegionRow> rows = Table(b);
  const RegionRow& step = Row(rows, "step");
  EXPECT_EQ(step.count, 3);
  EXPECT_EQ(step.total, Us(100));
  EXPECT_EQ(step.self, Us(40 + 30 + 10));
  EXPECT_EQ(Row(rows, "other").self, Us(20));
  EXPECT_EQ(step.self + Row(rows, "other").self, Us(100));
}

// Counts like the timers; test_record.py compares them. Overlap belongs to the range that began
// last, so a key never has more than the elapsed time.
TEST(RegionTable, OverlapBelongsToTheLatestBegun) {
  StoreBuilder b;
  b.Region("a", kMain, 0, 10);
  b.Region("b", kMain, 5, 10);
  b.Region("c", kMain, 12, 1);
  b.Region("b", kMain, 14, 6);
  b.Region("a", kOtherThread, 0, 4);
  const std::vector<RegionRow> rows = Table(b);
  EXPECT_EQ(Row(rows, "a").total, Us(14));
  EXPECT_EQ(Row(rows, "a").self, Us(5 + 4));
  EXPECT_EQ(Row(rows, "b").total, Us(15)) << "5 to 20, of which 14 to 15 is in two entries";
  EXPECT_EQ(Row(rows, "b").self, Us(5 + 2 + 1 + 1 + 5));
  EXPECT_EQ(Row(rows, "c").self, Us(1));
}

// A range that ends while a later one is open does not resume.
TEST(RegionTable, WhatEndedBelowALaterOneIsOver) {
  StoreBuilder b;
  b.Region("outer", kMain, 0, 100);
  b.Region("middle", kMain, 10, 20);
  b.Region("late", kMain, 20, 40);
  const std::vector<RegionRow> rows = Table(b);
  EXPECT_EQ(Row(rows, "outer").self, Us(10 + 40));
  EXPECT_EQ(Row(rows, "middle").self, Us(10));
  EXPECT_EQ(Row(rows, "late").self, Us(40));
}

TEST(RegionTable, StepsAndLayersTakeTimeAsTheyDoFromTimers) {
  StoreBuilder b;
  b.Region("EPOCH", kMain, 0, 100);
  b.Region("layer::conv", kMain, 10, 20);
  // A framework recorded this range, not a timer.
  b.Annotation("Optimizer.step#SGD.step", kMain, 50, 10);
  const std::vector<RegionRow> rows = Table(b);
  EXPECT_EQ(Row(rows, "EPOCH").self, Us(80));
}

TEST(RegionTable, StatisticsOfSingleEntries) {
  StoreBuilder b;
  for (int i = 0; i < 4; ++i) b.Region("IO", kMain, i * 100, (i + 1) * 2);  // 2, 4, 6, 8 us.
  const RegionRow row = Table(b).at(0);
  EXPECT_EQ(row.min, Us(2));
  EXPECT_EQ(row.max, Us(8));
  EXPECT_EQ(row.mean, Us(5));
  EXPECT_EQ(row.p50, Us(4));
  EXPECT_EQ(row.p99, Us(8));
  EXPECT_EQ(row.stdev, DurationNs(2582)) << "sqrt(20 / 3) us";
  StoreBuilder one;
  one.Region("IO", kMain, 0, 7);
  EXPECT_EQ(Table(one).at(0).stdev, Us(0));
}

TEST(RegionTable, LeavesOutWhatNobodyMarked) {
  StoreBuilder b;
  b.Step(1, kMain, 0, 1000);
  b.Annotation("Optimizer.step#SGD.step", kMain, 10, 10);
  b.Annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", kMain, 30, 10);
  b.Annotation("nccl:all_reduce", kMain, 50, 10);
  b.Annotation("layer::conv1", kMain, 70, 10);
  b.Op("aten::mm", kMain, 90, 10);
  b.Frame("train.py(3): main", kMain, 0, 1000);
  EXPECT_TRUE(Table(b).empty());
}

struct GpuCase {
  const char* shows;
  void (*draw)(StoreBuilder&);
  std::optional<DurationNs> gpu;  ///< GPU time of the region "R".
};

const GpuCase kGpuCases[] = {
    {"no GPU work", [](StoreBuilder& b) { b.Region("R", kMain, 0, 50); }, std::nullopt},
    {"a task launched inside, wherever it runs",
     [](StoreBuilder& b) {
       b.Region("R", kMain, 0, 50);
       b.Launch("aten::mm", kMain, 10, kGemm, kStream, 200, 30);
     },
     Us(30)},
    {"nothing launched inside is zero, not unknown",
     [](StoreBuilder& b) {
       b.Region("R", kMain, 0, 5);
       b.Launch("aten::mm", kMain, 10, kGemm, kStream, 20, 30);
     },
     Us(0)},
    {"tasks of two streams that run at once count once",
     [](StoreBuilder& b) {
       b.Region("R", kMain, 0, 50);
       b.Launch("aten::mm", kMain, 10, kGemm, kStream, 100, 30);
       b.Launch("aten::mm", kMain, 20, kGemm, kSideStream, 120, 30);
     },
     Us(50)},
    {"the autograd engine works for the loop",
     [](StoreBuilder& b) {
       b.Step(0, kMain, 0, 100);
       b.Region("R", kMain, 0, 50);
       b.Op("autograd::engine::evaluate_function: MmBackward0", kAutograd, 10, 20);
       b.Annotation("hook", kAutograd, 11, 10);
       b.Launch("aten::mm", kAutograd, 12, kGemm, kStream, 100, 30);
     },
     Us(30)},
    {"a thread without ranges works for the loop",
     [](StoreBuilder& b) {
       b.Region("R", kMain, 0, 50);
       b.Call("cudaLaunchKernel", kOtherThread, 12, 2, 1);
       b.Kernel(kGemm, kStream, 100, 30, 1);
     },
     Us(30)},
    {"a thread with ranges of its own works for itself",
     [](StoreBuilder& b) {
       b.Step(0, kMain, 0, 100);
       b.Region("R", kMain, 0, 50);
       b.Launch("aten::mm", kMain, 60, kGemm, kStream, 70, 5);
       b.Region("copy ahead", kOtherThread, 0, 50);
       b.Call("cudaMemcpyAsync", kOtherThread, 12, 2, 1);
       b.Copy(CopyKind::kHostToDevice, kSideStream, 100, 30, 1);
     },
     Us(0)},
    {"a range of a thread that launches nothing is of no GPU work",
     [](StoreBuilder& b) {
       b.Step(0, kMain, 0, 100);
       b.Launch("aten::mm", kMain, 60, kGemm, kStream, 70, 5);
       b.Region("R", kOtherThread, 0, 50);
     },
     std::nullopt},
    {"what GPU events timed goes before tasks",
     [](StoreBuilder& b) {
       b.Region("R", kMain, 0, 50);
       b.Launch("aten::mm", kMain, 10, kGemm, kStream, 200, 30);
       b.GpuRegion("R", 195, 40);
     },
     Us(40)},
    {"GPU events need no tasks",
     [](StoreBuilder& b) {
       b.Region("R", kMain, 0, 50);
       b.Region("R", kMain, 60, 50);
       b.GpuRegion("R", 20, 40);
       b.GpuRegion("R", 80, 10);
       b.GpuRegion("of another name", 90, 100);
     },
     Us(50)},
};

TEST(RegionTable, GpuTime) {
  for (const GpuCase& c : kGpuCases) {
    SCOPED_TRACE(c.shows);
    StoreBuilder b;
    c.draw(b);
    EXPECT_EQ(Row(Table(b), "R").gpu, c.gpu);
  }
}

}  // namespace regions_test
}  // namespace headroom
