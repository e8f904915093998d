// Tests the encoded bytes. Tests with the reader are in tests/recording/, and tests with protoc in
// tests/integration/test_recording.py.
#include "capture/trace_encoder.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {
namespace trace_encoder_test {

/// Returns the packet lengths of a trace; empty if the trace ends inside a packet.
std::vector<std::size_t> PacketLengths(std::string_view trace) {
  std::vector<std::size_t> lengths;
  std::size_t at = 0;
  while (at < trace.size() && trace[at] == '\x0a') {
    std::size_t length = 0;
    int shift = 0;
    do {
      ++at;
      length |= std::size_t(trace[at] & 0x7f) << shift;
      shift += 7;
    } while ((trace[at] & 0x80) != 0);
    at += 1 + length;
    lengths.push_back(length);
  }
  return at == trace.size() ? lengths : std::vector<std::size_t>();
}

TEST(TraceEncoder, BeginsWithAClearedStateAndTheClockOfItsStamps) {
  TraceEncoder encoder(/*sequence_id=*/7);
  EXPECT_EQ(encoder.Take(), std::string("\x0a\x0a"      // packet
                                        "\x50\x07"      // sequence 7
                                        "\x68\x01"      // incremental state cleared
                                        "\xda\x03\x03"  // defaults
                                        "\xd0\x03\x03"  // clock: monotonic
                                        ));
}

TEST(TraceEncoder, WritesARegionInTwoShortPackets) {
  TraceEncoder encoder;
  encoder.Take();
  encoder.Begin(/*track=*/5, TimeNs(300), /*name=*/1, /*category=*/2);
  EXPECT_EQ(encoder.Take(), std::string("\x0a\x11"
                                        "\x40\xac\x02"  // time
                                        "\x50\x01"      // sequence
                                        "\x68\x02"      // needs incremental state
                                        "\x5a\x08"      // track event
                                        "\x48\x01"      // begins
                                        "\x58\x05"      // on track 5
                                        "\x18\x02"      // category
                                        "\x50\x01"));   // name
  encoder.End(5, TimeNs(301));
  EXPECT_EQ(encoder.Take(),
            std::string("\x0a\x0d\x40\xad\x02\x50\x01\x68\x02\x5a\x04\x48\x02\x58\x05"));
}

TEST(TraceEncoder, InternsATextOnce) {
  TraceEncoder encoder;
  const TraceEncoder::Name forward = encoder.Intern("forward");
  encoder.Take();
  EXPECT_EQ(encoder.Intern("forward"), forward);
  EXPECT_EQ(encoder.size(), 0u);
  EXPECT_NE(encoder.Intern("backward"), forward);
  EXPECT_GT(encoder.size(), 0u);
}

TEST(TraceEncoder, TracksOfDifferentSequencesDiffer) {
  EXPECT_NE(TraceEncoder(1).ProcessTrack(1, "a"), TraceEncoder(2).ProcessTrack(1, "a"));
}

TEST(TraceEncoder, KeepsLengthsRightWhereTheyGrow) {
  // The varint of a length grows by a byte at 128, 16384 and so on. This applies to the lengths of
  // a string, its message and the packet.
  for (const std::size_t size :
       {0u, 1u, 90u, 100u, 110u, 120u, 126u, 127u, 128u, 129u, 16'370u, 16'384u, 40'000u}) {
    TraceEncoder encoder;
    encoder.Intern(std::string(size, 'x'));
    const TraceArg args[] = {{"text", std::string_view()}, {"number", 1.5}, {"integer", INT64_MIN}};
    encoder.Instant(encoder.ChildTrack(0, std::string(size, 'y')), TimeNs(1), 1, 1, args);
    EXPECT_EQ(PacketLengths(encoder.Take()).size(), 7u)
        << size;  // First packet, event name, track, 3 argument names, event.
  }
}

TEST(TraceEncoder, TakesWholePacketsOfExtremeValues) {
  constexpr auto kHighest = std::numeric_limits<std::uint32_t>::max();
  TraceEncoder encoder(kHighest);
  const std::vector<TraceArg> args(40, TraceArg{"n", INT64_MAX});
  encoder.Begin(UINT64_MAX, TimeNs(-1), kHighest, kHighest, args);
  encoder.Begin(UINT64_MAX, TimeNs(-1), kHighest, kHighest);
  encoder.End(UINT64_MAX, TimeNs(INT64_MAX));
  encoder.Counter(UINT64_MAX, TimeNs(INT64_MIN), -1e308);
  encoder.GpuTask(
      {.device = -1, .stream = INT64_MIN, .name = "", .duration = DurationNs(-1), .args = args});
  EXPECT_EQ(PacketLengths(encoder.Take()).size(), 9u);
}

}  // namespace trace_encoder_test
}  // namespace headroom
