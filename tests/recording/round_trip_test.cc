// Tests that the reader returns what the recording encoder writes, for any nesting, overlap and
// text.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "capture/trace_encoder.h"
#include "read_recording.h"

namespace headroom::testing {
namespace {

/// A region of one thread, as the reader must return it.
struct Region {
  std::int32_t tid;
  std::int64_t start, end;
  std::string name;
  auto operator<=>(const Region&) const = default;
};

struct Change {
  std::int64_t time;
  bool begins;
  std::size_t region;
};

/// Encodes the regions as a recorder does: puts each region on the first track of its thread on
/// which it nests within the open regions.
std::string Encode(const std::vector<Region>& regions) {
  TraceEncoder encoder;
  encoder.ClockSnapshot(TimeNs(0), TimeNs(5), TimeNs(7));
  const TraceEncoder::Name category = encoder.Category("region");
  struct Lane {
    TraceEncoder::Track track;
    std::vector<std::int64_t> open;  ///< Ends, innermost last.
  };
  for (std::int32_t tid = 1; tid <= 3; ++tid) {
    const TraceEncoder::Track thread = encoder.ThreadTrack(10, tid, fmt::format("thread {}", tid));
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < regions.size(); ++i) {
      if (regions[i].tid == tid) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return regions[a].start != regions[b].start ? regions[a].start < regions[b].start
                                                  : regions[a].end > regions[b].end;
    });
    std::vector<Lane> lanes;
    const auto close_until = [&](Lane& lane, std::int64_t time) {
      while (!lane.open.empty() && lane.open.back() <= time) {
        encoder.End(lane.track, TimeNs(lane.open.back()));
        lane.open.pop_back();
      }
    };
    for (const std::size_t i : order) {
      Lane* fitting = nullptr;
      for (Lane& lane : lanes) {
        close_until(lane, regions[i].start);
        if (fitting == nullptr && (lane.open.empty() || lane.open.back() >= regions[i].end))
          fitting = &lane;
      }
      if (fitting == nullptr) {
        const TraceEncoder::Track track =
            lanes.empty() ? thread : encoder.ChildTrack(thread, "overlapping");
        fitting = &lanes.emplace_back(Lane{track, {}});
      }
      encoder.Begin(fitting->track, TimeNs(regions[i].start), encoder.Intern(regions[i].name),
                    category);
      fitting->open.push_back(regions[i].end);
    }
    for (Lane& lane : lanes) close_until(lane, INT64_MAX);
  }
  return encoder.Take();
}

std::vector<Region> RegionsOf(const TraceStore& store) {
  std::vector<Region> regions;
  const auto& rows = store.host_events;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    EXPECT_EQ(rows.kind[row], HostEventKind::kAnnotation);
    EXPECT_EQ(store.Text(rows.category[row]), "region");
    const std::string tid(store.Text(store.threads.tid[rows.thread[row].index()]));
    regions.push_back({std::stoi(tid), rows.start[row].ns(), store.HostEnd(HostEventId(row)).ns(),
                       std::string(store.Text(rows.name[row]))});
  }
  return regions;
}

RC_GTEST_PROP(Recording, GivesBackEveryRegion, ()) {
  const auto count = *rc::gen::inRange(0, 60);
  std::vector<Region> regions;
  for (int i = 0; i < count; ++i) {
    Region region;
    region.tid = *rc::gen::inRange(1, 4);
    region.start = *rc::gen::inRange<std::int64_t>(0, 50);
    region.end = region.start + *rc::gen::inRange<std::int64_t>(0, 20);
    region.name = fmt::format("{} \"{}\"", i, *rc::gen::arbitrary<std::string>());
    regions.push_back(region);
  }
  const std::string bytes = Encode(regions);
  const auto store = ReadRecording(bytes, *rc::gen::inRange<std::size_t>(1, 200));
  for (std::size_t i = 0; i < kImportIssueCount; ++i) {
    const auto issue = static_cast<ImportIssue>(i);
    if (issue != ImportIssue::kOverlapping) RC_ASSERT(store->log.Count(issue) == 0);
  }
  std::vector<Region> read = RegionsOf(*store);
  std::sort(regions.begin(), regions.end());
  std::sort(read.begin(), read.end());
  RC_ASSERT(read == regions);
}

