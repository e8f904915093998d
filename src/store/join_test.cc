#include "store/join.h"

#include <gtest/gtest.h>

#include <vector>

#include "store/store_builder.h"

namespace headroom {
namespace join_test {

constexpr std::int64_t kMain = 1, kStream = 7;

/// Returns a recording of one step that starts at `at`. `other_device_first` uses another device
/// before the stream of device 0.
std::unique_ptr<TraceStore> Recording(std::int64_t step, std::int64_t at, const char* pid = "10",
                                      bool other_device_first = false) {
  StoreBuilder b;
  if (other_device_first) b.Kernel("other", 9, at, 1).Device(1);
  b.InProcess(pid).Step(step, kMain, at, 100);
  b.Call("cudaLaunchKernel", kMain, at + 10, 2, step);
  b.Kernel("gemm", kStream, at + 20, 50, step);
  return b.Build();
}

std::vector<std::unique_ptr<TraceStore>> Parts(std::unique_ptr<TraceStore> a,
                                               std::unique_ptr<TraceStore> b) {
  std::vector<std::unique_ptr<TraceStore>> parts;
  parts.push_back(std::move(a));
  parts.push_back(std::move(b));
  return parts;
}

TEST(JoinRecordings, HoldsTheEventsOfAll) {
  const auto parts = Parts(Recording(3, 0), Recording(13, 5000, "10", true));
  EXPECT_EQ(WhyNotOneProcess(parts), "");
  const std::unique_ptr<TraceStore> joined = JoinRecordings(parts);
  ASSERT_EQ(joined->steps.rows(), 2u);
  EXPECT_EQ(joined->steps.index[1], 13);
  EXPECT_EQ(joined->steps.start[1], TimeNs(5'000'000));
  EXPECT_EQ(joined->processes.rows(), parts[0]->processes.rows()) << "the same process";
  ASSERT_EQ(joined->gpu_tasks.rows(), 3u);
  EXPECT_EQ(joined->devices.rows(), 2u);
  EXPECT_EQ(joined->gpu_tasks.stream[0], joined->gpu_tasks.stream[2]) << "the same stream of GPU 0";
  EXPECT_NE(joined->gpu_tasks.stream[1], joined->gpu_tasks.stream[2]);
  EXPECT_TRUE(joined->gpu_tasks.launch[2].valid());
  EXPECT_EQ(joined->metadata.events, parts[0]->metadata.events + parts[1]->metadata.events);
}

TEST(JoinRecordings, TakesClocksToThatOfTheFirst) {
  auto parts = Parts(Recording(0, 0), Recording(1, 0));
  parts[0]->metadata.base_time_ns = 1'000'000;
  parts[1]->metadata.base_time_ns = 3'000'000;
  EXPECT_EQ(WhyNotOneProcess(parts), "");
  EXPECT_EQ(JoinRecordings(parts)->steps.start[1], TimeNs(2'000'000));
  EXPECT_EQ(BeginOf(*parts[1]), TimeNs(3'000'000));
}

TEST(JoinRecordings, AreOfOneProcessAndDoNotOverlap) {
  EXPECT_EQ(WhyNotOneProcess(Parts(Recording(0, 0), Recording(1, 50))), "they overlap in time");
  EXPECT_EQ(WhyNotOneProcess(Parts(Recording(0, 0), Recording(1, 5000, "11"))),
            "their events belong to different processes");
}

}  // namespace join_test
}  // namespace headroom
