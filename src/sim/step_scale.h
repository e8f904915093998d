// Converts a replayed step into the step time that every command shows.
#pragma once

#include "sim/plan.h"

namespace headroom {

/// Scales replayed step times. In the steady state, a replay differs slightly from the recorded
/// steps, because their launch queue was filling or draining. A single step is replayed from its
/// first call, although it began earlier.
class StepScale {
 public:
  /// Leaves replayed times unchanged.
  StepScale() = default;

  /// Returns the scale for consecutive steps: multiplies by one factor.
  ///
  /// @param unchanged  the plan of the unchanged step
  /// @param told_ns, replayed_ns  time of that step as reported and as replayed, greater than 0
  static StepScale OfMany(const Plan& unchanged, double told_ns, double replayed_ns);
  /// Returns the scale for a single step: also scales the time before its first call in proportion
  /// to the host work there.
  static StepScale OfOne(const Plan& unchanged, double told_ns, double replayed_ns);

  /// Returns the step time. It is at least the step's GPU work or `replayed_ns`, whichever is
  /// smaller. This bound does not apply if the reported unchanged step is shorter than its own GPU
  /// work. Returns exactly `told_ns` for the unchanged step with OfMany().
  ///
  /// @param replayed_ns  time of a step of `plan`, as replayed
  double Ns(const Plan& plan, double replayed_ns) const;
  double Ms(const Plan& plan, double replayed_ns) const { return Ns(plan, replayed_ns) / 1e6; }

  /// Returns the factor for parts of a replayed step of `plan`. The scaled parts and BeforeNs(plan)
  /// sum to Ns().
  double FactorOf(const Plan& plan, double replayed_ns) const;
  /// Returns the factor of the unchanged step.
  double factor() const { return told_ns_ / replayed_ns_; }
  /// Returns the time before the first call of `plan`, in ns. 0 if replays include all time.
  double BeforeNs(const Plan& plan) const;

 private:
  StepScale(const Plan& unchanged, double told_ns, double replayed_ns, double before_ns);

  double told_ns_ = 1, replayed_ns_ = 1;  ///< The factor is their ratio.
  double before_ns_ = 0;                  ///< Time before the first call of the unchanged step.
  /// Host work before the first call of the unchanged step; 0 if none.
  double work_before_ns_ = 0;
  bool keeps_gpu_work_ = false;
};

/// Returns the time of the tasks on the busiest stream, in ns per step. Channels do not count as
/// streams.
double GpuWorkNs(const Plan& plan);

}  // namespace headroom
