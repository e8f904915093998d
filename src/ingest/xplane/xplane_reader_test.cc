#include "ingest/xplane/xplane_reader.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/protobuf_writer.h"
#include "ingest/input/memory_source.h"
#include "ingest/xplane/plane_stream.h"
#include "ingest/xplane/xplane_fields.h"

namespace headroom::xplane {
namespace xplane_reader_test {

/// Writes a plane as the profiler does: lines, then names.
class PlaneText {
 public:
  explicit PlaneText(std::string_view name) {
    ProtobufWriter(text_).Bytes(PlaneField::kName, name);
  }
  struct Event {
    std::int64_t metadata_id, offset_ps, duration_ps;
    std::string stats = {};
  };
  PlaneText& Line(std::int64_t id, std::string_view name, std::int64_t timestamp_ns,
                  const std::vector<Event>& events) {
    ProtobufWriter writer(text_);
    writer.Message(PlaneField::kLine, [&] {
      writer.Varint(LineField::kId, id);
      writer.Bytes(LineField::kName, name);
      writer.Varint(LineField::kTimestampNs, timestamp_ns);
      for (const Event& event : events) {
        writer.Message(LineField::kEvent, [&] {
          writer.Varint(EventField::kMetadataId, event.metadata_id);
          writer.Varint(EventField::kOffsetPs, event.offset_ps);
          writer.Varint(EventField::kDurationPs, event.duration_ps);
          text_ += event.stats;
        });
      }
    });
    return *this;
  }
  PlaneText& Name(PlaneField map, std::int64_t id, std::string_view name) {
    ProtobufWriter writer(text_);
    writer.Message(map, [&] {
      writer.Varint(MapField::kKey, id);
      writer.Message(MapField::kValue, [&] { writer.Bytes(EventMetadataField::kName, name); });
    });
    return *this;
  }
  PlaneText& EventName(std::int64_t id, std::string_view name) {
    return Name(PlaneField::kEventMetadata, id, name);
  }
  PlaneText& StatName(std::int64_t id, std::string_view name) {
    return Name(PlaneField::kStatMetadata, id, name);
  }
  /// Returns the plane as a field of the file.
  std::string Field() const {
    std::string out;
    ProtobufWriter(out).Bytes(SpaceField::kPlane, text_);
    return out;
  }

