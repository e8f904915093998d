// Sets of time as sorted, disjoint, half-open intervals [start, end), and operations on them.
#pragma once

#include <cstddef>
#include <vector>

#include "base/time.h"

namespace headroom {

/// A half-open interval [start, end). Empty if end <= start.
struct Interval {
  TimeNs start;
  TimeNs end;

  constexpr DurationNs length() const { return end > start ? end - start : DurationNs(0); }
  constexpr bool operator==(const Interval&) const = default;
};

/// A set of points in time, stored as sorted, disjoint, non-touching, non-empty intervals.
class IntervalSet {
 public:
  IntervalSet() = default;

  /// Returns the union of arbitrary intervals, in any order, overlapping or not. Ignores empty
  /// intervals. O(n log n), or O(n) if they are sorted by start.
  static IntervalSet UnionOf(std::vector<Interval> intervals);

  /// Adds an interval that starts no earlier than all previous ones. Joins touching and overlapping
  /// intervals. O(1).
  void AppendInOrder(Interval interval);

  const std::vector<Interval>& intervals() const { return intervals_; }
  bool empty() const { return intervals_.empty(); }
  std::size_t size() const { return intervals_.size(); }
  /// Returns the sum of the lengths.
  DurationNs Measure() const;
  /// Returns the measure of the part inside [window.start, window.end). O(log n + pieces).
  DurationNs MeasureWithin(Interval window) const;

  bool operator==(const IntervalSet&) const = default;

 private:
  std::vector<Interval> intervals_;
};

/// Return the points in both, in either, and in `a` but not in `b`. O(|a| + |b|).
IntervalSet Intersect(const IntervalSet& a, const IntervalSet& b);
IntervalSet Unite(const IntervalSet& a, const IntervalSet& b);
IntervalSet Subtract(const IntervalSet& a, const IntervalSet& b);

}  // namespace headroom
