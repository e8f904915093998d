// Converts a replayed step into the step time that every command gives.
#pragma once

#include "sim/plan.h"

namespace headroom {

/// In the steady state, a replay differs a little from the recorded steps, because their launch
/// queue was filling or running dry. A single step is replayed from its first call, although it
/// began earlier.
class StepScale {
 public:
  /// Leaves replayed times as they are.
  StepScale() = default;

  /// For steps that follow each other: multiplies by one factor.
  ///
  /// @param unchanged             the plan of the unchanged step
  /// @param told_ns, replayed_ns  that step as given and as replayed, greater than 0
  static StepScale OfMany(const Plan& unchanged, double told_ns, double replayed_ns);
  /// For a single step: what comes before its first call changes as the host's work there.
  static StepScale OfOne(const Plan& unchanged, double told_ns, double replayed_ns);

  /// Returns the step time, but at least the GPU's work in the step, unless the replay itself is
  /// shorter: a replay that waits longer than the recording did says nothing about that work. If
  /// the unchanged step is shorter than its own GPU work, that work does not count. With OfMany(),
  /// returns exactly `told_ns` for the unchanged step.
  ///
  /// @param replayed_ns  a step of `plan`, as replayed
  double Ns(const Plan& plan, double replayed_ns) const;
  double Ms(const Plan& plan, double replayed_ns) const { return Ns(plan, replayed_ns) / 1e6; }

  /// By which parts of a replayed step of `plan` are multiplied, so that they and BeforeNs(plan)
  /// sum to Ns().
  double FactorOf(const Plan& plan, double replayed_ns) const;
  /// That of the unchanged step.
  double factor() const { return told_ns_ / replayed_ns_; }
  /// Returns the time before the first call of `plan`, in ns. 0: replays hold all.
  double BeforeNs(const Plan& plan) const;

 private:
  StepScale(const Plan& unchanged, double told_ns, double replayed_ns, double before_ns);

  double told_ns_ = 1, replayed_ns_ = 1;  ///< The factor is their ratio.
  double before_ns_ = 0;                  ///< Of the unchanged step.
  double work_before_ns_ = 0;             ///< The host's work before its first call.
  bool keeps_gpu_work_ = false;
};

/// Returns the time of the tasks on the busiest stream, in ns a step. Channels are no streams.
double GpuWorkNs(const Plan& plan);

}  // namespace headroom
