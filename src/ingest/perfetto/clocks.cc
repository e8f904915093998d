#include "ingest/perfetto/clocks.h"

#include <algorithm>
#include <limits>

#include "base/perfetto_fields.h"
#include "base/protobuf_reader.h"

namespace headroom::perfetto {
namespace {

/// Ends are computed as start + duration, which must not overflow either.
constexpr std::int64_t kFurthest = std::numeric_limits<std::int64_t>::max() / 4;

bool InRange(std::int64_t ns) { return ns >= -kFurthest && ns <= kFurthest; }

struct Reading {
  std::pair<std::uint32_t, std::uint32_t> key;
  std::int64_t ns;
};

}  // namespace

Clocks::Key Clocks::KeyOf(std::uint32_t sequence, std::uint32_t clock) {
  const bool of_sequence = clock >= 64 && clock < 128;
  return {of_sequence ? sequence : 0, clock};
}

bool Clocks::AddSnapshot(std::uint32_t sequence, std::string_view message) {
  std::vector<Reading> readings;
  std::uint32_t primary = 0;
  ProtobufReader snapshot(message);
  while (snapshot.Next()) {
    if (snapshot.as<ClockSnapshotField>() == ClockSnapshotField::kPrimaryTraceClock)
      primary = static_cast<std::uint32_t>(snapshot.integer());
    if (snapshot.as<ClockSnapshotField>() != ClockSnapshotField::kClock) continue;
    std::uint32_t id = 0;
    std::int64_t stamp = 0, unit = 1;
    bool incremental = false;
    ProtobufReader clock(snapshot.bytes());
    while (clock.Next()) {
      switch (clock.as<ClockField>()) {
        case ClockField::kId:
          id = static_cast<std::uint32_t>(clock.integer());
          break;
        case ClockField::kTimestamp:
          stamp = clock.signed_integer();
          break;
        case ClockField::kIsIncremental:
          incremental = clock.integer() != 0;
          break;
        case ClockField::kUnitNs:
          unit = std::max<std::int64_t>(1, clock.signed_integer());
          break;
      }
    }
    std::int64_t ns = 0;
    if (clock.damaged() || id == 0 || __builtin_mul_overflow(stamp, unit, &ns) || !InRange(ns))
      return false;
    const Key key = KeyOf(sequence, id);
    State& state = clocks_[key];
    state.unit_ns = unit;
    state.incremental = incremental;
    state.last = stamp;
    readings.push_back({key, ns});
  }
  if (snapshot.damaged() || readings.empty()) return false;

  const auto find = [&](Key key) {
    return std::find_if(readings.begin(), readings.end(),
                        [&](const Reading& reading) { return reading.key == key; });
  };
  if (!trace_clock_) {
    const Key boot = KeyOf(sequence, static_cast<std::uint32_t>(Clock::kBoottime));
    trace_clock_ = primary != 0                   ? KeyOf(sequence, primary)
                   : find(boot) != readings.end() ? boot
                                                  : readings.front().key;
  }
  // The time of the snapshot on the trace clock. It comes from a reading of that clock, or of a
  // clock that an earlier snapshot joined to it.
  std::optional<std::int64_t> now;
  if (const auto read = find(*trace_clock_); read != readings.end()) now = read->ns;
  for (const Reading& reading : readings) {
    const State& state = clocks_[reading.key];
    if (!now && !state.pieces.empty()) now = reading.ns + state.pieces.back().offset;
  }
  if (!now) return true;
  for (const Reading& reading : readings) {
    std::vector<Piece>& pieces = clocks_[reading.key].pieces;
    const std::int64_t offset = *now - reading.ns;
    if (!pieces.empty() && (pieces.back().offset == offset || reading.ns < pieces.back().from))
      continue;
    pieces.push_back({reading.ns, offset});
  }
  const auto unix_time = find(KeyOf(sequence, static_cast<std::uint32_t>(Clock::kRealtime)));
  if (!unix_time_ns_ && unix_time != readings.end()) unix_time_ns_ = unix_time->ns - *now;
  return true;
}

std::optional<TimeNs> Clocks::ToTrace(std::uint32_t sequence, std::uint32_t clock,
                                      std::uint64_t stamp) {
  const auto value = static_cast<std::int64_t>(stamp);
  const Key key = KeyOf(sequence, clock);
  if (clock == 0 || key == trace_clock_) {
    return InRange(value) ? std::optional(TimeNs(value)) : std::nullopt;
  }
  if (!trace_clock_ && key.first == 0) {
    trace_clock_ = key;
    return InRange(value) ? std::optional(TimeNs(value)) : std::nullopt;
  }
  const auto found = clocks_.find(key);
  if (found == clocks_.end()) return std::nullopt;
  State& state = found->second;
  std::int64_t units = value;
  if (state.incremental) {
    if (__builtin_add_overflow(state.last, value, &units)) return std::nullopt;
    state.last = units;
  }
  std::int64_t ns = 0;
  if (state.pieces.empty() || __builtin_mul_overflow(units, state.unit_ns, &ns) || !InRange(ns))
    return std::nullopt;
  // The last piece applies to nearly all timestamps.
  auto piece = state.pieces.end() - 1;
  if (ns < piece->from) {
    piece = std::upper_bound(state.pieces.begin(), state.pieces.end(), ns,
                             [](std::int64_t at, const Piece& p) { return at < p.from; });
    if (piece != state.pieces.begin()) --piece;
  }
  const std::int64_t on_trace_clock = ns + piece->offset;
  return InRange(on_trace_clock) ? std::optional(TimeNs(on_trace_clock)) : std::nullopt;
}

}  // namespace headroom::perfetto
