#include "analysis/steps/repetition.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

namespace headroom {
namespace {

using Symbols = std::span<const std::uint32_t>;

/// Separates two sequences; callers do not use this symbol.
constexpr std::uint32_t kSeparator = std::numeric_limits<std::uint32_t>::max();

/// Returns the Z-function: by position, the length of the longest common prefix of the sequence and
/// its suffix at that position. The value at position 0 is 0.
std::vector<std::uint32_t> PrefixLengths(Symbols text) {
  std::vector<std::uint32_t> length(text.size());
  std::size_t begin = 0, end = 0;  // Match that reaches farthest.
  for (std::size_t i = 1; i < text.size(); ++i) {
    std::size_t known = i < end ? std::min<std::size_t>(length[i - begin], end - i) : 0;
    while (i + known < text.size() && text[known] == text[i + known]) ++known;
    length[i] = static_cast<std::uint32_t>(known);
    if (i + known > end) {
      begin = i;
      end = i + known;
    }
  }
  return length;
}

/// Keeps the heaviest repetitions.
class Heaviest {
 public:
  void Add(const Repetition& found) {
    const auto same = [&](const Repetition& kept) {
      return kept.first == found.first && kept.last == found.last &&
             found.period % kept.period == 0;
    };
    if (std::any_of(kept_.begin(), kept_.end(), same)) return;
    const auto at = std::upper_bound(
        kept_.begin(), kept_.end(), found,
        [](const Repetition& a, const Repetition& b) { return a.weight > b.weight; });
    if (at - kept_.begin() >= static_cast<std::ptrdiff_t>(kMaxFound)) return;
    kept_.insert(at, found);
    if (kept_.size() > kMaxFound) kept_.pop_back();
  }

  std::int64_t best() const { return kept_.empty() ? 0 : kept_.front().weight; }
  std::vector<Repetition> Take() && { return std::move(kept_); }

