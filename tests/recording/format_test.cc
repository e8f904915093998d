// Tests traces as other tools write them: other clocks, older forms of events, inline names, nested
// packets, and the conventions of rocprofv3.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/perfetto_fields.h"
#include "base/protobuf_writer.h"
#include "read_recording.h"

namespace headroom::testing {
namespace {

using namespace perfetto;  // NOLINT(google-build-using-namespace): the field numbers.

/// Writes packets field by field.
class TraceWriter {
 public:
  template <typename Fill>
  TraceWriter& Packet(Fill&& fill) {
    ProtobufWriter writer(bytes_);
    writer.Message(TraceField::kPacket, [&] { fill(writer); });
    return *this;
  }

  struct ClockReading {
    std::uint32_t id;
    std::uint64_t stamp;
    std::uint64_t unit_ns = 0;
    bool incremental = false;
  };
  TraceWriter& Snapshot(const std::vector<ClockReading>& readings, std::uint32_t primary = 0,
                        std::uint32_t sequence = 0) {
    return Packet([&](ProtobufWriter& p) {
      if (sequence != 0) p.Varint(PacketField::kSequenceId, sequence);
      p.Message(PacketField::kClockSnapshot, [&] {
        for (const ClockReading& reading : readings) {
          p.Message(ClockSnapshotField::kClock, [&] {
            p.Varint(ClockField::kId, reading.id);
            p.Varint(ClockField::kTimestamp, reading.stamp);
            if (reading.unit_ns != 0) p.Varint(ClockField::kUnitNs, reading.unit_ns);
            if (reading.incremental) p.Varint(ClockField::kIsIncremental, true);
          });
        }
        if (primary != 0) p.Varint(ClockSnapshotField::kPrimaryTraceClock, primary);
      });
    });
  }

