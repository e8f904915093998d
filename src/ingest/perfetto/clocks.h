// The clocks of a Perfetto trace, joined by its snapshots.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace headroom::perfetto {

/// Converts timestamps of any clock to the trace clock. The first snapshot decides that clock: its
/// primary clock, else its boot time, else its first clock. Without a snapshot, the clock of the
/// first timestamp is used.
///
/// Between two snapshots the earlier one applies: clocks drift by parts per million, and an event
/// is never far from a snapshot. Times before the first snapshot of a clock use that snapshot.
class Clocks {
 public:
  /// Adds a ClockSnapshot message of a sequence. Returns false if it is damaged.
  bool AddSnapshot(std::uint32_t sequence, std::string_view message);

  /// Converts a timestamp to the trace clock. Returns nullopt if no snapshot so far relates its
  /// clock to the trace clock, or if the time is out of range. Clock 0 is the trace clock.
  /// Timestamps of incremental clocks must be passed exactly once, in order.
  std::optional<TimeNs> ToTrace(std::uint32_t sequence, std::uint32_t clock, std::uint64_t stamp);

  /// Returns the Unix time at which the trace clock is 0; nullopt if no snapshot contains a Unix
  /// time.
  std::optional<std::int64_t> unix_time_ns() const { return unix_time_ns_; }

 private:
  /// From `from` on, a clock's time plus `offset` is the time of the trace clock.
  struct Piece {
    std::int64_t from;
    std::int64_t offset;
  };
  struct State {
    std::int64_t unit_ns = 1;
    bool incremental = false;
    std::int64_t last = 0;  ///< Last value of an incremental clock, in units.
    std::vector<Piece> pieces;
  };
  /// Clocks 64 to 127 belong to their sequence, all others to the trace (sequence 0).
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  static Key KeyOf(std::uint32_t sequence, std::uint32_t clock);

  std::map<Key, State> clocks_;
  std::optional<Key> trace_clock_;
  std::optional<std::int64_t> unix_time_ns_;
};

}  // namespace headroom::perfetto
