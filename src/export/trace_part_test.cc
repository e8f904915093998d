#include "export/trace_part.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/store_builder.h"

namespace headroom {
namespace trace_part_test {

constexpr std::int64_t kMain = 1, kStream = 7;

Interval Us(std::int64_t from, std::int64_t to) { return {TimeNs(1000 * from), TimeNs(1000 * to)}; }

std::vector<std::string> HostNames(const TraceStore& store) {
  std::vector<std::string> names;
  for (const StringId name : store.host_events.name.values()) names.emplace_back(store.Text(name));
  return names;
}

TEST(TracePart, KeepsWhatOverlapsWhole) {
  StoreBuilder b;
  b.Op("before", kMain, 0, 10);
  b.Op("across", kMain, 15, 10);
  b.Op("inside", kMain, 30, 5);
  b.Op("at the end", kMain, 40, 5);
  const auto part = PartOf(*b.Build(), {.window = Us(20, 40), .rank = {}});
  EXPECT_EQ(HostNames(*part), (std::vector<std::string>{"across", "inside"}));
  EXPECT_EQ(part->host_events.duration[0], DurationNs(10'000));
}

TEST(TracePart, LaunchAndTaskStayTogether) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 10, "gemm", kStream, 100, 30);
  b.Launch("aten::add", kMain, 20, "add", kStream, 140, 10);
  const auto of_task = PartOf(*b.Build(), {.window = Us(100, 110), .rank = {}});
  EXPECT_EQ(HostNames(*of_task), (std::vector<std::string>{"aten::mm", "cudaLaunchKernel"}));
  ASSERT_EQ(of_task->gpu_tasks.rows(), 1u);
  EXPECT_TRUE(of_task->gpu_tasks.launch[0].valid());
  const auto of_launch = PartOf(*b.Build(), {.window = Us(20, 22), .rank = {}});
  ASSERT_EQ(of_launch->gpu_tasks.rows(), 2u);
  EXPECT_EQ(of_launch->Text(of_launch->gpu_tasks.name[1]), "add");
}

// Without the queued tasks of a host that is ahead, the GPU would seem idle until the kept task
// begins.
TEST(TracePart, TheQueueBeforeATaskThatIsKeptStays) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 10, "ended before", kStream, 12, 5);
  b.Launch("aten::mm", kMain, 11, "queued", kStream, 100, 30);
  b.Launch("aten::add", kMain, 20, "own", kStream, 140, 10);
  b.Launch("aten::add", kMain, 30, "launched later", kStream, 135, 5);
  const auto part = PartOf(*b.Build(), {.window = Us(20, 22), .rank = {}});
  ASSERT_EQ(part->gpu_tasks.rows(), 2u);
  EXPECT_EQ(part->Text(part->gpu_tasks.name[0]), "queued");
  EXPECT_EQ(part->Text(part->gpu_tasks.name[1]), "own");
}

TEST(TracePart, OfACounterTheLastSampleBeforeIsKept) {
  StoreBuilder b;
  for (int t = 0; t < 50; t += 10) b.Counter("load", "cpu", "%", t, t);
  b.Op("work", kMain, 0, 60);
  const auto part = PartOf(*b.Build(), {.window = Us(25, 35), .rank = {}});
  ASSERT_EQ(part->counters.rows(), 2u);
  EXPECT_EQ(part->counters.value[0], 20);
  EXPECT_EQ(part->counters.value[1], 30);
}

TEST(TracePart, AStepThatDoesNotOverlapIsNone) {
  StoreBuilder b;
  b.Step(1, kMain, 0, 50);
  b.Launch("aten::mm", kMain, 10, "gemm", kStream, 60, 30);
  b.Step(2, kMain, 50, 50);
  const auto part = PartOf(*b.Build(), {.window = Us(55, 100), .rank = {}});
  ASSERT_EQ(part->steps.rows(), 1u);
  EXPECT_EQ(part->steps.index[0], 2);
  EXPECT_EQ(part->gpu_tasks.rows(), 1u);
}

TEST(TracePart, OfNoRankThatItHoldsThereIsNothing) {
  StoreBuilder b;
  b.Op("work", kMain, 0, 10);
  const auto store = b.Build();
  EXPECT_TRUE(RanksOfProcesses(*store).empty());
  EXPECT_FALSE(HasProcessesOfRank(*store, 0));
}

}  // namespace trace_part_test
}  // namespace headroom
