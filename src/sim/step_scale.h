// Converts a replayed step into the step time that every command gives.
#pragma once

#include <algorithm>

namespace headroom {

/// In the long run, a replay differs a little from the recorded steps, because their launch queue
/// was filling or running dry. A single step is replayed from its first call, although it began
/// earlier.
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

  /// Returns the time as given, to the last digit, if the step is the unchanged one.
  double Ns(double replayed_ns) const { return told_ * (replayed_ns / replayed_) + offset_ns_; }
  double Ms(double replayed_ns) const { return Ns(replayed_ns) / 1e6; }
  double factor() const { return told_ / replayed_; }

 private:
  StepScale(double told, double replayed, double offset_ns)
      : told_(told), replayed_(replayed), offset_ns_(offset_ns) {}

  double told_ = 1, replayed_ = 1;  ///< The factor is their ratio.
  double offset_ns_ = 0;
};

}  // namespace headroom
