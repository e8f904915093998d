// Tests damaged recordings: cut, overwritten, or with impossible lengths and ids. Reading never
// fails. It returns the intact parts, in pieces of any size.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/perfetto_fields.h"
#include "base/protobuf_writer.h"
#include "capture/trace_encoder.h"
#include "ingest/perfetto/packet_stream.h"
#include "read_recording.h"

namespace headroom::testing {
namespace {

using perfetto::LooksLikeTrace;

/// Forty regions, in layers of two, and twenty GPU tasks.
std::string SmallRecording(int layers = 20) {
  TraceEncoder encoder;
  encoder.ClockSnapshot(TimeNs(1), TimeNs(1), TimeNs(1));
  const auto track = encoder.ThreadTrack(1, 2, "main");
  const auto category = encoder.Category("region");
  for (int i = 0; i < layers; ++i) {
    const TraceArg args[] = {{"correlation", std::int64_t{i}}};
    encoder.Begin(track, TimeNs(100 * i), encoder.Intern("outer"), category);
    encoder.Begin(track, TimeNs(100 * i + 10), encoder.Intern("inner"), category, args);
    encoder.End(track, TimeNs(100 * i + 20));
    encoder.End(track, TimeNs(100 * i + 90));
    encoder.GpuTask({.stream = 7,
                     .name = "gemm",
                     .start = TimeNs(100 * i + 15),
                     .duration = DurationNs(50),
                     .args = args});
  }
  return encoder.Take();
}

/// Returns the ends of the packets in a whole trace.
std::vector<std::size_t> PacketEnds(const std::string& trace) {
  MemoryByteSource source(trace);
  ImportLog log;
  perfetto::PacketStream packets(source, 4096, 1 << 20, log);
  perfetto::Packet packet;
  std::vector<std::size_t> ends;
  while (packets.Next(packet).value()) {
    if (packet.offset > 0) ends.push_back(static_cast<std::size_t>(packet.offset));
  }
  ends.push_back(trace.size());
  EXPECT_TRUE(log.empty());
  return ends;
}

/// Returns all parts of a reading that a user sees.
std::string Summary(const TraceStore& store) {
  std::string text = fmt::format("{} events\n", store.metadata.events);
  for (std::size_t row = 0; row < store.host_events.rows(); ++row) {
    const auto& rows = store.host_events;
    text += fmt::format("{} {} {} {} {}\n", rows.thread[row].index(), rows.start[row].ns(),
                        rows.duration[row].ns(), store.Text(rows.name[row]), rows.correlation[row]);
  }
  for (std::size_t row = 0; row < store.gpu_tasks.rows(); ++row) {
    const auto& rows = store.gpu_tasks;
    text += fmt::format("{} {} {} {}\n", rows.stream[row].index(), rows.start[row].ns(),
                        rows.duration[row].ns(), store.Text(rows.name[row]));
  }
  for (std::size_t i = 0; i < store.strings.size(); ++i)
    text += fmt::format("'{}' ", store.strings.Get(StringId(i)));
  for (const ImportLogRow& row : store.log.rows())
    text += fmt::format("\n{} at {}: {}", DocOf(row.issue).code, row.offset, row.detail);
  return text;
}

TEST(DamagedRecording, IsReadUpToItsLastWholePacketWhereverItIsCut) {
  const std::string trace = SmallRecording(/*layers=*/5);
  const std::vector<std::size_t> ends = PacketEnds(trace);
  std::size_t whole = 0;  // Packets before the cut.
  for (std::size_t cut = 0; cut <= trace.size(); ++cut) {
    while (whole < ends.size() && ends[whole] <= cut) ++whole;
    const auto store = ReadRecording(trace.substr(0, cut), 100);
    const bool between = whole == 0 ? cut == 0 : ends[whole - 1] == cut;
    EXPECT_EQ(store->log.Count(ImportIssue::kTruncated), between ? 0 : 1) << cut;
    EXPECT_EQ(store->log.Count(ImportIssue::kLostEvent), 0) << cut;
    const auto of_whole = ReadRecording(trace.substr(0, whole == 0 ? 0 : ends[whole - 1]), 100);
    EXPECT_EQ(store->host_events.rows(), of_whole->host_events.rows()) << cut;
    EXPECT_EQ(store->gpu_tasks.rows(), of_whole->gpu_tasks.rows()) << cut;
  }
}

TEST(DamagedRecording, LosesOneEventToAFlippedByteAndGoesOn) {
  const std::string trace = SmallRecording(/*layers=*/5);
  const auto whole = ReadRecording(trace);
  // The first packets define the clock of the timestamps. If they are damaged, the timestamps that
  // use them are lost, and the log reports it.
  const std::size_t clock_end = PacketEnds(trace)[2];
  for (std::size_t at = 0; at < trace.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      std::string damaged = trace;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const auto store = ReadRecording(damaged);
      EXPECT_EQ(Summary(*store), Summary(*ReadRecording(damaged, 7))) << at << " " << bit;
      if (at < clock_end && store->log.Count(ImportIssue::kUnknownClock) > 0) continue;
      // A wrong length can also swallow the next packet. A lost name or track loses no event.
      EXPECT_GE(store->host_events.rows() + 2, whole->host_events.rows()) << at << " " << bit;
      EXPECT_GE(store->gpu_tasks.rows() + 2, whole->gpu_tasks.rows()) << at << " " << bit;
    }
  }
}

RC_GTEST_PROP(DamagedRecording, IsReadAlikeInPiecesOfAnySize, ()) {
  std::string trace = SmallRecording();
  for (int i = *rc::gen::inRange(0, 8); i > 0; --i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, trace.size());
    const auto length = *rc::gen::inRange<std::size_t>(0, 30);
    const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
    trace.replace(at, length, bytes);
  }
  const auto whole = ReadRecording(trace);
  const auto pieces = ReadRecording(trace, *rc::gen::inRange<std::size_t>(1, 300), 3);
  RC_ASSERT(Summary(*whole) == Summary(*pieces));
}

