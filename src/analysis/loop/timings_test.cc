#include "analysis/loop/timings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "analysis/test_trace.h"

namespace headroom {
namespace timings_test {

std::map<std::string, TimingRow> ByName(const TraceReport& report) {
  std::map<std::string, TimingRow> rows;
  for (const TimingRow& row : report.timings) rows[row.name] = row;
  return rows;
}

/// Returns the sum over the rows that are inside no other.
DurationNs Sum(const TraceReport& report) {
  DurationNs sum;
  for (const TimingRow& row : report.timings) {
    if (row.inside.empty()) sum += row.total;
  }
  return sum;
}

/// Adds Determined's timings of a step of 1000 us that begins at `at`.
void DrawDetermined(StoreBuilder& b, std::int64_t at) {
  b.Region("dataloader_next", kMain, at, 100);
  b.Region("to_device", kMain, at + 100, 50);
  b.Region("train_batch", kMain, at + 150, 600);
  b.Region("train_batch.backward", kMain, at + 400, 200);
  b.Region("train_batch.sync_optimizers", kMain, at + 600, 30);
  b.Region("optimizer_step", kMain, at + 640, 100);
  b.Region("step_lr_schedulers", kMain, at + 750, 10);
  b.Region("from_device", kMain, at + 760, 20);
  b.Region("reduce_metrics", kMain, at + 780, 20);
  b.Region("callbacks.Logger.on_batch_end", kMain, at + 800, 150);
}

TEST(TimingTable, RowsOfDeterminedAddUpToTheSteps) {
  StoreBuilder b;
  for (int i = 0; i < 3; ++i) {
    b.Step(i, kMain, i * 1000, 1000);
    DrawDetermined(b, i * 1000);
  }
  const TraceReport report = AnalyzeTrace(b);
  std::map<std::string, TimingRow> rows = ByName(report);
  EXPECT_EQ(rows["dataloader_next"].total, Us(300));
  EXPECT_EQ(rows["dataloader_next"].count, 3);
  EXPECT_EQ(rows["dataloader_next"].mean, Us(100));
  EXPECT_EQ(rows["dataloader_next"].share_pct, 10);
  EXPECT_EQ(rows["to_device"].total, Us(150));
  EXPECT_EQ(rows["train_batch"].total, Us(1800));
  EXPECT_EQ(rows["train_batch"].source, "ranges");
  EXPECT_EQ(rows["train_batch.backward"].total, Us(600));
  EXPECT_EQ(rows["train_batch.backward"].inside, "train_batch");
  EXPECT_EQ(rows["train_batch.sync_optimizers"].total, Us(90));
  EXPECT_EQ(rows["train_batch.optimizer"].total, Us(300));
  EXPECT_EQ(rows["step_lr_schedulers"].total, Us(30));
  EXPECT_EQ(rows["from_device"].total, Us(60));
  EXPECT_EQ(rows["reduce_metrics"].total, Us(60));
  EXPECT_EQ(rows["callbacks"].total, Us(450));
  EXPECT_EQ(rows["other"].total, Us(150));
  EXPECT_EQ(Sum(report), Us(3000));
  EXPECT_EQ(rows.count("train_batch.forward"), 0u) << "nothing was recorded of it";
  EXPECT_EQ(rows["other"].gpu, std::nullopt);
}

TEST(TimingTable, AMomentCountsOnce) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 1000);
  b.Region("train_batch", kMain, 0, 800);
  b.Region("callbacks.Logger.on_backward", kMain, 100, 200);  // Inside train_batch.
  b.Region("dataloader_next", kMain, 150, 50);                // Inside the callback.
  std::map<std::string, TimingRow> rows = ByName(AnalyzeTrace(b));
  EXPECT_EQ(rows["train_batch"].total, Us(600));
  EXPECT_EQ(rows["callbacks"].total + rows["dataloader_next"].total, Us(200));
  EXPECT_EQ(rows["other"].total, Us(200));
}