TEST(Recording, KeepsThreadsProcessesAndTheClock) {
  TraceEncoder encoder;
  encoder.ClockSnapshot(TimeNs(1000), TimeNs(1500), TimeNs(1'700'000'000'000'000'000));
  encoder.ProcessTrack(42, "train.py");
  const TraceEncoder::Track loader = encoder.ThreadTrack(42, 44, "loader");
  encoder.Begin(loader, TimeNs(2000), encoder.Intern("batch"), encoder.Category("region"));
  encoder.End(loader, TimeNs(2300));
  const auto store = ReadRecording(encoder.Take());
  ASSERT_EQ(store->host_events.rows(), 1u);
  EXPECT_EQ(store->host_events.start[0], TimeNs(2000));
  EXPECT_EQ(store->host_events.duration[0], DurationNs(300));
  ASSERT_EQ(store->threads.rows(), 1u);
  EXPECT_EQ(store->Text(store->threads.tid[0]), "44");
  EXPECT_EQ(store->Text(store->threads.name[0]), "loader");
  EXPECT_EQ(store->Text(store->processes.pid[0]), "42");
  EXPECT_EQ(store->Text(store->processes.name[0]), "train.py");
  EXPECT_EQ(store->metadata.base_time_ns, 1'700'000'000'000'000'000 - 1000);
  EXPECT_EQ(store->metadata.format, "perfetto-protobuf");
  EXPECT_TRUE(store->log.empty());
}

TEST(Recording, GivesCategoriesTheirMeaning) {
  const struct {
    std::string_view category;
    HostEventKind kind;
  } kCases[] = {
      {"region", HostEventKind::kAnnotation},      {"user_annotation", HostEventKind::kAnnotation},
      {"cpu_op", HostEventKind::kOperator},        {"cuda_runtime", HostEventKind::kRuntimeCall},
      {"cuda_driver", HostEventKind::kDriverCall}, {"python_function", HostEventKind::kPythonFrame},
      {"overhead", HostEventKind::kOverhead},      {"gpu_region", HostEventKind::kGpuAnnotation},
      {"something else", HostEventKind::kOther},   {"step", HostEventKind::kAnnotation},
  };
  for (const auto& c : kCases) {
    TraceEncoder encoder;
    const TraceEncoder::Track track = encoder.ThreadTrack(1, 1, "main");
    const TraceArg args[] = {{"correlation", std::int64_t{9}},
                             {"Sequence number", std::int64_t{4}}};
    encoder.Begin(track, TimeNs(0), encoder.Intern("name"), encoder.Category(c.category), args);
    encoder.End(track, TimeNs(1));
    const auto store = ReadRecording(encoder.Take());
    ASSERT_EQ(store->host_events.rows(), 1u) << c.category;
    EXPECT_EQ(store->host_events.kind[0], c.kind) << c.category;
    EXPECT_EQ(store->host_events.correlation[0], 9) << c.category;
    EXPECT_EQ(store->host_events.sequence[0], 4) << c.category;
    EXPECT_FALSE(store->host_events.args[0].valid()) << c.category;
  }
}

TEST(Recording, NumbersSteps) {
  TraceEncoder encoder;
  const TraceEncoder::Track track = encoder.ThreadTrack(1, 1, "main");
  for (std::int64_t step = 7; step < 10; ++step) {
    const TraceArg args[] = {{"step", step}};
    encoder.Begin(track, TimeNs(step * 100), encoder.Intern("step"), encoder.Category("step"),
                  args);
    encoder.End(track, TimeNs(step * 100 + 90));
  }
  const auto store = ReadRecording(encoder.Take());
  ASSERT_EQ(store->steps.rows(), 3u);
  EXPECT_EQ(store->steps.index[2], 9);
  EXPECT_EQ(store->steps.start[2], TimeNs(900));
  EXPECT_EQ(store->Text(store->host_events.name[store->steps.event[2].index()]), "step#9");
}

