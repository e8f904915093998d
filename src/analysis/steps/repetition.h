// Finds repetition in a sequence of symbols: the repeated units and their places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headroom {

/// A maximal range [first, last) in which each symbol equals the one `period` before it. The period
/// is the shortest possible one.
struct Repetition {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t period = 0;
  std::int64_t weight = 0;  ///< Weight of its symbols.

  std::size_t count() const { return (last - first) / period; }
  bool operator==(const Repetition&) const = default;
};

/// Returns the heaviest repetitions of at least `min_count` units, heaviest first, at most
/// `kMaxFound`. `weight_before[i]` is the weight of the symbols before i, so it has one more
/// element than `symbols`.
///
/// Considers repetitions that cross the points at 1/2, 1/4 and 3/4 of the weight. If none of these
/// has more than half of the weight, also considers the odd eighths. So it finds every repetition
/// with at least a quarter of the weight. Time and memory are linear (Main and Lorentz, "An O(n log
/// n) algorithm for finding all repetitions in a string", 1984, without its recursion).
std::vector<Repetition> FindRepetitions(std::span<const std::uint32_t> symbols,
                                        std::span<const std::int64_t> weight_before,
                                        std::size_t min_count);
inline constexpr std::size_t kMaxFound = 8;

/// One occurrence [first, last) of a unit.
struct Occurrence {
  std::size_t first = 0;
  std::size_t last = 0;
  bool exact = false;  ///< If false, it has a few extra symbols, or lacks a few.

  bool operator==(const Occurrence&) const = default;
};

/// Returns the occurrences of the unit [first, first + period) of `symbols`, in order and without
/// overlap. An inexact occurrence may be up to a quarter longer than the unit or a tenth shorter.
/// Symbols between occurrences belong to none. Takes linear time, except for repetitions inside the
/// unit.
///
/// Requires a primitive unit: it is not a repetition of a shorter sequence.
std::vector<Occurrence> FindOccurrences(std::span<const std::uint32_t> symbols, std::size_t first,
                                        std::size_t period);

}  // namespace headroom
