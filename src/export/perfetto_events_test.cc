#include "export/perfetto_events.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "ingest/input/memory_source.h"
#include "ingest/perfetto/perfetto_reader.h"
#include "store/store_builder.h"

namespace headroom {
namespace perfetto_events_test {

constexpr std::int64_t kMain = 1, kStream = 7;

std::string PacketsOf(const TraceStore& store, std::int64_t* events = nullptr) {
  std::string bytes;
  bool ended = false;
  const std::int64_t count = WritePerfettoPackets(store, [&](std::string_view piece, bool last) {
    EXPECT_FALSE(ended);
    ended = last;
    bytes += piece;
  });
  EXPECT_TRUE(ended);
  if (events != nullptr) *events = count;
  return bytes;
}

std::unique_ptr<TraceStore> ReadBack(const TraceStore& store) {
  MemoryByteSource source(PacketsOf(store));
  auto back = std::make_unique<TraceStore>();
  const Status status = perfetto::Read(source, "memory", {}, *back);
  EXPECT_TRUE(status.ok()) << status.message();
  return back;
}

TEST(PerfettoEvents, ReadBackAsTheRowsThatTheyWere) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  b.Step(4, kMain, 0, 100);
  b.Launch("aten::mm", kMain, 10, "gemm", kStream, 20, 30).Grid(8, 128);
  b.Op("aten::add", kMain, 60, 5).Sequence(3).Args(R"("note": [1, 2])");
  b.Counter("load", "cpu", "%", 5, 0.25);
  const std::unique_ptr<TraceStore> store = b.Build();
  const std::unique_ptr<TraceStore> back = ReadBack(*store);
  ASSERT_EQ(back->host_events.rows(), store->host_events.rows());
  for (std::size_t row = 0; row < store->host_events.rows(); ++row) {
    EXPECT_EQ(back->host_events.start[row], store->host_events.start[row]);
    EXPECT_EQ(back->host_events.duration[row], store->host_events.duration[row]);
    EXPECT_EQ(back->host_events.kind[row], store->host_events.kind[row]);
    EXPECT_EQ(back->host_events.sequence[row], store->host_events.sequence[row]);
    EXPECT_EQ(back->Text(back->host_events.name[row]), store->Text(store->host_events.name[row]));
  }
  ASSERT_EQ(back->gpu_tasks.rows(), 1u);
  EXPECT_EQ(back->gpu_tasks.grid_x[0], 8);
  EXPECT_EQ(back->gpu_tasks.block_x[0], 128);
  EXPECT_EQ(back->gpu_tasks.launch[0], store->gpu_tasks.launch[0]);
  EXPECT_EQ(back->streams.number[0], kStream);
  ASSERT_EQ(back->steps.rows(), 1u);
  EXPECT_EQ(back->steps.index[0], 4);
  ASSERT_EQ(back->counters.rows(), 1u);
  EXPECT_EQ(back->counters.value[0], 0.25);
}

TEST(PerfettoEvents, OverlapsAndHostileNamesReadBack) {
  StoreBuilder b;
  b.Op("a\"\n\x01", kMain, 0, 10);
  b.Op("late", kMain, 5, 10);  // Overlaps the other span without nesting.
  b.Kernel("k", kStream, 0, 10);
  b.Kernel("l", kStream, 8, 10);
  const std::unique_ptr<TraceStore> back = ReadBack(*b.Build());
  ASSERT_EQ(back->host_events.rows(), 2u);
  EXPECT_EQ(back->Text(back->host_events.name[0]), "a\"\n\x01");
  EXPECT_EQ(back->host_events.duration[1], DurationNs(10'000));
  EXPECT_EQ(back->host_events.thread[0], back->host_events.thread[1]);
  ASSERT_EQ(back->gpu_tasks.rows(), 2u);
  EXPECT_EQ(back->gpu_tasks.stream[0], back->gpu_tasks.stream[1]);
}

TEST(PerfettoEvents, OfNothingAreATrace) {
  std::int64_t events = -1;
  EXPECT_FALSE(PacketsOf(*StoreBuilder().Build(), &events).empty());
  EXPECT_EQ(ReadBack(*StoreBuilder().Build())->host_events.rows(), 0u);
}

}  // namespace perfetto_events_test
}  // namespace headroom
