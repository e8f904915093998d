#include "analysis/steps/repetition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {
namespace repetition_test {

using Symbols = std::vector<std::uint32_t>;

Symbols SymbolsOf(std::string_view text) { return Symbols(text.begin(), text.end()); }

std::string Times(int count, std::string_view text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

/// Returns weights of 1.
std::vector<std::int64_t> Weights(std::size_t count) {
  std::vector<std::int64_t> weights(count + 1);
  std::iota(weights.begin(), weights.end(), 0);
  return weights;
}

std::vector<Repetition> Find(const Symbols& symbols, std::size_t min_count = 3) {
  return FindRepetitions(symbols, Weights(symbols.size()), min_count);
}

/// Finds every maximal repetition with its shortest period. A slow reference implementation.
std::vector<Repetition> FindSlowly(const Symbols& symbols, std::size_t min_count) {
  std::vector<Repetition> found;
  for (std::size_t period = 1; period < symbols.size(); ++period) {
    for (std::size_t first = 0; first + period < symbols.size();) {
      std::size_t last = first + period;
      while (last < symbols.size() && symbols[last] == symbols[last - period]) ++last;
      const bool known = std::any_of(found.begin(), found.end(), [&](const Repetition& r) {
        return r.first == first && r.last == last && period % r.period == 0;
      });
      if (last - first >= min_count * period && !known)
        found.push_back({first, last, period, static_cast<std::int64_t>(last - first)});
      first = last - period + 1;
    }
  }
  return found;
}

TEST(Repetition, IsFoundBetweenOtherSymbols) {
  const std::vector<Repetition> found = Find(SymbolsOf("xyz" + Times(5, "abcd") + "ab" + "w"));
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0], (Repetition{3, 25, 4, 22})) << "with the part of a unit behind the last";
  EXPECT_EQ(found[0].count(), 5u);
}

TEST(Repetition, OfARepetitionIsTheWholeOne) {
  const std::string step = "e" + Times(6, "qkv") + "h";
  const std::vector<Repetition> found = Find(SymbolsOf(Times(4, step)));
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].period, step.size());
  EXPECT_EQ(found[0].count(), 4u);
}

TEST(Repetition, IsNoneWithoutOne) {
  EXPECT_TRUE(Find({}).empty());
  EXPECT_TRUE(Find(SymbolsOf("a")).empty());
  EXPECT_TRUE(Find(SymbolsOf("abcdefgh")).empty());
  EXPECT_TRUE(Find(SymbolsOf("abcabc")).empty()) << "twice is not enough";
}

TEST(Repetition, WeighsWhatItHolds) {
  // Ten short repetitions before three long ones.
  const Symbols symbols = SymbolsOf(Times(10, "ab") + Times(3, "cd"));
  std::vector<std::int64_t> weight_before = {0};
  for (const std::uint32_t symbol : symbols)
    weight_before.push_back(weight_before.back() + (symbol < 'c' ? 1 : 100));
  EXPECT_EQ(FindRepetitions(symbols, weight_before, 3).front(), (Repetition{20, 26, 2, 600}));
}

TEST(Repetition, AgreesWithTheSlowSearch) {
  std::mt19937 random(36);
  for (std::size_t round = 0; round < 3000; ++round) {
    // Generates repeated pieces with other pieces between them, because random symbols alone repeat
    // little.
    Symbols symbols;
    while (symbols.size() < 12 + round % 40) {
      const std::size_t unit = 1 + random() % 6;
      Symbols piece;
      for (std::size_t i = 0; i < unit; ++i)
        piece.push_back(static_cast<std::uint32_t>(random() % 3));
      for (std::size_t n = random() % 6; n > 0; --n)
        symbols.insert(symbols.end(), piece.begin(), piece.end());
    }
    const std::vector<Repetition> slow = FindSlowly(symbols, 3);
    const std::vector<Repetition> fast = Find(symbols);
    for (const Repetition& found : fast)
      EXPECT_NE(std::find(slow.begin(), slow.end(), found), slow.end());
    const auto heaviest = std::max_element(
        slow.begin(), slow.end(),
        [](const Repetition& a, const Repetition& b) { return a.weight < b.weight; });
    if (heaviest == slow.end() || heaviest->weight * 2 < static_cast<std::int64_t>(symbols.size()))
      continue;
    ASSERT_FALSE(fast.empty()) << round;
    EXPECT_EQ(fast.front().weight, heaviest->weight) << round;
  }
}

std::vector<Occurrence> Occurrences(std::string_view text, std::size_t first, std::size_t period) {
  return FindOccurrences(SymbolsOf(text), first, period);
}

TEST(Occurrences, AreExactWhereNothingIsInBetween) {
  EXPECT_EQ(Occurrences("xabcdabcdabcdab", 1, 4),
            (std::vector<Occurrence>{{1, 5, true}, {5, 9, true}, {9, 13, true}}));
}

TEST(Occurrences, MayHoldAFewOthersOrLackAFew) {
  const std::string unit = "abcdefghijklmnopqrst";
  std::string more = unit, less = unit;
  more.insert(10, "XY");
  less.erase(5, 1);
  EXPECT_EQ(Occurrences(unit + more + unit + less + unit, 0, 20),
            (std::vector<Occurrence>{
                {0, 20, true}, {20, 42, false}, {42, 62, true}, {62, 81, false}, {81, 101, true}}));
}

TEST(Occurrences, EndWhereMuchElseFollows) {
  const std::string unit = "abcdefgh";
  EXPECT_EQ(Occurrences(unit + unit + "0123456789" + unit, 0, 8),
            (std::vector<Occurrence>{{0, 8, true}, {8, 16, true}, {26, 34, true}}));
}

TEST(Occurrences, AreToldByWhatIsOnlyOnceInTheUnit) {
  // Each symbol occurs several times; "aab" starts at one place only.
  const std::string unit = "aababb";
  EXPECT_EQ(Occurrences(Times(4, unit), 0, 6).size(), 4u);
  EXPECT_EQ(Occurrences("b" + Times(4, unit) + "aa", 1, 6).size(), 4u);
}

TEST(Occurrences, TakeLinearTime) {
  // A unit in which all symbols but one are equal.
  Symbols symbols;
  for (int i = 0; i < 8; ++i) {
    symbols.insert(symbols.end(), 50'000, 1);
    symbols.push_back(2);
  }
  ASSERT_EQ(Find(symbols).front().period, 50'001u);
  EXPECT_EQ(FindOccurrences(symbols, 0, 50'001).size(), 8u);
}

}  // namespace repetition_test
}  // namespace headroom
