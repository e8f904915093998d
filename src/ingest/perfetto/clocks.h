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

/// Converts stamps of any clock to the trace's: the one that the first snapshot calls primary, else
/// its boot time, else its first; without a snapshot, that of the first stamp.
///
/// Between two snapshots the first of them counts: clocks drift by parts in a million, and an event
/// never lies far from one. Before the first snapshot of a clock, that one counts.
class Clocks {
 public:
  /// Takes in a ClockSnapshot message of a sequence. False where it is damaged.
  bool AddSnapshot(std::uint32_t sequence, std::string_view message);

  /// A stamp on the trace clock, or nothing where no snapshot relates its clock (yet) or it is out
  /// of range. Clock 0 is the trace's own. Stamps of clocks that count from one stamp to the next
  /// must be passed once each, in order.
  std::optional<TimeNs> ToTrace(std::uint32_t sequence, std::uint32_t clock, std::uint64_t stamp);

  /// Unix time of the trace clock's zero, where a snapshot says so.
  std::optional<std::int64_t> unix_time_ns() const { return unix_time_ns_; }

 private:
  /// From `from` on, a clock's time plus `offset` is the trace clock's.
  struct Piece {
    std::int64_t from;
    std::int64_t offset;
  };
  struct State {
    std::int64_t unit_ns = 1;
    bool incremental = false;
    std::int64_t last = 0;  ///< In units; of an incremental clock.
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
