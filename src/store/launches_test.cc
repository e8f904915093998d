// Tests launches of several processes in one file. trace_store_test.cc covers a single process.
#include "store/launches.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "store/store_builder.h"

namespace headroom {
namespace launches_test {

/// Returns "task<process of its launch" for every task, in order of start.
std::string LaunchingProcesses(const StoreBuilder& builder) {
  const std::unique_ptr<TraceStore> store = builder.Build();
  std::string out;
  for (std::size_t i = 0; i < store->gpu_tasks.rows(); ++i) {
    const HostEventId launch = store->gpu_tasks.launch[i];
    const ThreadId thread = store->host_events.thread[launch.index()];
    out += fmt::format(
        "{}{}<{}", i == 0 ? "" : " ", store->Text(store->gpu_tasks.name[i]),
        store->Text(store->processes.pid[store->threads.process[thread.index()].index()]));
  }
  return out;
}

/// Two ranks that count their calls from 1. Rank a starts at time 0, and b starts 1 us later. Each
/// task starts 10 us after its launch, so times alone would assign all tasks to b.
class TwoRanks : public testing::Test {
 protected:
  void Launch(const char* process, int device, int stream, int correlation, int at) {
    builder_.InProcess(process).Call("cudaLaunchKernel", 1, at, 1, correlation);
    builder_.Kernel(process, stream, at + 10, 2, correlation).Device(device);
  }
  StoreBuilder builder_;
};

TEST_F(TwoRanks, ATaskIsLaunchedByTheOwnerOfItsStream) {
  Launch("a", 0, 7, 1, 0);
  Launch("b", 0, 20, 1, 1);
  Launch("a", 0, 7, 2, 100);
  Launch("b", 0, 20, 3, 101);
  EXPECT_EQ(LaunchingProcesses(builder_), "a<a b<b a<a b<b");
}

TEST_F(TwoRanks, AStreamWithoutATaskBeyondDoubtFollowsItsDevice) {
  Launch("a", 0, 7, 1, 0);
  Launch("b", 1, 7, 1, 1);
  Launch("a", 0, 8, 2, 100);
  Launch("b", 1, 8, 3, 101);
  EXPECT_EQ(LaunchingProcesses(builder_), "a<a b<b a<a b<b");
}

TEST_F(TwoRanks, ASharedStreamIsOwnedByNobodyAndTimeDecides) {
  Launch("a", 0, 7, 1, 0);
  Launch("b", 0, 7, 1, 1);
  Launch("a", 0, 7, 2, 100);
  Launch("b", 0, 7, 3, 101);
  EXPECT_EQ(LaunchingProcesses(builder_), "a<b b<b a<a b<b");
}

TEST_F(TwoRanks, TheFirstUseOfAnIdTellsTheOwnerToo) {
  // Both ranks use every id, but a is 50 us ahead.
  for (int i = 1; i <= 3; ++i) {
    Launch("a", 0, 7, i, i * 1000);
    Launch("b", 1, 7, i, i * 1000 + 50);
  }
  // This task waited behind others until after b used the same id.
  builder_.InProcess("a").Call("cudaLaunchKernel", 1, 9000, 1, 9);
  builder_.Kernel("a", 7, 9100, 2, 9).Device(0);
  builder_.InProcess("b").Call("cudaLaunchKernel", 1, 9050, 1, 9);
  EXPECT_EQ(LaunchingProcesses(builder_), "a<a b<b a<a b<b a<a b<b a<a");
}

TEST_F(TwoRanks, ATaskThatItsOwnerDidNotLaunchIsTheOthers) {
  Launch("a", 0, 7, 1, 0);
  for (int i = 2; i < 30; ++i) Launch("a", 0, 7, i, i * 100);
  builder_.InProcess("b").Call("cudaLaunchKernel", 1, 9000, 1, 99);
  builder_.InProcess("c").Call("cudaLaunchKernel", 1, 9001, 1, 99);
  builder_.Kernel("x", 7, 9100, 2, 99).Device(0);
  EXPECT_TRUE(LaunchingProcesses(builder_).ends_with(" x<c"));
}

TEST_F(TwoRanks, ADriverCallInsideARuntimeCallIsNoLaunchWhateverRunsBetween) {
  builder_.InProcess("a").Call("cudaLaunchKernel", 1, 0, 9, 1);
  builder_.InProcess("a").DriverCall("cuLaunchKernel", 1, 4, 2, 1);
  builder_.InProcess("b").Call("cudaLaunchKernel", 1, 2, 1, 1);
  builder_.Kernel("x", 7, 100, 2, 1);
  EXPECT_EQ(LaunchingProcesses(builder_), "x<b") << "the last outermost call";
}

}  // namespace launches_test
}  // namespace headroom
