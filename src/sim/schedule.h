// Replays a graph: computes the time of every moment, with durations and lags that an edit may have
// changed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/event_loop.h"
#include "sim/plan.h"

namespace headroom {

/// The times of one or more cycles.
struct Replayed {
  double step_ns = 0;  ///< Time per step in the steady state.
  /// Step times of the last cycle, by step; a step ends when its GPU work ends.
  std::vector<double> step_walls_ns;
  bool settled = true;  ///< True if the last two cycles took the same time.
};

/// Replays a plan repeatedly, one cycle after the other. Keeps its memory between calls.
class Replayer {
 public:
  /// Replays cycles until the times of two consecutive cycles differ by at most 0.02 %, or for
  /// `kMaxCycles`. Replays a plan that is not periodic once, from its first moment to its last
  /// work.
  Replayed Run(const Plan& plan);

  /// Replays a single cycle, which no earlier cycle delays. Returns moments by number, in ns.
  ///
  /// @param not_before  the earliest start of each task; empty: 0. Ignored for a plan with channels
  std::span<const std::int64_t> RunOnce(const Plan& plan,
                                        std::span<const std::int64_t> not_before = {});

  static constexpr int kMaxCycles = 12;
  static constexpr double kSettled = 2e-4;
  static constexpr int kFirstToSettle = 3;  ///< First cycle to compare; earlier ones fill queues.

  /// Returns the number of cycles in the last run. Cycle() returns the moments of one cycle;
  /// negative cycles never happen.
  int cycles() const { return cycles_; }
  const std::int64_t* Cycle(const Plan& plan, int cycle) const;
  /// Returns the instance (cycle x tasks + task) that occupied the task's channel until it started
  /// in the last run; -1: no delay.
  std::int64_t HeldBackBy(const Plan& plan, int cycle, TaskIndex task) const;

 private:
  void Prepare(const Plan& plan, int cycles);
  void RunCycle(const Plan& plan, int cycle, std::span<const std::int64_t> not_before = {});
  void RunEvents(const Plan& plan, int cycles);

  int cycles_ = 0;

  std::vector<std::int64_t> moments_;
  EventLoop events_;
};

}  // namespace headroom