TEST(DamagedRecording, StaysReadableWithoutItsBeginning) {
  const std::string trace = SmallRecording();
  const std::vector<std::size_t> ends = PacketEnds(trace);
  for (const std::size_t torn : {std::size_t{1}, ends[0], ends[3] + 3}) {
    const auto store = ReadRecording(trace.substr(torn));
    EXPECT_EQ(store->host_events.rows(), 40u) << torn;
    EXPECT_EQ(store->gpu_tasks.rows(), 20u) << torn;
  }
  // The rest loses only the names that were defined earlier.
  const auto store = ReadRecording(trace.substr(ends[4]));
  EXPECT_GT(store->log.Count(ImportIssue::kMissingName), 0);
}

TEST(DamagedRecording, ClosesRegionsThatNeverEndAtTheLastStampOfTheirSequence) {
  TraceEncoder encoder;
  const auto track = encoder.ThreadTrack(1, 2, "main");
  const auto other = encoder.ThreadTrack(1, 3, "other");
  const auto category = encoder.Category("region");
  encoder.Begin(track, TimeNs(100), encoder.Intern("EPOCH"), category);
  encoder.Begin(track, TimeNs(200), encoder.Intern("BATCH"), category);
  encoder.End(other, TimeNs(300));
  encoder.Begin(other, TimeNs(400), encoder.Intern("done"), category);
  encoder.End(other, TimeNs(500));
  const auto store = ReadRecording(encoder.Take());
  ASSERT_EQ(store->host_events.rows(), 3u);
  EXPECT_EQ(store->HostEnd(HostEventId(0u)), TimeNs(500));
  EXPECT_EQ(store->HostEnd(HostEventId(1u)), TimeNs(500));
  EXPECT_EQ(store->log.Count(ImportIssue::kUnfinishedSpan), 2);
  EXPECT_EQ(store->log.Count(ImportIssue::kUnmatchedEnd), 1);
  EXPECT_GT(store->log.rows().front().offset, 0);
}

TEST(DamagedRecording, AStepThatNeverEndsIsNoneAndCountersDoNotStretchIt) {
  TraceEncoder encoder;
  const auto track = encoder.ThreadTrack(1, 2, "main");
  const auto category = encoder.Category("step");
  const auto step = [&](std::int64_t number, std::int64_t begin) {
    const TraceArg arg{"step", number};
    encoder.Begin(track, TimeNs(begin), encoder.Intern("step"), category, std::span(&arg, 1));
  };
  step(0, 100);
  encoder.End(track, TimeNs(200));
  step(1, 300);
  encoder.Begin(track, TimeNs(350), encoder.Intern("FORWARD"), encoder.Category("region"));
  encoder.Instant(track, TimeNs(9000), encoder.Intern("late"), encoder.Category("headroom"));
  const auto store = ReadRecording(encoder.Take());
  ASSERT_EQ(store->host_events.rows(), 3u);
  EXPECT_EQ(store->HostEnd(HostEventId(1u)), TimeNs(350));
  ASSERT_EQ(store->steps.rows(), 1u);
  EXPECT_EQ(store->steps.index[0], 0);
  EXPECT_EQ(store->log.Count(ImportIssue::kUnfinishedSpan), 2);
}

/// Returns one packet with the fields that `fill` writes.
template <typename Fill>
std::string PacketOf(Fill&& fill) {
  std::string bytes;
  ProtobufWriter writer(bytes);
  writer.Message(perfetto::TraceField::kPacket, [&] { fill(writer); });
  return bytes;
}

