#include "analysis/loop/memory_use.h"

#include <map>
#include <numeric>
#include <string>

#include "analysis/test_trace.h"

namespace headroom {
namespace memory_use_test {

constexpr std::int64_t kPeakReserved = 4096;

// Adds one step. A batch is copied. Forward allocates an activation and a temporary, backward a
// gradient and a temporary. The first update allocates optimizer state. 1000 bytes existed before.
// Addresses count from 1.
void AddStep(StoreBuilder& b, std::int64_t at, std::int64_t base, bool first) {
  const std::int64_t step = at / 1000 + 1;
  b.Step(step, kMain, at, 1000);
  b.Op("aten::_to_copy", kMain, at + 10, 30);
  b.Op("aten::empty_strided", kMain, at + 12, 4);
  b.Memory(kMain, at + 13, 1, 64, base + 64, 2048);
  b.Op("aten::copy_", kMain, at + 20, 15);
  b.Call("cudaMemcpyAsync", kMain, at + 22, 5, /*correlation=*/step);
  b.Copy(CopyKind::kHostToDevice, kStream, at + 30, 5, step);

  b.Op("aten::mm", kMain, at + 100, 20).Sequence(step * 10);
  b.Op("aten::empty", kMain, at + 101, 3);
  b.Memory(kMain, at + 102, 2, 400, base + 464, 2048);
  b.Op("aten::relu", kMain, at + 130, 20).Sequence(step * 10 + 1);
  b.Memory(kMain, at + 135, 3, 200, base + 664, 2048);
  b.Memory(kMain, at + 160, 3, -200, base + 464, 2048);

  b.Op("MmBackward0", kAutograd, at + 300, 100).Sequence(step * 10).ForwardThread(1);
  b.Memory(kAutograd, at + 310, 4, 500, base + 964, kPeakReserved);
  b.Memory(kAutograd, at + 320, 5, 300, base + 1264, kPeakReserved);
  b.Memory(kAutograd, at + 350, 5, -300, base + 964, kPeakReserved);
  b.Memory(kAutograd, at + 360, 2, -400, base + 564, kPeakReserved);

  b.Annotation("Optimizer.step#SGD.step", kMain, at + 600, 100);
  std::int64_t after = base + 564;
  if (first) b.Memory(kMain, at + 610, 6, 500, after += 500, kPeakReserved);
  b.Annotation("Optimizer.zero_grad#SGD.zero_grad", kMain, at + 800, 50);
  b.Memory(kMain, at + 810, 4, -500, after -= 500, kPeakReserved);
  b.Memory(kMain, at + 820, 1, -64, after - 64, kPeakReserved);
}

MemoryUse UseOf(const StoreBuilder& b) {
  const TraceReport report = AnalyzeTrace(b);
  EXPECT_EQ(report.memory.size(), 1u);
  return report.memory.empty() ? MemoryUse() : report.memory.front();
}

std::map<std::string, std::int64_t> BytesByKind(const MemoryUse& use) {
  std::map<std::string, std::int64_t> bytes;
  for (const MemoryPart& part : use.parts) bytes[part.kind] = part.bytes;
  return bytes;
}

TEST(MemoryUse, TellsWhatThePeakIsFor) {
  StoreBuilder b;
  AddStep(b, 0, 1000, /*first=*/true);
  AddStep(b, 1000, 1500, /*first=*/false);
  const MemoryUse use = UseOf(b);
  EXPECT_EQ(use.device, 0);
  EXPECT_EQ(use.allocations, 11);
  EXPECT_EQ(use.frees, 10);
  EXPECT_EQ(use.turnover_bytes, 2 * 1464 + 500);
  EXPECT_EQ(use.first_bytes, 1000);
  EXPECT_EQ(use.last_bytes, 1500);
  EXPECT_EQ(use.peak.allocated_bytes, 2764);
  EXPECT_EQ(use.peak.time, AtUs(1320));
  EXPECT_EQ(use.peak_step, 2);
  EXPECT_EQ(use.peak.reserved_bytes, kPeakReserved);
  EXPECT_EQ(use.most_reserved_bytes, kPeakReserved);
  const std::map<std::string, std::int64_t> expected = {
      {"before_recording", 1000}, {"optimizer_state", 500}, {"gradient", 500},
      {"activation", 400},        {"temporary", 300},       {"input", 64}};
  EXPECT_EQ(BytesByKind(use), expected);
  EXPECT_EQ(use.parts.front().kind, "before_recording");
  EXPECT_EQ(use.parts.front().allocations, 0);
}

TEST(MemoryUse, NamesTheOperatorThatHoldsIt) {
  StoreBuilder b;
  AddStep(b, 0, 1000, /*first=*/true);
  const MemoryUse use = UseOf(b);
  ASSERT_GE(use.holders.size(), 3u);
  EXPECT_EQ(use.holders[0].operator_name, "MmBackward0");
  EXPECT_EQ(use.holders[0].kind, "gradient");
  // aten::empty inside aten::mm allocated it.
  EXPECT_EQ(use.holders[1].operator_name, "aten::mm");
  EXPECT_EQ(use.holders[1].bytes, 400);
  EXPECT_EQ(use.holders.back().operator_name, "aten::_to_copy");
}

TEST(MemoryUse, PartsSumToTheAllocatedAtEveryMoment) {
  StoreBuilder b;
  AddStep(b, 0, 1000, /*first=*/true);
  AddStep(b, 1000, 1500, /*first=*/false);
  const MemoryUse use = UseOf(b);
  ASSERT_GE(use.curve.size(), 10u);
  for (std::size_t i = 0; i < use.curve.size(); ++i) {
    const MemoryMoment& moment = use.curve[i];
    EXPECT_EQ(std::accumulate(moment.parts.begin(), moment.parts.end(), std::int64_t{0}),
              moment.allocated_bytes);
    if (i > 0) {
      EXPECT_GT(moment.time, use.curve[i - 1].time);
    }
  }
}

TEST(MemoryUse, GrowsByWhatStepsLeaveBehind) {
  StoreBuilder b;
  for (std::int64_t i = 0; i < 4; ++i) {
    b.Step(i, kMain, i * 100, 90);
    b.Op("aten::mm", kMain, i * 100 + 10, 20);
    b.Memory(kMain, i * 100 + 15, i + 1, 32, 500 + 32 * (i + 1));
  }
  const MemoryUse use = UseOf(b);
  ASSERT_EQ(use.steps.size(), 4u);
  EXPECT_EQ(use.steps[0].end_bytes, 532);
  EXPECT_EQ(use.steps[3].peak_bytes, 628);
  EXPECT_EQ(use.growth_bytes_per_step, 32);
  // Without a backward pass, no memory is kept for it.
  EXPECT_EQ(BytesByKind(use).count("activation"), 0u);
}

TEST(MemoryUse, SeesAnInferenceThatKeepsItsActivations) {
  StoreBuilder b;
  b.Frame("nn.Module: Model_0", kMain, 0, 100);
  b.Op("aten::mm", kMain, 10, 20);
  b.Memory(kMain, 15, 1, 400, 400);
  b.Memory(kMain, 16, 2, 100, 500);
  b.Op("aten::relu", kMain, 40, 20);
  b.Memory(kMain, 45, 2, -100, 400);
  b.Memory(kMain, 110, 1, -400, 0);
  const std::map<std::string, std::int64_t> expected = {{"activation", 400}, {"temporary", 100}};
  EXPECT_EQ(BytesByKind(UseOf(b)), expected);
}

TEST(MemoryUse, CountsWhatWasFreedUnseenAsTheOldest) {
  StoreBuilder b;
  b.Op("aten::mm", kMain, 0, 100);
  b.Memory(kMain, 10, 1, 100, 100);
  b.Memory(kMain, 20, 2, 50, 150);
  b.Memory(kMain, 30, 3, 10, 60);    // 100 bytes disappeared.
  b.Memory(kMain, 40, 3, 200, 260);  // Ends the allocation of 10 bytes at this address.
  const MemoryUse use = UseOf(b);
  EXPECT_EQ(use.peak.allocated_bytes, 260);
  EXPECT_EQ(use.last_bytes, 260);
  std::int64_t sum = 0;
  for (const MemoryPart& part : use.parts) sum += part.bytes;
  EXPECT_EQ(sum, 260);
}

TEST(MemoryUse, SumsWhereTheProfilerTellsNoTotals) {
  StoreBuilder b;
  b.Op("aten::mm", kMain, 0, 100);
  b.Memory(kMain, 10, 1, 100, kUnknown);
  b.Memory(kMain, 20, 2, 50, kUnknown);
  b.Memory(kMain, 30, 1, -100, kUnknown);
  const MemoryUse use = UseOf(b);
  EXPECT_EQ(use.peak.allocated_bytes, 150);
  EXPECT_EQ(use.first_bytes, 0);
  EXPECT_EQ(use.last_bytes, 50);
  EXPECT_EQ(use.most_reserved_bytes, std::nullopt);
}

TEST(MemoryUse, StandsImpossibleFigures) {
  StoreBuilder b;
  b.Op("aten::mm", kMain, 0, 100);
  for (std::int64_t i = 0; i < 20; ++i) b.Memory(kMain, i, i, INT64_MAX, INT64_MAX);
  for (std::int64_t i = 20; i < 9000; ++i)
    b.Memory(kMain, i, i, std::int64_t{1} << 50, i % 2 == 0 ? INT64_MAX : kUnknown);
  const MemoryUse use = UseOf(b);
  EXPECT_LE(use.peak.allocated_bytes, std::int64_t{1} << 50);
  EXPECT_GT(use.turnover_bytes, 0);
}

TEST(MemoryUse, TellsProcessesOfOneDeviceApart) {
  StoreBuilder b;
  b.InProcess("7").Op("aten::mm", kMain, 0, 100);
  b.Memory(kMain, 10, 1, 100, 100);
  b.InProcess("8").Op("aten::mm", kMain, 0, 100);
  b.Memory(kMain, 10, 1, 50, 50);
  const TraceReport report = AnalyzeTrace(b);
  ASSERT_EQ(report.memory.size(), 2u);
  EXPECT_EQ(report.memory[0].process, "7");
  EXPECT_EQ(report.memory[0].peak.allocated_bytes, 100);
  EXPECT_EQ(report.memory[1].process, "8");
  EXPECT_EQ(report.memory[1].peak.allocated_bytes, 50);
}

TEST(MemoryUse, HasNoRowForAStepWithoutRecords) {
  StoreBuilder b;
  for (std::int64_t i = 0; i < 5; ++i) {
    b.Step(i, kMain, i * 100, 90);
    b.Op("aten::mm", kMain, i * 100 + 10, 20);
  }
  b.Memory(kMain, 15, 1, 32, 32);
  b.Memory(kMain, 415, 2, 32, 64);
  const MemoryUse use = UseOf(b);
  ASSERT_EQ(use.steps.size(), 2u);
  EXPECT_EQ(use.steps[1].index, 4);
  EXPECT_EQ(use.growth_bytes_per_step, 0);  // Growth per step: 0, 0, 0 and 32 bytes.
}

TEST(MemoryUse, OfManyDevicesKeepsThoseWithTheMostRecords) {
  StoreBuilder b;
  for (int process = 100; process < 170; ++process) {
    b.InProcess(std::to_string(process)).Memory(kMain, 10, 1, 8, 8);
    if (process == 169) b.Memory(kMain, 20, 2, 8, 16);
  }
  const TraceReport report = AnalyzeTrace(b);
  ASSERT_EQ(report.memory.size(), 64u);
  EXPECT_EQ(report.memory.front().process, "100");
  EXPECT_EQ(report.memory.back().process, "169");
}

TEST(MemoryUse, IsEmptyWithoutRecords) {
  StoreBuilder b;
  b.Op("aten::mm", kMain, 0, 100);
  EXPECT_TRUE(AnalyzeTrace(b).memory.empty());
}

}  // namespace memory_use_test
}  // namespace headroom
