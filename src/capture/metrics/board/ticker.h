// Absolute deadlines, one per period, so that the duration of a sample does not delay later
// samples.
#pragma once

#include <cassert>

#include "base/time.h"

namespace headroom {

class Ticker {
 public:
  /// The first deadline is one period after `start`. REQUIRES: period > 0.
  Ticker(TimeNs start, DurationNs period) : next_(start + period), period_(period) {
    assert(period.ns() > 0);
  }

  TimeNs next() const { return next_; }

  /// Moves to the first deadline after `now`. Skips missed deadlines: a burst of samples would have
  /// intervals too short for rates.
  void Advance(TimeNs now) {
    if (now < next_) return;
    const std::int64_t missed = (now - next_).ns() / period_.ns();
    next_ += DurationNs((missed + 1) * period_.ns());
  }

 private:
  TimeNs next_;
  DurationNs period_;
};

}  // namespace headroom