TEST(Recording, KeepsGpuTasks) {
  TraceEncoder encoder;
  const TraceEncoder::Track track = encoder.ThreadTrack(1, 1, "main");
  const TraceArg launch[] = {{"correlation", std::int64_t{77}}};
  encoder.Begin(track, TimeNs(90), encoder.Intern("cudaLaunchKernel"),
                encoder.Category("cuda_runtime"), launch);
  encoder.End(track, TimeNs(95));
  const TraceArg kernel[] = {{"correlation", std::int64_t{77}},
                             {"grid", std::string_view("8,16,5")},
                             {"block", std::string_view("128,1,1")},
                             {"registers", std::int64_t{40}},
                             {"shared_memory", std::int64_t{1024}},
                             {"graph_node", std::int64_t{3}},
                             {"external_id", std::int64_t{12}},
                             {"note", std::string_view("a\"b")},
                             {"ratio", 0.5}};
  encoder.GpuTask({.device = 1,
                   .stream = 7,
                   .name = "gemm",
                   .start = TimeNs(100),
                   .duration = DurationNs(30),
                   .args = kernel});
  const TraceArg copy[] = {{"bytes", std::int64_t{4096}}, {"copy", std::string_view("HtoD")}};
  encoder.GpuTask({.device = 1,
                   .stream = 8,
                   .kind = GpuTaskWork::kMemcpy,
                   .name = "Memcpy",
                   .start = TimeNs(140),
                   .duration = DurationNs(5),
                   .args = copy});
  encoder.GpuTask({.device = 1,
                   .stream = 7,
                   .kind = GpuTaskWork::kMemset,
                   .name = "Memset",
                   .start = TimeNs(150),
                   .duration = DurationNs(0)});
  const auto store = ReadRecording(encoder.Take());
  const auto& tasks = store->gpu_tasks;
  ASSERT_EQ(tasks.rows(), 3u);
  EXPECT_EQ(store->Text(tasks.name[0]), "gemm");
  EXPECT_EQ(tasks.duration[0], DurationNs(30));
  EXPECT_EQ(std::tuple(tasks.grid_x[0], tasks.grid_y[0], tasks.grid_z[0]), std::tuple(8, 16, 5));
  EXPECT_EQ(std::tuple(tasks.block_x[0], tasks.block_y[0], tasks.block_z[0]),
            std::tuple(128, 1, 1));
  EXPECT_EQ(tasks.registers[0], 40);
  EXPECT_EQ(tasks.shared_memory[0], 1024);
  EXPECT_EQ(tasks.graph_node[0], 3);
  EXPECT_EQ(tasks.external_id[0], 12);
  EXPECT_EQ(store->Text(tasks.args[0]), R"("note": "a\"b", "ratio": "0.5")");
  EXPECT_TRUE(tasks.launch[0].valid());
  EXPECT_EQ(tasks.kind[1], GpuTaskKind::kMemcpy);
  EXPECT_EQ(tasks.copy[1], CopyKind::kHostToDevice);
  EXPECT_EQ(tasks.bytes[1], 4096);
  EXPECT_EQ(tasks.kind[2], GpuTaskKind::kMemset);
  ASSERT_EQ(store->streams.rows(), 2u);
  EXPECT_EQ(store->streams.number[tasks.stream[0].index()], 7);
  EXPECT_EQ(store->devices.ordinal[0], 1);
  EXPECT_EQ(tasks.stream[0], tasks.stream[2]);
}

TEST(Recording, KeepsCountersWithInstanceAndUnit) {
  TraceEncoder encoder;
  const TraceEncoder::Track gpu = encoder.ChildTrack(0, "GPU 0");
  const TraceEncoder::Track of_gpu = encoder.CounterTrack(gpu, "gpu_utilization", "%");
  const TraceEncoder::Track of_machine = encoder.CounterTrack(0, "available_memory", "B");
  encoder.Counter(of_gpu, TimeNs(10), 93.5);
  encoder.Counter(of_machine, TimeNs(11), 64e9);
  const auto store = ReadRecording(encoder.Take());
  const auto& rows = store->counters;
  ASSERT_EQ(rows.rows(), 2u);
  EXPECT_EQ(store->Text(rows.name[0]), "gpu_utilization");
  EXPECT_EQ(store->Text(rows.series[0]), "GPU 0");
  EXPECT_EQ(store->Text(rows.unit[0]), "%");
  EXPECT_EQ(rows.value[0], 93.5);
  EXPECT_EQ(store->Text(rows.series[1]), "");
  EXPECT_EQ(rows.value[1], 64e9);
}

TEST(Recording, KeepsInstantsWithTheirArguments) {
  TraceEncoder encoder;
  const TraceEncoder::Track track = encoder.ThreadTrack(1, 1, "main");
  const TraceArg args[] = {
      {"dropped", std::int64_t{3}}, {"share", 0.25}, {"why", std::string_view("full\n")}};
  encoder.Instant(track, TimeNs(5), encoder.Intern("drops"), encoder.Category("headroom"), args);
  const auto store = ReadRecording(encoder.Take());
  ASSERT_EQ(store->instants.rows(), 1u);
  EXPECT_EQ(store->Text(store->instants.name[0]), "drops");
  EXPECT_EQ(store->Text(store->instants.category[0]), "headroom");
  EXPECT_EQ(store->Text(store->instants.args[0]),
            R"("dropped": 3, "share": 0.25, "why": "full\u000a")");
}

TEST(Recording, ShowsRegionsOfTheGpuOnItsStream) {
  TraceEncoder encoder;
  const TraceEncoder::Track track = encoder.ChildTrack(0, "GPU 2 stream 7 regions");
  encoder.Begin(track, TimeNs(5), encoder.Intern("forward"), encoder.Category("gpu_region"));
  encoder.End(track, TimeNs(9));
  const auto store = ReadRecording(encoder.Take());
  ASSERT_EQ(store->host_events.rows(), 1u);
  EXPECT_EQ(store->host_events.kind[0], HostEventKind::kGpuAnnotation);
  EXPECT_EQ(store->Text(store->threads.tid[0]), "7");
  EXPECT_EQ(store->Text(store->processes.pid[0]), "2");
}

}  // namespace
}  // namespace headroom::testing
