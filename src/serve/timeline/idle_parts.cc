#include "serve/timeline/idle_parts.h"

#include <algorithm>

namespace headroom {

DurationNs ShortestOfLongest(const IntervalSet& busy, std::size_t most) {
  const std::vector<Interval>& work = busy.intervals();
  if (work.size() <= most + 1) return {};
  std::vector<DurationNs> pauses;
  pauses.reserve(work.size() - 1);
  for (std::size_t i = 1; i < work.size(); ++i) pauses.push_back(work[i].start - work[i - 1].end);
  const auto last_kept = pauses.end() - static_cast<std::ptrdiff_t>(most);
  std::nth_element(pauses.begin(), last_kept, pauses.end());
  return *last_kept;
}

std::span<const IdlePart> IdleCutter::Cut(Interval idle) {
  parts_.clear();
  const auto add = [&](TimeNs from, TimeNs to, bool others_work) {
    if (to <= from) return;
    if (!parts_.empty() && parts_.back().others_work == others_work) {
      parts_.back().span.end = to;
    } else {
      parts_.push_back({.span = {from, to}, .others_work = others_work});
    }
  };
  while (next_ < work_.size() && work_[next_].end <= idle.start) ++next_;
  TimeNs at = idle.start;
  for (; next_ < work_.size() && work_[next_].start < idle.end; ++next_) {
    const Interval work = work_[next_];
    add(at, work.start, !parts_.empty() && work.start - at < shortest_);
    add(std::max(at, work.start), std::min(idle.end, work.end), true);
    at = std::max(at, work.end);
    if (at >= idle.end) break;  // The interval may extend into the next span.
  }
  add(at, idle.end, false);
  return parts_;
}

}  // namespace headroom
