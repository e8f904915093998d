#include "serve/timeline/trace_tracks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "serve/timeline/range_statistics.h"
#include "serve/timeline/span_links.h"
#include "serve/timeline/span_search.h"
#include "store/store_builder.h"

namespace headroom {
namespace trace_tracks_test {

using testing::ElementsAre;

constexpr std::int64_t kMain = 1, kStream = 7, kSideStream = 20;

/// Two nested operators that launch one kernel each; the second kernel waits for its launch.
StoreBuilder TwoKernels() {
  StoreBuilder b;
  b.Op("aten::linear", kMain, 0, 100);
  b.Op("aten::addmm", kMain, 10, 50);
  b.Call("cudaLaunchKernel", kMain, 20, 5, 1);
  b.Call("cudaLaunchKernel", kMain, 80, 5, 2);
  b.Kernel("gemm", kStream, 30, 20, 1);
  b.Kernel("add", kStream, 90, 10, 2);
  return b;
}

struct Made {
  std::unique_ptr<TraceStore> store;
  std::unique_ptr<ReferenceData> reference;
  std::unique_ptr<TraceTracks> tracks;
};

Made Make(const StoreBuilder& builder) {
  Made made;
  made.store = builder.Build();
  made.reference = std::move(ReferenceData::LoadBuiltIn()).value();
  NameFacts names(*made.store, *made.reference);
  made.tracks = std::make_unique<TraceTracks>(*made.store, names, nullptr);
  return made;
}

std::vector<std::string> NamesOn(const TraceTracks& tracks, std::uint32_t lane_number) {
  std::vector<std::string> names;
  const Lane& lane = tracks.set().lanes[lane_number];
  for (const std::uint32_t row : lane.rows)
    names.emplace_back(lane.table->names->Get(lane.table->name[row]));
  return names;
}

TEST(TraceTracks, StreamsComeFirstAndThreadsNest) {
  const Made made = Make(TwoKernels());
  const TrackSet& set = made.tracks->set();
  ASSERT_EQ(set.tracks.size(), 2u);
  EXPECT_EQ(set.tracks[0].name, "stream 7");
  EXPECT_EQ(set.tracks[0].lanes, 2u);
  EXPECT_THAT(NamesOn(*made.tracks, 0), ElementsAre("gemm", "add"));
  EXPECT_THAT(NamesOn(*made.tracks, 1), ElementsAre("idle: launched too late"));
  EXPECT_EQ(set.tracks[1].kind, TrackKind::kThread);
  EXPECT_THAT(NamesOn(*made.tracks, 2), ElementsAre("aten::linear"));
  EXPECT_THAT(NamesOn(*made.tracks, 3), ElementsAre("aten::addmm", "cudaLaunchKernel"));
  EXPECT_THAT(NamesOn(*made.tracks, 4), ElementsAre("cudaLaunchKernel"));
  EXPECT_EQ((set.end - set.begin).ns(), 100'000);
}

TEST(TraceTracks, AQueuedKernelWaitsForOthers) {
  StoreBuilder b;
  b.Call("cudaLaunchKernel", kMain, 0, 5, 1);
  b.Call("cudaLaunchKernel", kMain, 6, 5, 2);
  b.Kernel("gemm", kStream, 10, 20, 1);
  b.Kernel("add", kStream, 40, 10, 2);
  EXPECT_THAT(NamesOn(*Make(b).tracks, 1), ElementsAre("idle: waits for other GPU work"));
}

/// Stream 7 works until 40 us and from 100 on, stream 20 from 50 to 70 and from 80 to 90.
StoreBuilder TwoStreams() {
  StoreBuilder b;
  b.Call("cudaLaunchKernel", kMain, 60, 5, 2);
  b.Kernel("gemm", kStream, 0, 40);
  b.Kernel("add", kStream, 100, 10, 2);
  b.Kernel("reduce", kSideStream, 50, 20);
  b.Kernel("reduce", kSideStream, 80, 10);
  return b;
}

TEST(TraceTracks, AStreamsIdleTimeIsQuietWhereAnotherWorks) {
  const Made made = Make(TwoStreams());
  const std::string late = "idle: launched too late", quiet = "idle: another stream works";
  EXPECT_THAT(NamesOn(*made.tracks, 1), ElementsAre(late, quiet, late, quiet, late));
  EXPECT_THAT(NamesOn(*made.tracks, 3), ElementsAre("idle: no launch recorded"));
  const RangeStatistics sums = SumRange(made.tracks->set(), TimeNs(0), TimeNs(110'000));
  ASSERT_EQ(sums.streams.size(), 2u);
  EXPECT_EQ(sums.streams[0].idle_for_host.ns(), 30'000);  // 10 us each from 40, 70 and 90 us on.
  EXPECT_EQ(sums.streams[0].idle_others_work.ns(), 30'000);
  EXPECT_EQ(sums.streams[1].idle_unknown.ns(), 10'000);  // From 70 to 80 us.
  EXPECT_EQ(sums.streams[1].idle_others_work.ns(), 0);
}

TEST(TraceTracks, AnotherDevicesWorkDoesNotCount) {
  StoreBuilder b;
  b.Kernel("gemm", kStream, 0, 40);
  b.Kernel("gemm", kStream, 100, 10);
  b.Kernel("gemm", kSideStream, 50, 20).Device(1);
  EXPECT_THAT(NamesOn(*Make(b).tracks, 1), ElementsAre("idle: no launch recorded"));
}

TEST(TraceTracks, ARangeThatTheGpuRepeatsIsSummedOnce) {
  StoreBuilder b = TwoKernels();
  b.Annotation("Optimizer.step", kMain, 200, 30);
  b.GpuRegion("Optimizer.step", 210, 80);
  b.GpuRegion("events alone", 300, 40);
  const Made made = Make(b);
  const RangeStatistics sums = SumRange(made.tracks->set(), TimeNs(0), TimeNs(400'000));
  const auto total_of = [&](std::string_view name) {
    const auto row = std::find_if(sums.host.begin(), sums.host.end(),
                                  [&](const NameTotal& one) { return one.name == name; });
    return row == sums.host.end() ? 0 : row->total.ns();
  };
  EXPECT_EQ(total_of("Optimizer.step"), 30'000);
  EXPECT_EQ(total_of("events alone"), 40'000);
}

TEST(TraceTracks, EachSeriesOfACounterIsATrack) {
  StoreBuilder b;
  b.Counter("gpu.util", "GPU 0", "%", 0, 10).Counter("gpu.util", "GPU 0", "%", 5, 30);
  b.Counter("gpu.util", "GPU 1", "%", 0, 20);
  const Made made = Make(b);
  const TrackSet& set = made.tracks->set();
  ASSERT_EQ(set.tracks.size(), 2u);
  EXPECT_EQ(set.tracks[0].name, "gpu.util GPU 0");
  EXPECT_EQ(set.tracks[0].maximum, 30);
  EXPECT_EQ(set.tracks[0].unit, "%");
}

TEST(TraceTracks, SamplesThatAreNoNumberSayNothing) {
  const double infinity = std::numeric_limits<double>::infinity();
  StoreBuilder b;
  b.Counter("loss", "", "", 0, 1).Counter("loss", "", "", 1, infinity);
  b.Counter("loss", "", "", 2, 3)
      .Counter("loss", "", "", 3, -std::nan(""))
      .Counter("loss", "", "", 4, 5);
  b.Counter("nothing", "", "", 0, -infinity);
  const Made made = Make(b);
  const TrackSet& set = made.tracks->set();
  ASSERT_EQ(set.tracks.size(), 1u);
  EXPECT_EQ(set.tracks[0].minimum, 0);
  EXPECT_EQ(set.tracks[0].maximum, 5);
  EXPECT_EQ(set.tracks[0].spans, 3);
  EXPECT_THAT(set.lanes[0].table->value, ElementsAre(1, 3, 5));
}

TEST(TraceTracks, ACounterBelowZeroHasAMinimum) {
  StoreBuilder b;
  b.Counter("loss", "", "", 0, -4).Counter("loss", "", "", 1, -1);
  const Made made = Make(b);
  EXPECT_EQ(made.tracks->set().tracks[0].minimum, -4);
  EXPECT_EQ(made.tracks->set().tracks[0].maximum, 0);
}

TEST(SpanSearch, FindsPartsOfNamesInAnyCase) {
  const Made made = Make(TwoKernels());
  const SearchResult found = FindSpans(made.tracks->set(), "ADD", 10);
  EXPECT_EQ(found.count, 2);  // aten::addmm and add.
  EXPECT_EQ(found.total.ns(), 60'000);
  ASSERT_EQ(found.hits.size(), 2u);
  EXPECT_EQ(found.hits[0].lane, 3u);
  EXPECT_EQ(FindSpans(made.tracks->set(), "ADD", 1).hits.size(), 1u);
  EXPECT_EQ(FindSpans(made.tracks->set(), "nothing", 10).count, 0);
}

TEST(RangeStatistics, CountsWhatLiesInside) {
  const Made made = Make(TwoKernels());
  const RangeStatistics sums = SumRange(made.tracks->set(), TimeNs(40'000), TimeNs(95'000));
  ASSERT_EQ(sums.streams.size(), 1u);
  EXPECT_EQ(sums.streams[0].busy.ns(), 15'000);
  EXPECT_EQ(sums.streams[0].idle_for_host.ns(), 40'000);
  ASSERT_EQ(sums.gpu.size(), 2u);
  EXPECT_EQ(sums.gpu[0].name, "gemm");
  EXPECT_EQ(sums.gpu[0].total.ns(), 10'000);
  ASSERT_EQ(sums.host.size(), 3u);
  EXPECT_EQ(sums.host[0].name, "aten::linear");
  EXPECT_EQ(sums.host[0].total.ns(), 55'000);
}

TEST(SpanLinks, AKernelLeadsToItsOperatorsAndBack) {
  const Made made = Make(TwoKernels());
  const auto& events = made.store->host_events;
  std::vector<std::string> of_kernel;
  for (const SpanLink& link : FindLinks(*made.store, GpuTaskId(0u)))
    of_kernel.push_back(std::string(link.relation) + " " +
                        std::string(made.store->Text(events.name[link.row])));
  EXPECT_THAT(of_kernel, ElementsAre("launched by cudaLaunchKernel", "inside aten::addmm",
                                     "inside aten::linear"));
  std::vector<std::uint32_t> launched;
  for (const SpanLink& link : FindLinks(*made.store, HostEventId(0u))) {
    EXPECT_TRUE(link.on_gpu);
    launched.push_back(link.row);
  }
  EXPECT_THAT(launched, ElementsAre(0, 1));
}

TEST(SpanLinks, ForwardAndBackwardFindEachOther) {
  StoreBuilder b;
  b.Op("aten::mm", kMain, 0, 10).Sequence(3);
  b.Op("MmBackward0", 2, 20, 10).Sequence(3).ForwardThread(1);
  const std::unique_ptr<TraceStore> store = b.Build();
  EXPECT_EQ(FindLinks(*store, HostEventId(0u)).at(0).relation, "backward");
  EXPECT_EQ(FindLinks(*store, HostEventId(1u)).at(0).relation, "forward");
}

}  // namespace trace_tracks_test
}  // namespace headroom