 private:
  std::vector<Repetition> kept_;
};

/// Adds the repetitions that cross `center`: they contain a symbol before `center` and the symbol
/// one period later.
void AddCrossing(Symbols symbols, std::span<const std::int64_t> weight_before,
                 std::size_t min_count, std::size_t center, Heaviest& found) {
  const std::size_t n = symbols.size();
  const std::vector<std::uint32_t> forward = PrefixLengths(symbols.subspan(center));
  // Reverses the part before the center, and the whole sequence.
  std::vector<std::uint32_t> reversed;
  reversed.reserve(center + 1 + n);
  for (std::size_t i = center; i > 0; --i) reversed.push_back(symbols[i - 1]);
  reversed.push_back(kSeparator);
  for (std::size_t i = n; i > 0; --i) reversed.push_back(symbols[i - 1]);
  const std::vector<std::uint32_t> backward = PrefixLengths(reversed);
  for (std::size_t period = 1; center + period < n; ++period) {
    const std::size_t before = backward[center + 1 + (n - center - period)];
    const std::size_t after = forward[period];
    if (before + period + after < min_count * period) continue;
    const std::size_t first = center - before, last = center + period + after;
    found.Add({first, last, period, weight_before[last] - weight_before[first]});
  }
}

/// A part of a unit that occurs only once in the unit, when the unit is read as a circle.
struct Anchor {
  std::size_t offset = 0;
  std::size_t length = 0;
};

/// Returns the shortest anchor among lengths of 1, 2, 4, 8, ...; of several, the first.
Anchor FindAnchor(Symbols unit) {
  const std::size_t period = unit.size();
  for (std::size_t length = 1; length < period; length *= 2) {
    // A polynomial hash of the symbols, rolled along the circle.
    constexpr std::uint64_t kBase = 0x9E3779B97F4A7C15;
    std::uint64_t power = 1, hash = 0;
    for (std::size_t i = 0; i < length; ++i) {
      hash = hash * kBase + unit[i];
      if (i > 0) power *= kBase;
    }
    std::vector<std::uint64_t> hashes(period);
    std::unordered_map<std::uint64_t, std::uint32_t> count;
    for (std::size_t i = 0; i < period; ++i) {
      hashes[i] = hash;
      ++count[hash];
      hash = (hash - unit[i] * power) * kBase + unit[(i + length) % period];
    }
    for (std::size_t i = 0; i < period; ++i) {
      if (count[hashes[i]] == 1) return {i, length};
    }
  }
  return {0, period};
}

/// Returns the positions of `part` in `symbols` (Knuth, Morris and Pratt). Requires a non-empty
/// `part`.
std::vector<std::size_t> PlacesOf(Symbols part, Symbols symbols) {
  // By prefix length: the length of the longest proper border of that prefix of `part`.
  std::vector<std::size_t> border(part.size() + 1);
  for (std::size_t i = 1, length = 0; i < part.size(); ++i) {
    while (length > 0 && part[i] != part[length]) length = border[length];
    if (part[i] == part[length]) ++length;
    border[i + 1] = length;
  }
  std::vector<std::size_t> places;
  for (std::size_t i = 0, length = 0; i < symbols.size(); ++i) {
    while (length > 0 && (length == part.size() || symbols[i] != part[length]))
      length = border[length];
    if (symbols[i] == part[length]) ++length;
    if (length == part.size()) places.push_back(i + 1 - length);
  }
  return places;
}

}  // namespace

std::vector<Repetition> FindRepetitions(Symbols symbols,
                                        std::span<const std::int64_t> weight_before,
                                        std::size_t min_count) {
  Heaviest found;
  const std::int64_t total = symbols.empty() ? 0 : weight_before.back() - weight_before.front();
  for (const std::int64_t parts : {2, 4, 8}) {
    for (std::int64_t part = 1; part < parts; part += 2) {
      const auto at = std::lower_bound(weight_before.begin(), weight_before.end(),
                                       weight_before.front() + total / parts * part);
      const auto center = static_cast<std::size_t>(at - weight_before.begin());
      if (center < symbols.size()) AddCrossing(symbols, weight_before, min_count, center, found);
    }
    if (parts >= 4 && found.best() > total / 2) break;
  }
  return std::move(found).Take();
}

std::vector<Occurrence> FindOccurrences(Symbols symbols, std::size_t first, std::size_t period) {
  // Represents the unit as a circle by storing it twice in a row.
  std::vector<std::uint32_t> unit(symbols.begin() + static_cast<std::ptrdiff_t>(first),
                                  symbols.begin() + static_cast<std::ptrdiff_t>(first + period));
  const Anchor anchor = FindAnchor(unit);
  unit.insert(unit.end(), unit.begin(), unit.begin() + static_cast<std::ptrdiff_t>(period));
  const std::vector<std::size_t> places =
      PlacesOf(Symbols(unit).subspan(anchor.offset, anchor.length), symbols);
  const auto is_exact = [&](std::size_t at) {
    return at + period <= symbols.size() &&
           std::equal(unit.begin(), unit.begin() + static_cast<std::ptrdiff_t>(period),
                      symbols.begin() + static_cast<std::ptrdiff_t>(at));
  };
  const std::size_t longest = period + std::max<std::size_t>(period / 4, 1);
  const std::size_t shortest = period - period / 10;
  std::vector<Occurrence> found;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] < anchor.offset) continue;  // The occurrence began before the sequence.
    const std::size_t begin = places[i] - anchor.offset;
    if (!found.empty() && begin < found.back().last) continue;
    const std::optional<std::size_t> next =
        i + 1 < places.size() ? std::optional(places[i + 1] - anchor.offset) : std::nullopt;
    if (is_exact(begin)) {
      // A few other symbols after the unit belong to it.
      const bool few_more = next && *next > begin + period && *next - begin <= longest;
      found.push_back({begin, few_more ? *next : begin + period, !few_more});
    } else if (next && *next >= begin + shortest && *next - begin <= longest) {
      found.push_back({begin, *next, false});
    }
  }
  return found;
}

}  // namespace headroom
