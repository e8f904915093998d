// How much threads that are busy at the same time slow each other down, told by the recording
// itself: samples that were prepared beside other work against those that had the machine to
// themselves.
#pragma once

#include <vector>

#include "base/interval_set.h"
#include "base/time.h"
#include "loader/loader_profile.h"

namespace headroom {

/// Speed of each of `busy` threads on `cores` logical CPUs, as a share of that of one alone: the
/// rule of SimulateLoading(), without the queue for a core. REQUIRES: cores > 0.
double SpeedBesideOthers(double busy, double cores, double smt_gain);

/// How many threads of loop and workers wanted to run at each moment.
class BusyThreads {
 public:
  explicit BusyThreads(const LoaderProfile& profile);

  /// Mean over an interval; 0 where it is empty.
  double MeanIn(Interval interval) const;
  /// Mean of SpeedBesideOthers() over an interval; 1 where it is empty.
  double SpeedIn(Interval interval, double cores, double smt_gain) const;

 private:
  struct Piece {
    TimeNs start;
    double busy;
  };
  template <typename Value>
  double Mean(Interval interval, Value value) const;

  std::vector<Piece> pieces_;  ///< By time; each lasts to the next, the last holds nothing.
};

struct CoreSharing {
  double smt_gain = 2;    ///< As of Machine.
  bool measured = false;  ///< Else `smt_gain` is what such machines have on average.
};

/// Compares the samples that ran beside so much that all cores were busy with those beside which at
/// most half were. Not measured where either are fewer than 24, or where threads queued for cores.
CoreSharing MeasureCoreSharing(const LoaderProfile& profile, const BusyThreads& busy, double cores);

}  // namespace headroom
