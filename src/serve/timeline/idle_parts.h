// A stream's idle time in parts: while another stream of its device works, and while the whole
// device idles.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/interval_set.h"

namespace headroom {

struct IdlePart {
  Interval span;
  bool others_work = false;  ///< Else the whole device idles.

  bool operator==(const IdlePart&) const = default;
};

/// Pauses of at least this length are the longest `most` of those between the intervals; 0: there
/// are no more of them. O(|busy|).
DurationNs ShortestOfLongest(const IntervalSet& busy, std::size_t most);

/// Cuts the idle spans of one stream.
class IdleCutter {
 public:
  /// @param busy      when any stream of the device works; outlives the cutter
  /// @param shortest  a shorter pause of the device amid the work of others counts as their work
  IdleCutter(const IntervalSet& busy, DurationNs shortest)
      : work_(busy.intervals()), shortest_(shortest) {}

  /// The parts of a span in which the stream has no work, in order; neighbours differ. Good until
  /// the next call. All calls together are O(spans + |busy|).
  ///
  /// REQUIRES: no span begins before the last one ended
  std::span<const IdlePart> Cut(Interval idle);

 private:
  std::span<const Interval> work_;
  DurationNs shortest_;
  std::size_t next_ = 0;  ///< First that ends behind the last span's begin.
  std::vector<IdlePart> parts_;
};

}  // namespace headroom
