// Splits a stream's idle time into two kinds: another stream of its device works, or the whole
// device idles.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/interval_set.h"

namespace headroom {

struct IdlePart {
  Interval span;
  bool others_work = false;  ///< False: the whole device idles.

  bool operator==(const IdlePart&) const = default;
};

/// Returns the length of the shortest of the `most` longest pauses between the intervals; 0 if
/// there are at most `most` pauses. O(|busy|).
DurationNs ShortestOfLongest(const IntervalSet& busy, std::size_t most);

/// Splits the idle spans of one stream.
class IdleCutter {
 public:
  /// @param busy      intervals in which any stream of the device works; must outlive the cutter
  /// @param shortest  minimum pause of the device; a shorter pause between the work of other
  /// streams counts as work
  IdleCutter(const IntervalSet& busy, DurationNs shortest)
      : work_(busy.intervals()), shortest_(shortest) {}

  /// Returns the parts of an idle span of the stream, in order; adjacent parts differ in kind.
  /// Valid until the next call. All calls together are O(spans + |busy|).
  ///
  /// REQUIRES: no span begins before the previous one ends
  std::span<const IdlePart> Cut(Interval idle);

 private:
  std::span<const Interval> work_;
  DurationNs shortest_;
  std::size_t next_ = 0;  ///< First interval that ends after the start of the last span.
  std::vector<IdlePart> parts_;
};

}  // namespace headroom
