#include "base/interval_set.h"

#include <algorithm>
#include <cassert>

namespace headroom {

IntervalSet IntervalSet::UnionOf(std::vector<Interval> intervals) {
  const auto by_start = [](const Interval& a, const Interval& b) { return a.start < b.start; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), by_start)) {
    std::sort(intervals.begin(), intervals.end(), by_start);
  }
  IntervalSet out;
  for (const Interval& interval : intervals) out.AppendInOrder(interval);
  return out;
}

void IntervalSet::AppendInOrder(Interval interval) {
  if (interval.end <= interval.start) return;
  if (!intervals_.empty() && interval.start <= intervals_.back().end) {
    assert(interval.start >= intervals_.back().start && "intervals must come in order of start");
    intervals_.back().end = std::max(intervals_.back().end, interval.end);
    return;
  }
  intervals_.push_back(interval);
}

DurationNs IntervalSet::Measure() const {
  DurationNs total;
  for (const Interval& interval : intervals_) total += interval.length();
  return total;
}

DurationNs IntervalSet::MeasureWithin(Interval window) const {
  DurationNs total;
  auto it = std::partition_point(intervals_.begin(), intervals_.end(),
                                 [&](const Interval& i) { return i.end <= window.start; });
  for (; it != intervals_.end() && it->start < window.end; ++it) {
    total += Interval{std::max(it->start, window.start), std::min(it->end, window.end)}.length();
  }
  return total;
}

IntervalSet Intersect(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  auto i = a.intervals().begin();
  auto j = b.intervals().begin();
  while (i != a.intervals().end() && j != b.intervals().end()) {
    out.AppendInOrder({std::max(i->start, j->start), std::min(i->end, j->end)});
    if (i->end < j->end) {
      ++i;
    } else {
      ++j;
    }
  }
  return out;
}

IntervalSet Unite(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  auto i = a.intervals().begin();
  auto j = b.intervals().begin();
  while (i != a.intervals().end() || j != b.intervals().end()) {
    const bool take_a =
        j == b.intervals().end() || (i != a.intervals().end() && i->start < j->start);
    out.AppendInOrder(take_a ? *i++ : *j++);
  }
  return out;
}

IntervalSet Subtract(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  auto j = b.intervals().begin();
  for (Interval rest : a.intervals()) {
    while (j != b.intervals().end() && j->end <= rest.start) ++j;
    // The interval of `b` may reach into the next interval of `a`, so `j` itself does not advance.
    for (auto k = j; k != b.intervals().end() && k->start < rest.end; ++k) {
      out.AppendInOrder({rest.start, std::min(k->start, rest.end)});
      rest.start = std::max(rest.start, k->end);
    }
    out.AppendInOrder(rest);
  }
  return out;
}

}  // namespace headroom