TEST(TimingTable, OperatorsAndCopiesTellWhatNoRangeDoes) {
  StoreBuilder b;
  for (int i = 0; i < 2; ++i) {
    const int at = i * 1000;
    b.Step(i, kMain, at, 1000);
    b.Op("aten::to", kMain, at + 10, 40);
    b.Call("cudaMemcpyAsync", kMain, at + 20, 10, 100 + i);
    b.Copy(CopyKind::kHostToDevice, kStream, at + 25, 30, 100 + i);
    b.Op("aten::linear", kMain, at + 100, 200).Sequence(i);
    b.Launch("aten::mm", kMain, at + 110, kGemm, kStream, at + 120, 300);
    b.Op("autograd::engine::evaluate_function: MmBackward0", kAutograd, at + 320, 300);
    b.Launch("aten::mm", kAutograd, at + 330, kGemm, kStream, at + 430, 250);
    b.Annotation("Optimizer.step#SGD.step", kMain, at + 700, 100);
    b.Launch("aten::add_", kMain, at + 710, kAdd, kStream, at + 720, 40);
  }
  const TraceReport report = AnalyzeTrace(b);
  std::map<std::string, TimingRow> rows = ByName(report);
  EXPECT_EQ(rows["to_device"].total, Us(80)) << "the operator around the copy";
  EXPECT_EQ(rows["to_device"].source, "calls");
  EXPECT_EQ(rows["to_device"].gpu, Us(60));
  EXPECT_EQ(rows["train_batch"].source, "its parts");
  EXPECT_EQ(rows["train_batch.forward"].gpu, Us(600));
  EXPECT_EQ(rows["train_batch.backward"].total, Us(600));
  EXPECT_EQ(rows["train_batch.backward"].source, "operators");
  EXPECT_EQ(rows["train_batch.backward"].gpu, Us(500));
  EXPECT_EQ(rows["train_batch.optimizer"].gpu, Us(80));
  EXPECT_EQ(rows["train_batch"].gpu, Us(600 + 500 + 80));
  EXPECT_EQ(Sum(report), Us(2000));
}

TEST(TimingTable, GpuEventsTellWithoutTasks) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 1000);
  b.Region("train_batch.backward", kMain, 100, 50);
  b.GpuRegion("train_batch.backward", 120, 400);
  std::map<std::string, TimingRow> rows = ByName(AnalyzeTrace(b));
  EXPECT_EQ(rows["train_batch.backward"].gpu, Us(400));
  EXPECT_EQ(rows["train_batch"].gpu, std::nullopt);
}

TEST(TimingTable, StepsAloneSayNothing) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 1000);
  EXPECT_TRUE(AnalyzeTrace(b).timings.empty());
  EXPECT_TRUE(AnalyzeTrace(StoreBuilder()).timings.empty());
}

TEST(InputWait, GpuEventsAroundTheLoader) {
  StoreBuilder b;
  for (int i = 0; i < 4; ++i) {
    b.Step(i, kMain, i * 1000, 1000);
    b.Region("IO", kMain, i * 1000, 300);
    b.Annotation("enumerate(DataLoader)#iter", kMain, i * 1000 + 10, 280);  // The same wait.
  }
  b.GpuRegion("input_wait", 100, 100);  // Two of the four pairs are missing.
  b.GpuRegion("input_wait", 1100, 140);
  const std::optional<InputWait> wait = AnalyzeTrace(b).input_wait;
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->source, "gpu-events");
  EXPECT_EQ(wait->batches, 2);
  EXPECT_EQ(wait->host, Us(300));
  EXPECT_EQ(wait->exposed, Us(120));
  EXPECT_EQ(wait->hidden, Us(180));
}

TEST(InputWait, GpuTasksHideIt) {
  StoreBuilder b;
  for (int i = 0; i < 2; ++i) {
    const int at = i * 1000;
    b.Step(i, kMain, at, 1000);
    b.Launch("aten::mm", kMain, at + 10, kGemm, kStream, at + 20, 580);
    b.Annotation("enumerate(DataLoader)#iter", kMain, at + 500, 400);
  }
  const std::optional<InputWait> wait = AnalyzeTrace(b).input_wait;
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->source, "gpu-tasks");
  EXPECT_EQ(wait->batches, 2);
  EXPECT_EQ(wait->host, Us(400));
  EXPECT_EQ(wait->exposed, Us(300));
  EXPECT_EQ(wait->hidden, Us(100));
}

TEST(InputWait, NothingToldItIsNull) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 1000);
  b.Region("IO", kMain, 0, 300);
  EXPECT_FALSE(AnalyzeTrace(b).input_wait) << "no GPU";
  StoreBuilder without_loader;
  without_loader.Step(0, kMain, 0, 1000);
  without_loader.Launch("aten::mm", kMain, 10, kGemm, kStream, 20, 580);
  EXPECT_FALSE(AnalyzeTrace(without_loader).input_wait);
}

}  // namespace timings_test
}  // namespace headroom