TEST(DamagedRecording, SaysWhatItCannotPlace) {
  using perfetto::PacketField;
  const auto event = [](ProtobufWriter& packet, std::string_view more = {}) {
    packet.Message(PacketField::kTrackEvent, [&] {
      packet.Varint(perfetto::TrackEventField::kType, perfetto::TrackEventType::kInstant);
      packet.Bytes(perfetto::TrackEventField::kName, more);
    });
  };
  const auto at = [](ProtobufWriter& packet, std::uint64_t time) {
    packet.Varint(PacketField::kTimestamp, time);
  };
  const struct {
    std::string_view what;
    std::string packet;
    ImportIssue issue;
  } kCases[] = {
      {"a clock that no snapshot has", PacketOf([&](ProtobufWriter& p) {
         at(p, 5);
         p.Varint(PacketField::kTimestampClockId, 77);
         event(p);
       }),
       ImportIssue::kUnknownClock},
      {"no stamp", PacketOf([&](ProtobufWriter& p) { event(p); }), ImportIssue::kBadTime},
      {"a stamp of the next millennium but 200", PacketOf([&](ProtobufWriter& p) {
         at(p, UINT64_MAX / 2);
         event(p);
       }),
       ImportIssue::kBadTime},
      {"a name that is not there", PacketOf([&](ProtobufWriter& p) {
         at(p, 5);
         p.Message(PacketField::kTrackEvent, [&] {
           p.Varint(perfetto::TrackEventField::kType, perfetto::TrackEventType::kInstant);
           p.Varint(perfetto::TrackEventField::kNameIid, 999'999'999'999);
         });
       }),
       ImportIssue::kMissingName},
      {"data of another kind", PacketOf([&](ProtobufWriter& p) {
         at(p, 5);
         p.Bytes(1, "ftrace");
       }),
       ImportIssue::kUnreadData},
      {"an event of no type", PacketOf([&](ProtobufWriter& p) {
         at(p, 5);
         p.Bytes(PacketField::kTrackEvent, "\x58\x01");
       }),
       ImportIssue::kUnreadData},
      {"an event that is cut inside", PacketOf([&](ProtobufWriter& p) {
         at(p, 5);
         p.Bytes(PacketField::kTrackEvent, "\x48\x03\x58");
       }),
       ImportIssue::kLostEvent},
      {"a packet that claims a terabyte", std::string("\x0a\xff\xff\xff\xff\xff\x1f\x40\x05"),
       ImportIssue::kLostEvent},
      {"compressed packets that are none",
       PacketOf([&](ProtobufWriter& p) { p.Bytes(PacketField::kCompressedPackets, "not zlib"); }),
       ImportIssue::kLostEvent},
  };
  const std::string trace = SmallRecording();
  for (const auto& c : kCases) {
    std::string twice = trace;
    twice.append(c.packet).append(trace);
    const auto store = ReadRecording(twice);
    EXPECT_EQ(store->log.Count(c.issue), 1) << c.what;
    ASSERT_FALSE(store->log.rows().empty()) << c.what;
    EXPECT_EQ(store->log.rows()[0].offset, static_cast<std::int64_t>(trace.size())) << c.what;
    EXPECT_EQ(store->gpu_tasks.rows(), 20u) << c.what;  // Tasks of the second copy are duplicates.
  }
}

TEST(DamagedRecording, TakesTheLaterOfTwoTextsWithOneId) {
  using namespace perfetto;  // NOLINT(google-build-using-namespace): field numbers.
  const auto name = [](std::string_view text) {
    return PacketOf([&](ProtobufWriter& p) {
      p.Varint(PacketField::kSequenceId, 9);
      p.Message(PacketField::kInternedData, [&] {
        p.Message(InternedDataField::kEventNames, [&] {
          p.Varint(InternedField::kIid, 1);
          p.Bytes(InternedField::kText, text);
        });
      });
    });
  };
  const std::string instant = PacketOf([&](ProtobufWriter& p) {
    p.Varint(PacketField::kSequenceId, 9);
    p.Varint(PacketField::kTimestamp, 5);
    p.Message(PacketField::kTrackEvent, [&] {
      p.Varint(TrackEventField::kType, TrackEventType::kInstant);
      p.Varint(TrackEventField::kNameIid, 1);
    });
  });
  const auto store = ReadRecording(name("a") + instant + name("a") + name("b") + instant);
  ASSERT_EQ(store->instants.rows(), 2u);
  EXPECT_EQ(store->Text(store->instants.name[0]), "a");
  EXPECT_EQ(store->Text(store->instants.name[1]), "b");
  EXPECT_EQ(store->log.Count(ImportIssue::kConflictingName), 1);
}

TEST(LooksLikeTrace, TellsOurOwnFromOtherProtobuf) {
  const std::string trace = SmallRecording();
  for (std::size_t size = 4; size < trace.size(); ++size)
    EXPECT_TRUE(LooksLikeTrace(std::string_view(trace).substr(0, size))) << size;
  const std::string others[] = {
      "",
      "\n",
      "\n\x05",
      "{\"traceEvents\": []}",
      "\n{\n}",
      "[\n",
      "\n\n\n\n\n\n\n\n",
      std::string("\n\x7b\x40") + std::string(500, '\0'),              // A stamp without more data.
      std::string("\n\xa0\x02\x08\x01\x12") + std::string(500, '\0'),  // XPlane.
      "\n\x04\x12\x02hi",                                              // XPlane without an id.
  };
  for (const std::string& other : others) EXPECT_FALSE(LooksLikeTrace(other)) << other;
}

}  // namespace
}  // namespace headroom::testing
