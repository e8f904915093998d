// For tests: ranks with given collectives, on separate clocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ranks/rank_timeline.h"

namespace headroom {

/// Takes events in true time, in microseconds, and records them on each rank's clock.
class RankBuilder {
 public:
  explicit RankBuilder(std::size_t ranks) : ranks_(ranks), offset_us_(ranks), drift_(ranks) {
    for (std::size_t r = 0; r < ranks; ++r) ranks_[r].rank = static_cast<std::int64_t>(r);
  }

  /// Sets the rank's clock ahead by `offset_us`, and makes it run faster by the share `drift`.
  RankBuilder& Clock(std::size_t rank, double offset_us, double drift = 0) {
    offset_us_[rank] = offset_us;
    drift_[rank] = drift;
    return *this;
  }

  /// Adds a step to all ranks.
  RankBuilder& Step(std::int64_t number, double start_us, double length_us) {
    step_ = number;
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      ranks_[r].steps.push_back({.number = number,
                                 .start = Seen(r, start_us),
                                 .wall = DurationNs(static_cast<std::int64_t>(1e3 * length_us))});
    return *this;
  }

  /// Adds an all-reduce with one arrival per rank; all ranks end together. A rank with a negative
  /// arrival records nothing.
  RankBuilder& AllReduce(const std::vector<double>& arrivals_us, double end_us,
                         double bytes = 1e6) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (arrivals_us[r] < 0) continue;
      ranks_[r].collectives.push_back({.group = "world",
                                       .kind = "allreduce",
                                       .step = step_,
                                       .start = Seen(r, arrivals_us[r]),
                                       .end = Seen(r, end_us),
                                       .bytes = bytes,
                                       .members = static_cast<std::int64_t>(ranks_.size()),
                                       .hidden = {}});
    }
    return *this;
  }

  /// Adds a send or receive between neighbours to one rank.
  RankBuilder& Record(std::size_t rank, const std::string& kind, double start_us, double end_us) {
    ranks_[rank].collectives.push_back({.group = "pipeline",
                                        .kind = kind,
                                        .step = step_,
                                        .start = Seen(rank, start_us),
                                        .end = Seen(rank, end_us),
                                        .bytes = {},
                                        .members = {},
                                        .hidden = {}});
    return *this;
  }

  const std::vector<RankTimeline>& ranks() const { return ranks_; }
  RankTimeline& rank(std::size_t r) { return ranks_[r]; }

 private:
  TimeNs Seen(std::size_t rank, double true_us) const {
    return TimeNs(
        static_cast<std::int64_t>(1e3 * (true_us * (1 + drift_[rank]) + offset_us_[rank])));
  }

  std::vector<RankTimeline> ranks_;
  std::vector<double> offset_us_, drift_;
  std::int64_t step_ = RankCollective::kNoStep;
};

}  // namespace headroom
