// Replays a graph: when every moment comes, with durations and lags that an edit may have changed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/event_loop.h"
#include "sim/plan.h"

namespace headroom {

/// The times of one or more cycles.
struct Replayed {
  double step_ns = 0;  ///< Steady state: time a step takes.
  std::vector<double>
      step_walls_ns;    ///< Of the last cycle, by step; a step ends where its GPU work does.
  bool settled = true;  ///< Successive cycles took the same time.
};

/// Replays a plan over and over, one cycle after the other, in memory that is kept between calls.
class Replayer {
 public:
  /// Cycles until two in a row differ by less than 0.02 %, at most `kMaxCycles`. Of a plan that is
  /// not periodic one, from its first moment to its last work.
  Replayed Run(const Plan& plan);

  /// Replays one cycle alone: no earlier cycle delays it. Returns moments by number, in ns.
  ///
  /// @param not_before  the earliest start of each task; empty: 0. Ignored for a plan with channels
  std::span<const std::int64_t> RunOnce(const Plan& plan,
                                        std::span<const std::int64_t> not_before = {});

  static constexpr int kMaxCycles = 12;
  static constexpr double kSettled = 2e-4;
  static constexpr int kFirstToSettle = 3;  ///< The cycles before it fill the queues.

  /// Of the last run: cycles replayed, and the moments of one (negative: before the first, never).
  int cycles() const { return cycles_; }
  const std::int64_t* Cycle(const Plan& plan, int cycle) const;
  /// Of the last run: what ran on the task's channel until it could start, as cycle x tasks + task;
  /// -1: nothing held it back there.
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