  /// An event with an inline name. `more` adds fields to it.
  template <typename Fill>
  TraceWriter& Event(TrackEventType type, std::uint64_t track, std::uint64_t stamp,
                     std::string_view name, Fill&& more, std::uint32_t clock = 0,
                     std::uint32_t sequence = 0) {
    return Packet([&](ProtobufWriter& p) {
      p.Varint(PacketField::kTimestamp, stamp);
      if (clock != 0) p.Varint(PacketField::kTimestampClockId, clock);
      if (sequence != 0) p.Varint(PacketField::kSequenceId, sequence);
      p.Message(PacketField::kTrackEvent, [&] {
        p.Varint(TrackEventField::kType, type);
        if (track != 0) p.Varint(TrackEventField::kTrack, track);
        if (!name.empty()) p.Bytes(TrackEventField::kName, name);
        more(p);
      });
    });
  }
  TraceWriter& Instant(std::uint64_t stamp, std::string_view name, std::uint32_t clock = 0,
                       std::uint32_t sequence = 0) {
    return Event(
        TrackEventType::kInstant, 1, stamp, name, [](ProtobufWriter&) {}, clock, sequence);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

constexpr auto kNothing = [](ProtobufWriter&) {};

void Annotate(ProtobufWriter& p, std::string_view name, std::uint64_t value) {
  p.Message(TrackEventField::kDebugAnnotations, [&] {
    p.Bytes(DebugAnnotationField::kName, name);
    p.Varint(DebugAnnotationField::kUint, value);
  });
}

void Annotate(ProtobufWriter& p, std::string_view name, std::string_view value) {
  p.Message(TrackEventField::kDebugAnnotations, [&] {
    p.Bytes(DebugAnnotationField::kName, name);
    p.Bytes(DebugAnnotationField::kString, value);
  });
}

std::vector<std::int64_t> InstantTimes(const TraceStore& store) {
  std::vector<std::int64_t> times;
  for (std::size_t row = 0; row < store.instants.rows(); ++row)
    times.push_back(store.instants.time[row].ns());
  return times;
}

TEST(PerfettoFormat, PutsAllClocksOnTheTraceClock) {
  TraceWriter w;
  w.Snapshot({{6, 1000}, {3, 400}}, /*primary=*/6);
  w.Instant(1100, "no clock: the trace's");
  w.Instant(1200, "boot time", 6);
  w.Instant(700, "monotonic", 3);
  w.Snapshot({{6, 5000}, {3, 4000}});  // The machine slept in between.
  w.Instant(4100, "monotonic", 3);
  w.Instant(600, "monotonic, but long ago", 3);
  const auto store = ReadRecording(w.bytes());
  EXPECT_EQ(InstantTimes(*store), (std::vector<std::int64_t>{1100, 1200, 1300, 5100, 1200}));
  EXPECT_TRUE(store->log.empty());
}

TEST(PerfettoFormat, ReadsVersionsOfSoftware) {
  TraceWriter w;
  const auto of_headroom = [](ProtobufWriter& p) {
    p.Bytes(TrackEventField::kCategories, "headroom");
  };
  for (const char* name :
       {"headroom.version pytorch 2.7.1+cu128", "headroom.version no_number", "other"})
    w.Event(TrackEventType::kInstant, 1, 100, name, of_headroom);
  const auto store = ReadRecording(w.bytes());
  EXPECT_EQ(store->metadata.versions,
            (std::vector<SoftwareVersion>{{.name = "pytorch", .version = "2.7.1+cu128"}}));
  EXPECT_EQ(store->instants.rows(), 2u) << "marks without a version stay marks";
}

TEST(PerfettoFormat, AddsUpClocksThatCountFromStampToStamp) {
  TraceWriter w;
  w.Snapshot({{6, 1'000'000}, {64, 1000, /*unit_ns=*/1000, /*incremental=*/true}}, 6,
             /*sequence=*/1);
  w.Snapshot({{6, 1'000'000}, {64, 0, /*unit_ns=*/1, /*incremental=*/true}}, 6, /*sequence=*/2);
  w.Instant(5, "a", 64, 1);
  w.Instant(5, "b", 64, 1);
  w.Instant(5, "c", 64, 2);  // The other sequence, with a separate clock.
  w.Instant(1, "d", 64, 1);
  const auto store = ReadRecording(w.bytes());
  EXPECT_EQ(InstantTimes(*store),
            (std::vector<std::int64_t>{1'005'000, 1'010'000, 1'000'005, 1'011'000}));
  EXPECT_TRUE(store->log.empty());
}

TEST(PerfettoFormat, ChainsClocksThroughSnapshots) {
  TraceWriter w;
  w.Snapshot({{6, 1000}, {3, 400}});
  w.Snapshot({{3, 500}, {200, 7}});  // Clock 200 is linked only to 3, and 3 to the trace's clock.
  w.Instant(8, "a", 200);
  EXPECT_EQ(InstantTimes(*ReadRecording(w.bytes())), (std::vector<std::int64_t>{1101}));
}

TEST(PerfettoFormat, TakesDefaultsOfTheSequence) {
  TraceWriter w;
  w.Snapshot({{6, 1000}, {3, 400}});
  w.Packet([](ProtobufWriter& p) {
    p.Varint(PacketField::kSequenceId, 1);
    p.Varint(PacketField::kSequenceFlags, SequenceFlag::kIncrementalStateCleared);
    p.Message(PacketField::kDefaults, [&] {
      p.Varint(DefaultsField::kTimestampClockId, 3);
      p.Message(DefaultsField::kTrackEvent, [&] {
        p.Varint(TrackEventDefaultsField::kTrack, 5);
        p.Varint(TrackEventDefaultsField::kExtraCounterTracks, 9);
      });
    });
  });
  w.Packet([](ProtobufWriter& p) {
    p.Message(PacketField::kTrackDescriptor, [&] {
      p.Varint(TrackDescriptorField::kUuid, 9);
      p.Message(TrackDescriptorField::kCounter, [&] {
        p.Varint(CounterDescriptorField::kType, CounterType::kThreadTimeNs);
        p.Varint(CounterDescriptorField::kUnitMultiplier, 1000);
        p.Varint(CounterDescriptorField::kIsIncremental, true);
      });
    });
  });
  const auto cpu_time = [](std::int64_t value) {
    return [value](ProtobufWriter& p) { p.Varint(TrackEventField::kExtraCounterValues, value); };
  };
  w.Event(TrackEventType::kSliceBegin, 0, 500, "work", cpu_time(100), 0, 1);
  w.Event(TrackEventType::kSliceEnd, 0, 600, "", cpu_time(-30), 0, 1);
  const auto store = ReadRecording(w.bytes());
  ASSERT_EQ(store->host_events.rows(), 1u);
  EXPECT_EQ(store->host_events.start[0], TimeNs(1100));
  EXPECT_EQ(store->Text(store->threads.tid[store->host_events.thread[0].index()]), "5");
  ASSERT_EQ(store->counters.rows(), 2u);
  EXPECT_EQ(store->Text(store->counters.name[0]), "thread_time");
  EXPECT_EQ(store->Text(store->counters.unit[0]), "ns");
  EXPECT_EQ(store->counters.value[0], 100'000);
  EXPECT_EQ(store->counters.value[1], 70'000);
}

TEST(PerfettoFormat, ReadsLegacyEvents) {
  TraceWriter w;
  w.Packet([](ProtobufWriter& p) {  // The sequence is a thread, and counts microseconds.
    p.Varint(PacketField::kSequenceId, 1);
    p.Message(PacketField::kThreadDescriptor, [&] {
      p.Varint(ThreadDescriptorField::kPid, 10);
      p.Varint(ThreadDescriptorField::kTid, 11);
      p.Bytes(ThreadDescriptorField::kName, "CrMain");
      p.Varint(ThreadDescriptorField::kReferenceTimestampUs, 1000);
    });
  });
  const auto legacy = [&](std::uint32_t delta_us, char phase, std::int64_t duration_us,
                          std::int32_t tid) {
    w.Packet([&](ProtobufWriter& p) {
      p.Varint(PacketField::kSequenceId, 1);
      p.Message(PacketField::kTrackEvent, [&] {
        p.Varint(TrackEventField::kTimestampDeltaUs, delta_us);
        p.Bytes(TrackEventField::kName, fmt::format("{}", phase));
        p.Message(TrackEventField::kLegacyEvent, [&] {
          p.Varint(LegacyEventField::kPhase, phase);
          if (duration_us >= 0) p.Varint(LegacyEventField::kDurationUs, duration_us);
          if (tid != 0) p.Varint(LegacyEventField::kTid, tid);
        });
      });
    });
  };
  legacy(5, 'X', 20, 0);
  legacy(5, 'B', -1, 12);
  legacy(5, 'E', -1, 12);
  legacy(5, 'I', -1, 0);
  legacy(5, 'b', -1, 0);  // Asynchronous: reported instead of read.
  const auto store = ReadRecording(w.bytes());
  ASSERT_EQ(store->host_events.rows(), 2u);
  EXPECT_EQ(store->host_events.start[0], TimeNs(1'005'000));
  EXPECT_EQ(store->host_events.duration[0], DurationNs(20'000));
  EXPECT_EQ(store->Text(store->threads.tid[0]), "11");
  EXPECT_EQ(store->Text(store->threads.name[0]), "CrMain");
  EXPECT_EQ(store->Text(store->threads.tid[1]), "12");
  EXPECT_EQ(store->host_events.duration[1], DurationNs(5'000));
  EXPECT_EQ(store->instants.rows(), 1u);
  EXPECT_EQ(store->log.Count(ImportIssue::kUnreadData), 1);
}

TEST(PerfettoFormat, ReadsArgumentsOfEveryKind) {
  TraceWriter w;
  w.Event(TrackEventType::kInstant, 1, 5, "a", [](ProtobufWriter& p) {
    Annotate(p, "huge", UINT64_MAX);
    Annotate(p, "Input Dims", "[[8, 4], []]");
    Annotate(p, "broken", "[[8, 4]");
    p.Message(TrackEventField::kDebugAnnotations, [&] {
      p.Bytes(DebugAnnotationField::kName, "nested");
      p.Message(DebugAnnotationField::kDictEntries, [&] {
        p.Bytes(DebugAnnotationField::kName, "list");
        for (const bool value : {true, false}) {
          p.Message(DebugAnnotationField::kArrayValues,
                    [&] { p.Varint(DebugAnnotationField::kBool, value); });
        }
      });
    });
  });
  const auto store = ReadRecording(w.bytes());
  ASSERT_EQ(store->instants.rows(), 1u);
  EXPECT_EQ(store->Text(store->instants.args[0]),
            R"("huge": 18446744073709551615, "Input Dims": [[8, 4], []], "broken": "[[8, 4]", )"
            R"("nested": {"list": [true, false]})");
}

TEST(PerfettoFormat, PairsEndsThatStandBeforeTheirBeginning) {
  TraceWriter w;
  w.Event(TrackEventType::kSliceEnd, 7, 90, "", kNothing, 0, /*sequence=*/2);
  w.Event(TrackEventType::kSliceBegin, 7, 10, "outer", kNothing, 0, /*sequence=*/1);
  w.Event(TrackEventType::kSliceBegin, 7, 20, "inner", kNothing, 0, /*sequence=*/1);
  w.Event(TrackEventType::kSliceEnd, 7, 30, "", kNothing, 0, /*sequence=*/1);
  const auto store = ReadRecording(w.bytes());
  ASSERT_EQ(store->host_events.rows(), 2u);
  EXPECT_EQ(store->host_events.duration[0], DurationNs(80));
  EXPECT_EQ(store->host_events.duration[1], DurationNs(10));
  EXPECT_TRUE(store->log.empty());
}

TEST(PerfettoFormat, ReadsRenderStagesOfEveryForm) {
  TraceWriter w;
  w.Packet([](ProtobufWriter& p) {  // Older form: events refer to lists by position.
    p.Varint(PacketField::kTimestamp, 1);
    p.Message(PacketField::kGpuRenderStageEvent, [&] {
      p.Message(RenderStageField::kSpecifications, [&] {
        for (const char* queue : {"compute", "stream 4"}) {
          p.Message(SpecificationsField::kQueue, [&] { p.Bytes(DescriptionField::kName, queue); });
        }
        p.Message(SpecificationsField::kStage, [&] { p.Bytes(DescriptionField::kName, "shade"); });
      });
    });
  });
  const auto stage = [&](std::uint64_t stamp, auto fill) {
    w.Packet([&](ProtobufWriter& p) {
      p.Varint(PacketField::kTimestamp, stamp);
      p.Message(PacketField::kGpuRenderStageEvent, [&] {
        p.Varint(RenderStageField::kDuration, 10);
        fill(p);
      });
    });
  };
  stage(10, [](ProtobufWriter& p) {
    p.Varint(RenderStageField::kQueueId, 1);
    p.Varint(RenderStageField::kStageId, 0);
  });
  stage(20, [](ProtobufWriter& p) {
    p.Varint(RenderStageField::kGpuId, 3);
    p.Varint(RenderStageField::kQueueId, 0);
    p.Bytes(RenderStageField::kName, "in place");
  });
  stage(30, [](ProtobufWriter& p) { p.Varint(RenderStageField::kStageIid, 99); });
  const auto store = ReadRecording(w.bytes());
  const auto& tasks = store->gpu_tasks;
  ASSERT_EQ(tasks.rows(), 3u);
  EXPECT_EQ(store->Text(tasks.name[0]), "shade");
  EXPECT_EQ(store->streams.number[tasks.stream[0].index()], 4);
  EXPECT_EQ(store->Text(tasks.name[1]), "in place");
  EXPECT_EQ(store->devices.ordinal[store->DeviceOf(GpuTaskId(1u)).index()], 3);
  EXPECT_EQ(store->streams.number[tasks.stream[1].index()], 0);
  EXPECT_EQ(store->log.Count(ImportIssue::kMissingName), 1);
}

/// rocprofv3 writes one track per stream. The slices on it are ordered by kind of work instead of
/// time.
TEST(PerfettoFormat, ReadsRocprofv3) {
  TraceWriter w;
  const auto track = [&](std::uint64_t uuid, std::string_view name) {
    w.Packet([&](ProtobufWriter& p) {
      p.Message(PacketField::kTrackDescriptor, [&] {
        p.Varint(TrackDescriptorField::kUuid, uuid);
        p.Bytes(TrackDescriptorField::kName, name);
      });
    });
  };
  const auto slice = [&](std::uint64_t uuid, std::string_view category, std::string_view name,
                         std::uint64_t start, std::uint64_t end, auto fill) {
    w.Event(TrackEventType::kSliceBegin, uuid, start, name, [&](ProtobufWriter& p) {
      p.Bytes(TrackEventField::kCategories, category);
      Annotate(p, "begin_ns", start);
      fill(p);
    });
    w.Event(TrackEventType::kSliceEnd, uuid, end, "", kNothing);
  };
  track(1, "THREAD 1 (4711)");
  track(2, "COMPUTE AGENT [4] STREAM [3] (GPU)");
  track(3, "COPY to AGENT [0] STREAM [3] (CPU)");
  slice(1, "hip_api", "hipLaunchKernel", 100, 110,
        [](ProtobufWriter& p) { Annotate(p, "corr_id", 5); });
  slice(1, "marker_api", "step: 1", 90, 200, kNothing);
  slice(3, "memory_copy", "MEMORY_COPY_DEVICE_TO_HOST", 170, 180, [](ProtobufWriter& p) {
    Annotate(p, "src_agent", "Agent-4");
    Annotate(p, "dst_agent", "Agent-0");
    Annotate(p, "copy_bytes", 4096);
  });
  slice(2, "kernel_dispatch", "Cijk_Ailk.kd", 120, 160, [](ProtobufWriter& p) {
    Annotate(p, "agent", "Agent-4");
    Annotate(p, "corr_id", 5);
    Annotate(p, "workgroup_size", 256);
    Annotate(p, "grid_size", 2560);
  });
  const auto store = ReadRecording(w.bytes());
  ASSERT_EQ(store->host_events.rows(), 2u);
  EXPECT_EQ(store->host_events.kind[0], HostEventKind::kAnnotation);
  EXPECT_EQ(store->host_events.kind[1], HostEventKind::kRuntimeCall);
  const auto& tasks = store->gpu_tasks;
  ASSERT_EQ(tasks.rows(), 2u);
  EXPECT_EQ(tasks.launch[0], HostEventId(1u));
  EXPECT_EQ(tasks.grid_x[0], 10);
  EXPECT_EQ(tasks.block_x[0], 256);
  EXPECT_EQ(tasks.copy[1], CopyKind::kDeviceToHost);
  EXPECT_EQ(tasks.bytes[1], 4096);
  EXPECT_EQ(tasks.stream[0], tasks.stream[1]);
  EXPECT_EQ(store->streams.number[0], 3);
  EXPECT_EQ(store->devices.ordinal[0], 4);
  EXPECT_EQ(store->Text(tasks.name[0]), "Cijk_Ailk");
  EXPECT_EQ(store->Text(store->threads.tid[0]), "4711");
  EXPECT_TRUE(store->log.empty());
}

TEST(PerfettoFormat, ReadsPacketsWithinPackets) {
  TraceWriter inner;
  inner.Instant(5, "a").Instant(6, "b");
  uLongf size = compressBound(inner.bytes().size());
  std::string deflated(size, '\0');
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(deflated.data()), &size,
                     reinterpret_cast<const Bytef*>(inner.bytes().data()), inner.bytes().size()),
            Z_OK);
  deflated.resize(size);
  const auto read = [](std::string_view compressed) {
    TraceWriter w;
    w.Instant(1, "before");
    w.Packet([&](ProtobufWriter& p) { p.Bytes(PacketField::kCompressedPackets, compressed); });
    w.Instant(9, "behind");
    return ReadRecording(w.bytes());
  };
  const auto store = read(deflated);
  EXPECT_EQ(InstantTimes(*store), (std::vector<std::int64_t>{1, 5, 6, 9}));
  EXPECT_TRUE(store->log.empty());
  for (std::size_t cut = 0; cut < deflated.size(); ++cut) {
    const auto damaged = read(deflated.substr(0, cut));
    EXPECT_GE(damaged->instants.rows(), 2u) << cut;
    EXPECT_EQ(damaged->log.Count(ImportIssue::kLostEvent), cut > 0 ? 1 : 0) << cut;
  }
}

TEST(PerfettoFormat, DoesNotInflateBombs) {
  const std::string zeros(std::size_t{64} << 20, '\0');
  uLongf size = compressBound(zeros.size());
  std::string bomb(size, '\0');
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(bomb.data()), &size,
                     reinterpret_cast<const Bytef*>(zeros.data()), zeros.size()),
            Z_OK);
  bomb.resize(size);
  TraceWriter w;
  w.Packet([&](ProtobufWriter& p) { p.Bytes(PacketField::kCompressedPackets, bomb); });
  EXPECT_EQ(ReadRecording(w.bytes())->log.Count(ImportIssue::kLostEvent), 1);
}

}  // namespace
}  // namespace headroom::testing
