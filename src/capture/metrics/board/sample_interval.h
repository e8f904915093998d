// Limits how often an expensive reading runs, based on its duration.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace headroom {

/// After a reading of duration t, suppresses the next for `factor` x t, but at most for `longest`.
/// The readings therefore use less than 1 / factor of a core, unless `longest` applies.
class SampleInterval {
 public:
  SampleInterval(std::int64_t factor, DurationNs longest) : factor_(factor), longest_(longest) {}

  bool Due(TimeNs now) const { return now >= next_; }

  void Took(TimeNs begin, TimeNs end) {
    const std::int64_t cost = std::min((end - begin).ns(), longest_.ns() / factor_ + 1);
    next_ = begin + std::min(DurationNs(cost * factor_), longest_);
  }

 private:
  std::int64_t factor_;
  DurationNs longest_;
  TimeNs next_{INT64_MIN};
};

}  // namespace headroom
