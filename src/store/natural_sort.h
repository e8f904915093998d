// A stable merge sort that benefits from runs that are already in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace headroom {

/// Sorts stably. Takes O(n) for sorted input, else O(n log runs). A trace consists of a few sorted
/// runs, such as operators, frames and calls. std::stable_sort does not use runs.
/// @tparam Rows  a std::vector with any allocator
template <typename Rows, typename Less>
void NaturalStableSort(Rows& rows, Less less) {
  std::vector<std::size_t> bounds = {0};
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (less(rows[i], rows[i - 1])) bounds.push_back(i);
  }
  bounds.push_back(rows.size());
  if (bounds.size() <= 2) return;
  Rows other(rows.size());
  while (bounds.size() > 2) {
    std::vector<std::size_t> merged = {0};
    for (std::size_t i = 0; i + 1 < bounds.size(); i += 2) {
      const auto at = [&](std::size_t k) {
        return rows.begin() + static_cast<std::ptrdiff_t>(bounds[k]);
      };
      const auto out = other.begin() + static_cast<std::ptrdiff_t>(bounds[i]);
      if (i + 2 < bounds.size()) {
        std::merge(at(i), at(i + 1), at(i + 1), at(i + 2), out, less);
        merged.push_back(bounds[i + 2]);
      } else {
        std::copy(at(i), at(i + 1), out);
        merged.push_back(bounds[i + 1]);
      }
    }
    rows.swap(other);
    bounds.swap(merged);
  }
}

}  // namespace headroom
