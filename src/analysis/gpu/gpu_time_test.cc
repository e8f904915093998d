#include "analysis/gpu/gpu_time.h"

#include "analysis/test_trace.h"

namespace headroom {
namespace gpu_time_test {

std::vector<GpuTimeRow> GpuTimeOf(const StoreBuilder& builder) {
  TestTrace trace(builder);
  return ComputeGpuTime(*trace.store, CollectDeviceWork(*trace.store, trace.names));
}

TEST(GpuTime, SplitsBusyTimeIntoComputeAndWhatComputeDoesNotHide) {
  StoreBuilder b;
  b.Kernel(kGemm, kStream, 0, 100);
  b.Kernel(kAllReduce, kSideStream, 80, 60);  // 20 us hidden, 40 us exposed.
  // Communication hides 10 us of this copy, and 20 us are exposed.
  b.Copy(CopyKind::kHostToDevice, kStream, 130, 30);
  b.Copy(CopyKind::kDeviceToHost, kSideStream, 50, 10);  // Hidden by compute.
  b.Kernel(kAdd, kStream, 200, 50);
  const std::vector<GpuTimeRow> rows = GpuTimeOf(b);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].span, Us(250));
  EXPECT_EQ(rows[0].busy, Us(210));
  EXPECT_EQ(rows[0].idle, Us(40));
  EXPECT_EQ(rows[0].compute, Us(150));
  EXPECT_EQ(rows[0].communication, Us(60));
  EXPECT_EQ(rows[0].memory, Us(40));
  EXPECT_EQ(rows[0].exposed_communication, Us(40));
  EXPECT_EQ(rows[0].exposed_memory, Us(20));
  EXPECT_EQ(rows[0].busy, rows[0].compute + rows[0].exposed_communication + rows[0].exposed_memory);
  ASSERT_TRUE(rows[0].overlap_communication_pct);
  EXPECT_NEAR(*rows[0].overlap_communication_pct, 100.0 * 20 / 60, 1e-9);
}

TEST(GpuTime, CountsTasksThatOverlapOnceAndTouchingOnesAsNeighbours) {
  StoreBuilder b;
  b.Kernel("a", kStream, 0, 10);
  b.Kernel("a", kStream, 0, 10);
  b.Kernel("a", kSideStream, 5, 10);
  b.Kernel("b", kStream, 15, 5);
  b.Kernel("empty", kStream, 40, 0);
  const std::vector<GpuTimeRow> rows = GpuTimeOf(b);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].busy, Us(20));
  EXPECT_EQ(rows[0].span, Us(40)) << "a task of no length still ends the span";
  EXPECT_FALSE(rows[0].overlap_communication_pct) << "no communication: no share of it";
}

TEST(GpuTime, HasARowPerDeviceThatWorkedOverTheSpanOfAll) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200").NameDevice(1, "NVIDIA H200").NameDevice(2, "NVIDIA H200");
  b.Kernel(kGemm, kStream, 50, 50).Device(2);
  b.Kernel(kGemm, kStream, 0, 10).Device(0);
  const std::vector<GpuTimeRow> rows = GpuTimeOf(b);
  ASSERT_EQ(rows.size(), 2u) << "device 1 ran nothing";
  EXPECT_EQ(rows[0].device, 0);
  EXPECT_EQ(rows[1].device, 2);
  for (const GpuTimeRow& row : rows) EXPECT_EQ(row.span, Us(100));
  EXPECT_EQ(rows[0].idle, Us(90));
  EXPECT_EQ(rows[1].idle, Us(50));
}

TEST(GpuTime, HidesCommunicationOnlyBehindComputeOfTheSameDevice) {
  StoreBuilder b;
  b.Kernel(kAllReduce, kStream, 0, 10).Device(0);
  b.Kernel(kGemm, kStream, 0, 10).Device(1);
  EXPECT_EQ(GpuTimeOf(b)[0].exposed_communication, Us(10));
}

TEST(GpuTime, IsEmptyWithoutTasks) {
  EXPECT_TRUE(GpuTimeOf(StoreBuilder()).empty());
  EXPECT_TRUE(ComputeIdle(*StoreBuilder().Build()).empty());
}

TEST(GpuTime, SurvivesDurationsOfCenturies) {
  StoreBuilder b;
  b.InNanoseconds();
  for (int i = 0; i < 8; ++i)
    b.Kernel(kGemm, i, -(std::int64_t{1} << 61), std::int64_t{1} << 61).Device(i);
  const TraceReport report = AnalyzeTrace(b);
  EXPECT_EQ(report.gpu_time.size(), 8u);
}

struct IdleCase {
  const char* name;
  std::optional<std::int64_t>
      launch_us;  ///< Launch time of the kernel that starts at 100; empty for an orphan.
  std::int64_t host_us, kernel_us, other_us;
};

// One kernel runs from 0 to 40, the next starts at 100.
const IdleCase kIdleCases[] = {
    {"launched after the gap began: the host was late", 60, 60, 0, 0},
    {"launched one microsecond into the gap", 41, 60, 0, 0},
    {"launched just when the gap began: it waited on the GPU", 40, 0, 60, 0},
    {"launched long before", 5, 0, 60, 0},
    {"launch not recorded", std::nullopt, 0, 0, 60},
};

TEST(Idle, IsNamedByWhenTheNextTaskWasLaunched) {
  for (const IdleCase& c : kIdleCases) {
    StoreBuilder b;
    b.Call("cudaLaunchKernel", kMain, -5, 1, 1);
    b.Kernel(kGemm, kStream, 0, 40, 1);
    if (c.launch_us) b.Call("cudaLaunchKernel", kMain, *c.launch_us, 1, 2);
    b.Kernel(kGemm, kStream, 100, 10, 2);
    const std::vector<IdleRow> rows = ComputeIdle(*b.Build());
    ASSERT_EQ(rows.size(), 1u) << c.name;
    EXPECT_EQ(rows[0].host_wait, Us(c.host_us)) << c.name;
    EXPECT_EQ(rows[0].kernel_wait, Us(c.kernel_us)) << c.name;
    EXPECT_EQ(rows[0].other, Us(c.other_us)) << c.name;
  }
}

TEST(Idle, BeginsAtTheLatestEndOfAllEarlierTasksOfTheStream) {
  StoreBuilder b;
  b.Kernel("long", kStream, 0, 100);
  b.Kernel("inside", kStream, 10, 20);
  b.Kernel("next", kStream, 130, 10);
  b.Kernel("elsewhere", kSideStream, 105, 5);
  const std::vector<IdleRow> rows = ComputeIdle(*b.Build());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].stream, kStream);
  EXPECT_EQ(rows[0].other, Us(30)) << "work of another stream does not fill a gap of this one";
  EXPECT_EQ(rows[1].other, Us(0));
}

TEST(Idle, RowsComeByDeviceAndStreamNumber) {
  StoreBuilder b;
  b.Kernel("k", 9, 0, 1).Device(1);
  b.Kernel("k", 8, 1, 1).Device(1);
  b.Kernel("k", 30, 2, 1).Device(0);
  std::vector<std::pair<std::int64_t, std::int64_t>> keys;
  for (const IdleRow& row : ComputeIdle(*b.Build())) keys.emplace_back(*row.device, *row.stream);
  EXPECT_EQ(keys, (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 30}, {1, 8}, {1, 9}}));
}

}  // namespace gpu_time_test
}  // namespace headroom
