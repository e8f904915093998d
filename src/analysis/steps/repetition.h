// Repetition in a sequence of symbols: which unit comes again and again, and where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headroom {

/// A maximal stretch [first, last) in which each symbol equals the one `period` before it. The
/// period is the shortest of the stretch.
struct Repetition {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t period = 0;
  std::int64_t weight = 0;  ///< Of its symbols.

  std::size_t count() const { return (last - first) / period; }
  bool operator==(const Repetition&) const = default;
};

/// The heaviest repetitions of at least `min_count` units, heaviest first, at most `kMaxFound`.
/// `weight_before[i]` is the weight of the symbols before i, so it has one more element than
/// `symbols`.
///
/// Looks at repetitions that cross the half of the weight, its quarters and its eighths, so none
/// that holds a quarter of it is missed. Time and memory are linear (Main and Lorentz, "An O(n log
/// n) algorithm for finding all repetitions in a string", 1984, without its recursion).
std::vector<Repetition> FindRepetitions(std::span<const std::uint32_t> symbols,
                                        std::span<const std::int64_t> weight_before,
                                        std::size_t min_count);
inline constexpr std::size_t kMaxFound = 8;

/// One occurrence [first, last) of a unit.
struct Occurrence {
  std::size_t first = 0;
  std::size_t last = 0;
  bool exact = false;  ///< Else it holds a few other symbols, or lacks a few.

  bool operator==(const Occurrence&) const = default;
};

/// Where the unit [first, first + period) of `symbols` occurs, in order and without overlap. An
/// occurrence that is not exact may be up to a quarter longer than the unit or a tenth shorter.
/// What lies between occurrences belongs to none. Linear but for the unit's own repetitions.
///
/// REQUIRES: the unit is primitive: no shorter sequence repeats to it.
std::vector<Occurrence> FindOccurrences(std::span<const std::uint32_t> symbols, std::size_t first,
                                        std::size_t period);

}  // namespace headroom
