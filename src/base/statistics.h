// Order statistics and shares.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"

namespace headroom {

/// Returns the percentile of sorted values by nearest rank, which is always one of the values; for
/// the median, the lower middle one. REQUIRES: values not empty and ascending, 0 < percent <= 100.
template <typename T>
T SortedPercentile(std::span<T> values, int percent) {
  assert(!values.empty());
  // Rounds up.
  const std::size_t rank = (values.size() * static_cast<std::size_t>(percent) + 99) / 100;
  return values[rank == 0 ? 0 : rank - 1];
}

template <typename Container>
auto SortedPercentile(const Container& values, int percent) {
  return SortedPercentile(std::span(values.data(), values.size()), percent);
}

/// Returns the median of unsorted values, or the larger of the two middle ones; T() if empty.
template <typename T>
T UpperMedian(std::vector<T> values) {
  if (values.empty()) return T();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Returns the share of `part` in `whole`, in percent; 0 if `whole` is 0.
inline double SharePct(DurationNs part, DurationNs whole) {
  return whole.ns() == 0 ? 0
                         : 100.0 * static_cast<double>(part.ns()) / static_cast<double>(whole.ns());
}

}  // namespace headroom
