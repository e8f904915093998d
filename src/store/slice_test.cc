#include "store/slice.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "store/store_builder.h"

namespace headroom {
namespace slice_test {

constexpr std::int64_t kMain = 1, kOther = 2, kStream = 7;

constexpr Interval Microseconds(std::int64_t start, std::int64_t end) {
  return {TimeNs(start * 1000), TimeNs(end * 1000)};
}

std::vector<std::string> NamesOf(const TraceStore& store, const Column<StringId>& names) {
  std::vector<std::string> texts;
  for (const StringId name : names.values()) texts.emplace_back(store.Text(name));
  return texts;
}

using Names = std::vector<std::string>;

/// Four steps of 100 us in a frame, with a GPU that lags by 150 us.
StoreBuilder FourSteps() {
  StoreBuilder b;
  b.Frame("train.py(1): main", kMain, 0, 400);
  b.Op("other thread", kOther, 0, 10);
  for (int step = 0; step < 4; ++step) {
    const std::string name = std::to_string(step);
    b.Step(step, kMain, 100 * step, 100);
    b.Op("op " + name, kMain, 100 * step + 10, 20).Shapes("[[8]]", "[\"float\"]");
    b.Call("cudaLaunchKernel", kMain, 100 * step + 15, 5, step);
    b.Kernel("kernel " + name, kStream, 100 * step + 150, 90, step);
  }
  return b;
}

TEST(SliceTest, HoldsWhatItsStretchLaunchedAndWhatRanInIt) {
  const std::unique_ptr<TraceStore> store = FourSteps().Build();
  const std::unique_ptr<TraceStore> slice = Slice(*store, Microseconds(100, 300), TimeNs(440'000));
  EXPECT_EQ(NamesOf(*slice, slice->host_events.name),
            (Names{"train.py(1): main", "ProfilerStep#1", "op 1", "cudaLaunchKernel",
                   "ProfilerStep#2", "op 2", "cudaLaunchKernel"}));
  // Kernel 3 began before `gpu_end`, but its launch is after the interval.
  EXPECT_EQ(NamesOf(*slice, slice->gpu_tasks.name), (Names{"kernel 0", "kernel 1", "kernel 2"}));
  EXPECT_FALSE(slice->gpu_tasks.launch[0].valid());
  for (const std::size_t task : {std::size_t{1}, std::size_t{2}}) {
    const HostEventId launch = slice->gpu_tasks.launch[task];
    ASSERT_TRUE(launch.valid());
    EXPECT_EQ(slice->gpu_tasks.start[task] - slice->host_events.start[launch.index()],
              DurationNs(135'000));
  }
  EXPECT_EQ(slice->steps.rows(), 2u);
  EXPECT_EQ(slice->steps.index[0], 1);
  // Parents and arguments stay as in the full trace.
  EXPECT_EQ(slice->host_events.parent[2], HostEventId(1u));
  EXPECT_EQ(slice->host_events.parent[1], HostEventId(0u));
  EXPECT_EQ(slice->Arg(slice->host_events.args[2], "Input Dims"), "[[8]]");
  EXPECT_EQ(slice->threads.rows(), store->threads.rows());
  EXPECT_EQ(slice->metadata.events, 10);
}

TEST(SliceTest, OfTheWholeIsTheWhole) {
  const std::unique_ptr<TraceStore> store = FourSteps().Build();
  const std::unique_ptr<TraceStore> slice = Slice(*store, Microseconds(0, 400), TimeNs(1'000'000));
  EXPECT_EQ(NamesOf(*slice, slice->host_events.name), NamesOf(*store, store->host_events.name));
  EXPECT_EQ(NamesOf(*slice, slice->gpu_tasks.name), NamesOf(*store, store->gpu_tasks.name));
  for (std::size_t task = 0; task < store->gpu_tasks.rows(); ++task)
    EXPECT_EQ(slice->gpu_tasks.launch[task], store->gpu_tasks.launch[task]);
}

TEST(SliceTest, CollectivesKeepTheirArguments) {
  StoreBuilder b = FourSteps();
  for (int step = 0; step < 4; ++step) {
    b.Kernel("all-reduce", kStream, 100 * step + 120, 10, 10 + step)
        .Collective("allreduce", "Float", step, step, 2);
    b.Call("cudaLaunchKernel", kMain, 100 * step + 21, 5, 10 + step);
  }
  const std::unique_ptr<TraceStore> store = b.Build();
  const std::unique_ptr<TraceStore> slice = Slice(*store, Microseconds(100, 300), TimeNs(440'000));
  ASSERT_EQ(slice->collectives.rows(), 3u);
  for (std::size_t row = 0; row < 3; ++row) {
    const std::size_t task = slice->collectives.task[row].index();
    EXPECT_EQ(slice->Text(slice->gpu_tasks.name[task]), "all-reduce");
    const auto step = static_cast<std::int64_t>(row);
    EXPECT_EQ(slice->collectives.in_elements[row], step);
    EXPECT_EQ(slice->gpu_tasks.start[task], TimeNs(100'000 * step + 120'000));
  }
}

TEST(SliceTest, OfNothingHasNoEvents) {
  const std::unique_ptr<TraceStore> store = FourSteps().Build();
  const std::unique_ptr<TraceStore> slice =
      Slice(*store, Microseconds(5000, 6000), TimeNs(6'000'000));
  EXPECT_EQ(slice->host_events.rows(), 0u);
  EXPECT_EQ(slice->gpu_tasks.rows(), 0u);
}

}  // namespace slice_test
}  // namespace headroom
