// From a replayed step to the step that all answers tell.
#pragma once

#include <algorithm>

namespace headroom {

/// A replay in the long run differs a little from the recorded steps: their queue was filling or
/// running dry. And a single step is replayed from its first call, although it began before that.
class StepScale {
 public:
  /// Steps as replayed.
  StepScale() = default;

  /// Steps that follow each other: all by the same factor.
  ///
  /// @param told_ns, replayed_ns  the unchanged step, greater than 0
  static StepScale OfMany(double told_ns, double replayed_ns) {
    return StepScale(told_ns / replayed_ns, 0);
  }
  /// A step alone: what it has before its first call stays, whatever changes.
  static StepScale OfOne(double told_ns, double replayed_ns) {
    return StepScale(std::min(1.0, told_ns / replayed_ns), std::max(0.0, told_ns - replayed_ns));
  }

  double Ns(double replayed_ns) const { return factor_ * replayed_ns + offset_ns_; }
  double Ms(double replayed_ns) const { return Ns(replayed_ns) / 1e6; }
  /// A part of a step.
  double PartMs(double replayed_ns) const { return factor_ * replayed_ns / 1e6; }
  double factor() const { return factor_; }

 private:
  StepScale(double factor, double offset_ns) : factor_(factor), offset_ns_(offset_ns) {}

  double factor_ = 1;
  double offset_ns_ = 0;
};

}  // namespace headroom
