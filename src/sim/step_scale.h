// Converts a replayed step into the step time that every command gives.
#pragma once

#include <algorithm>

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
  /// @param told_ns, replayed_ns  the unchanged step as given and as replayed, greater than 0
  static StepScale OfMany(double told_ns, double replayed_ns) {
    return StepScale(told_ns, replayed_ns, 0);
  }
  /// For a single step: what comes before its first call stays, whatever changes.
  static StepScale OfOne(double told_ns, double replayed_ns) {
    return StepScale(std::min(told_ns, replayed_ns), replayed_ns,
                     std::max(0.0, told_ns - replayed_ns));
  }

  /// With OfMany(), returns exactly `told_ns` for the unchanged step.
  double Ns(double replayed_ns) const {
    return told_ns_ * (replayed_ns / replayed_ns_) + offset_ns_;
  }
  double Ms(double replayed_ns) const { return Ns(replayed_ns) / 1e6; }

  /// The same, but no less than the GPU's work in the step, unless the replay is: a replay that
  /// waits more than the recording did says nothing of that work. Ignores `gpu_work_ns` if the
  /// unchanged step is shorter than `unchanged_gpu_work_ns`.
  double Ns(double replayed_ns, double gpu_work_ns, double unchanged_gpu_work_ns) const {
    if (unchanged_gpu_work_ns > told_ns_) return Ns(replayed_ns);
    return std::max(Ns(replayed_ns), std::min(replayed_ns, gpu_work_ns));
  }
  double factor() const { return told_ns_ / replayed_ns_; }

 private:
  StepScale(double told_ns, double replayed_ns, double offset_ns)
      : told_ns_(told_ns), replayed_ns_(replayed_ns), offset_ns_(offset_ns) {}

  double told_ns_ = 1, replayed_ns_ = 1;  ///< The factor is their ratio.
  double offset_ns_ = 0;
};

}  // namespace headroom
