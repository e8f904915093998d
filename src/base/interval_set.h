// Sets of time as sorted, disjoint, half-open intervals [start, end), and their algebra.
#pragma once

#include <cstddef>
#include <vector>

#include "base/time.h"

namespace headroom {

/// A half-open span [start, end). Empty when end <= start.
struct Interval {
  TimeNs start;
  TimeNs end;

  constexpr DurationNs length() const { return end > start ? end - start : DurationNs(0); }
  constexpr bool operator==(const Interval&) const = default;
};

/// A set of points in time, kept as sorted, disjoint, non-touching, non-empty intervals.
class IntervalSet {
 public:
  IntervalSet() = default;

  /// The union of arbitrary intervals: any order, overlapping, empty ones ignored. O(n log n), O(n)
  /// if they come sorted by start.
  static IntervalSet UnionOf(std::vector<Interval> intervals);

  /// Adds an interval that starts no earlier than every interval added before it; touching and
  /// overlapping ones are joined. O(1).
  void AppendInOrder(Interval interval);

  const std::vector<Interval>& intervals() const { return intervals_; }
  bool empty() const { return intervals_.empty(); }
  std::size_t size() const { return intervals_.size(); }
  /// Sum of the lengths.
  DurationNs Measure() const;
  /// Measure of the part inside [window.start, window.end). O(log n + pieces).
  DurationNs MeasureWithin(Interval window) const;

  bool operator==(const IntervalSet&) const = default;

 private:
  std::vector<Interval> intervals_;
};

/// Points in both / in either / in `a` but not in `b`. O(|a| + |b|).
IntervalSet Intersect(const IntervalSet& a, const IntervalSet& b);
IntervalSet Unite(const IntervalSet& a, const IntervalSet& b);
IntervalSet Subtract(const IntervalSet& a, const IntervalSet& b);

}  // namespace headroom
