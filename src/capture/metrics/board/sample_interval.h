// How often something dear may be read: as seldom as its own cost asks for.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace headroom {

/// Keeps a reading that took time t from the next ones for `factor` x t, but not longer than
/// `longest`: its share of one core stays below 1 / factor as far as that allows.
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
