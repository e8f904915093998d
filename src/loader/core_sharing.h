// Measures how much busy threads slow each other down. Compares recorded samples that ran while
// other threads were busy with samples that ran on an idle machine.
#pragma once

#include <vector>

#include "base/interval_set.h"
#include "base/time.h"
#include "loader/loader_profile.h"

namespace headroom {

/// Returns the speed of each of `busy` threads on `cores` logical CPUs, relative to one thread
/// alone. Uses the rule of SimulateLoading(), but excludes waits for a core. Requires cores > 0.
double SpeedBesideOthers(double busy, double cores, double smt_gain);

/// Number of loop and worker threads that wanted to run at each moment.
class BusyThreads {
 public:
  explicit BusyThreads(const LoaderProfile& profile);

  /// Returns the mean over an interval; 0 if it is empty.
  double MeanIn(Interval interval) const;
  /// Returns the mean of SpeedBesideOthers() over an interval; 1 if it is empty.
  double SpeedIn(Interval interval, double cores, double smt_gain) const;

 private:
  struct Piece {
    TimeNs start;
    double busy;
  };
  template <typename Value>
  double Mean(Interval interval, Value value) const;

  /// In order of time. Each piece lasts until the next one starts; no thread is busy in the last
  /// piece.
  std::vector<Piece> pieces_;
};

struct CoreSharing {
  double smt_gain = 2;    ///< Machine::smt_gain.
  bool measured = false;  ///< If false, `smt_gain` is a typical value for this kind of machine.
};

/// Compares samples that ran while all cores were busy with samples that ran while at most half of
/// them were busy. Returns an assumed gain if either group has fewer than 24 samples, or if threads
/// queued for cores.
CoreSharing MeasureCoreSharing(const LoaderProfile& profile, const BusyThreads& busy, double cores);

}  // namespace headroom