 private:
  std::string text_;
};

std::string IntegerStat(std::int64_t id, std::int64_t value) {
  std::string out;
  ProtobufWriter writer(out);
  writer.Message(EventField::kStat, [&] {
    writer.Varint(StatField::kMetadataId, id);
    writer.Varint(StatField::kSigned, value);
  });
  return out;
}

std::string TextStat(std::int64_t id, std::int64_t reference) {
  std::string out;
  ProtobufWriter writer(out);
  writer.Message(EventField::kStat, [&] {
    writer.Varint(StatField::kMetadataId, id);
    writer.Varint(StatField::kReference, reference);
  });
  return out;
}

std::unique_ptr<TraceStore> ReadAll(const std::string& bytes, std::size_t chunk_bytes = 1 << 16) {
  MemoryByteSource source(bytes);
  ReadOptions options;
  options.chunk_bytes = chunk_bytes;
  auto store = std::make_unique<TraceStore>();
  EXPECT_TRUE(Read(source, "test", options, *store).ok());
  return store;
}

std::string SmallTrace() {
  return PlaneText("/device:GPU:0")
             .Line(13, "Stream #13(Compute)", 1000,
                   {{1, 1'999, 2'001, IntegerStat(1, 7) + TextStat(2, 3)}})
             .Line(99, "XLA Ops", 1000, {{2, 0, 5'000}})
             .EventName(1, "loop_fusion")
             .EventName(2, "fusion.1")
             .StatName(1, "correlation_id")
             .StatName(2, "hlo_op")
             .StatName(3, "fusion.1")
             .Field() +
         PlaneText("/host:CPU")
             .Line(5, "python", 0,
                   {{1, 0, 900'000, IntegerStat(2, 12)}, {2, 500, 1'000, IntegerStat(1, 7)}})
             .EventName(1, "train")
             .EventName(2, "cuLaunchKernel")
             .StatName(1, "correlation_id")
             .StatName(2, "step_num")
             .Field();
}

TEST(XPlaneReader, FillsTheTables) {
  const auto store = ReadAll(SmallTrace());
  ASSERT_EQ(store->gpu_tasks.rows(), 1u);
  // Ends are rounded down, so that events that touch or nest in picoseconds do so in nanoseconds.
  EXPECT_EQ(store->gpu_tasks.start[0].ns(), 1001);
  EXPECT_EQ(store->gpu_tasks.duration[0].ns(), 3);
  EXPECT_EQ(store->Text(store->gpu_tasks.name[0]), "loop_fusion");
  EXPECT_EQ(store->streams.number[store->gpu_tasks.stream[0].index()], 13);
  ASSERT_EQ(store->steps.rows(), 1u);
  EXPECT_EQ(store->steps.index[0], 12);
  const HostEventId launch = store->gpu_tasks.launch[0];
  ASSERT_TRUE(launch.valid());
  const HostEventId op = store->host_events.parent[launch.index()];
  ASSERT_TRUE(op.valid());
  EXPECT_EQ(store->host_events.kind[op.index()], HostEventKind::kOperator);
  EXPECT_EQ(store->Text(store->host_events.name[op.index()]), "fusion.1");
  EXPECT_EQ(store->metadata.events, 4);
  EXPECT_TRUE(store->log.empty());
}

TEST(XPlaneReader, GivesTheSameInPiecesOfAnySize) {
  const std::string bytes = SmallTrace();
  for (const std::size_t chunk : {1u, 2u, 3u, 7u, 64u, 1000u}) {
    const auto store = ReadAll(bytes, chunk);
    EXPECT_EQ(store->gpu_tasks.rows(), 1u) << chunk;
    EXPECT_EQ(store->host_events.rows(), 4u) << chunk;
    EXPECT_TRUE(store->log.empty()) << chunk;
  }
}

TEST(XPlaneReader, FindsThePlaneBehindDamage) {
  const std::string bytes = SmallTrace();
  const auto store = ReadAll(std::string("\xff\xff\xff garbage", 11) + bytes);
  EXPECT_EQ(store->gpu_tasks.rows(), 1u);
  EXPECT_EQ(store->log.Count(ImportIssue::kLostEvent), 1);
}

TEST(XPlaneReader, KeepsThePlanesBeforeACut) {
  const std::string bytes = SmallTrace();
  const auto store = ReadAll(bytes.substr(0, bytes.size() - 3));
  EXPECT_EQ(store->gpu_tasks.rows(), 1u);
  EXPECT_EQ(store->log.Count(ImportIssue::kTruncated), 1);
}

TEST(XPlaneReader, LengthsThatLieCostNothingButTheirPlane) {
  std::string bytes = "\x0a";
  bytes += "\xff\xff\xff\xff\x07";  // 2 GiB minus one byte.
  bytes += SmallTrace();
  const auto store = ReadAll(bytes);
  EXPECT_GE(store->log.Count(ImportIssue::kTruncated) + store->log.Count(ImportIssue::kLostEvent),
            1);
}

TEST(XPlaneReader, NamesHaveAnyNumber) {
  // Reads each number in a plane too small for a dense table of that size, and in a larger plane.
  for (const std::int64_t number : {std::int64_t{63}, std::int64_t{65'535}, INT64_MAX}) {
    PlaneText plane("/host:CPU");
    plane.Line(5, "python", 0, {{number, 0, 9'000, IntegerStat(number, 7)}});
    plane.EventName(number, "cuLaunchKernel").StatName(number, "correlation_id");
    for (const std::int64_t others : {0, 2000}) {
      for (std::int64_t i = 0; i < others; ++i) plane.EventName(100'000 + i, "another operation");
      const auto store = ReadAll(plane.Field());
      ASSERT_EQ(store->host_events.rows(), 1u) << number;
      EXPECT_EQ(store->Text(store->host_events.name[0]), "cuLaunchKernel") << number;
      EXPECT_EQ(store->host_events.correlation[0], 7) << number;
      EXPECT_TRUE(store->log.empty()) << number;
    }
  }
}

TEST(XPlaneReader, ManyArgumentsAreKept) {
  std::string stats;
  PlaneText plane("/host:CPU");
  for (std::int64_t i = 1; i <= 300; ++i) stats += IntegerStat(i, i);
  plane.Line(5, "python", 0, {{1, 0, 9'000, stats}, {1, 9'000, 9'000, stats}});
  plane.EventName(1, "work");
  for (std::int64_t i = 1; i <= 300; ++i) plane.StatName(i, "s" + std::to_string(i));
  const auto store = ReadAll(plane.Field());
  ASSERT_EQ(store->host_events.rows(), 2u);
  EXPECT_TRUE(store->Text(store->host_events.args[0]).ends_with("\"s299\": 299, \"s300\": 300"));
  EXPECT_EQ(store->host_events.args[0], store->host_events.args[1]);
}

TEST(XPlaneReader, TellsWhatHoldsOthersOnATpu) {
  const auto store = ReadAll(PlaneText("/device:TPU:0")
                                 .Line(3, "XLA Ops", 0,
                                       {{1, 0, 10'000'000},
                                        {2, 0, 4'000'000},
                                        {2, 5'000'000, 5'000'000},
                                        {3, 10'000'000, 2'000'000},
                                        {2, 11'000'000, 1'000'000}})
                                 .EventName(1, "while.1")
                                 .EventName(2, "fusion.2")
                                 .EventName(3, "call.3")
                                 .Field());
  EXPECT_EQ(store->gpu_tasks.rows(), 3u);
  ASSERT_EQ(store->host_events.rows(), 2u);
  EXPECT_EQ(store->Text(store->host_events.name[0]), "while.1");
  EXPECT_EQ(store->Text(store->host_events.name[1]), "call.3") << "ends with what it holds";
}

TEST(XPlaneReader, AGraphOfSeveralOperationsIsOfNone) {
  const auto store = ReadAll(PlaneText("/device:GPU:0")
                                 .Line(1, "Stream #1(Compute)", 0,
                                       {{1, 100'000, 10'000, IntegerStat(1, 7) + TextStat(2, 3)},
                                        {1, 200'000, 10'000, IntegerStat(1, 7) + TextStat(2, 4)}})
                                 .EventName(1, "kernel")
                                 .StatName(1, "correlation_id")
                                 .StatName(2, "hlo_op")
                                 .StatName(3, "fusion.1")
                                 .StatName(4, "fusion.2")
                                 .Field() +
                             PlaneText("/host:CPU")
                                 .Line(5, "python", 0, {{1, 0, 9'000, IntegerStat(1, 7)}})
                                 .EventName(1, "cuGraphLaunch")
                                 .StatName(1, "correlation_id")
                                 .Field());
  ASSERT_EQ(store->host_events.rows(), 1u) << "no operator is drawn";
  EXPECT_TRUE(store->gpu_tasks.launch[0].valid());
  EXPECT_TRUE(store->gpu_tasks.launch[1].valid());
}

TEST(LooksLikeTrace, TellsProfilesByTheirFirstPlane) {
  EXPECT_TRUE(LooksLikeTrace(SmallTrace()));
  EXPECT_TRUE(LooksLikeTrace(std::string_view(SmallTrace()).substr(0, 40)));
  for (const char* other : {"", "{\"traceEvents\": []}", "\n\x10model", "\n\x06\x12\x04/etc"})
    EXPECT_FALSE(LooksLikeTrace(other)) << other;
}

}  // namespace xplane_reader_test
}  // namespace headroom::xplane
