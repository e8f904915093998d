#include "base/interval_set.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace headroom {
namespace interval_set_test {

constexpr int kUniverse = 64;

/// A slow reference: one bit per nanosecond.
using Bits = std::vector<bool>;

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

Interval Span(std::int64_t start, std::int64_t end) { return {TimeNs(start), TimeNs(end)}; }

Bits ToBits(const Pairs& pairs) {
  Bits bits(kUniverse);
  for (auto [start, end] : pairs) {
    for (std::int64_t t = start; t < end; ++t) bits[static_cast<std::size_t>(t)] = true;
  }
  return bits;
}

IntervalSet ToSet(const Pairs& pairs) {
  std::vector<Interval> intervals;
  for (auto [start, end] : pairs) intervals.push_back(Span(start, end));
  return IntervalSet::UnionOf(std::move(intervals));
}

/// Returns the canonical set of some bits. Equal sets must have equal intervals, so this also tests
/// the normal form.
IntervalSet FromBits(const Bits& bits) {
  IntervalSet set;
  for (int t = 0; t < kUniverse; ++t) {
    if (bits[static_cast<std::size_t>(t)]) set.AppendInOrder(Span(t, t + 1));
  }
  return set;
}

Pairs AnyPairs() {
  const auto point = rc::gen::inRange<std::int64_t>(0, kUniverse);
  return *rc::gen::container<Pairs>(rc::gen::pair(point, point));
}

Bits Combine(const Bits& a, const Bits& b, bool (*keep)(bool, bool)) {
  Bits out(kUniverse);
  for (std::size_t t = 0; t < out.size(); ++t) out[t] = keep(a[t], b[t]);
  return out;
}

RC_GTEST_PROP(IntervalSetProperty, UnionAgreesWithBits, ()) {
  const Pairs pairs = AnyPairs();
  RC_ASSERT(ToSet(pairs) == FromBits(ToBits(pairs)));
}

RC_GTEST_PROP(IntervalSetProperty, AlgebraAgreesWithBits, ()) {
  const Pairs a = AnyPairs();
  const Pairs b = AnyPairs();
  const auto both = [](bool x, bool y) { return x && y; };
  const auto either = [](bool x, bool y) { return x || y; };
  const auto only_first = [](bool x, bool y) { return x && !y; };
  RC_ASSERT(Intersect(ToSet(a), ToSet(b)) == FromBits(Combine(ToBits(a), ToBits(b), both)));
  RC_ASSERT(Unite(ToSet(a), ToSet(b)) == FromBits(Combine(ToBits(a), ToBits(b), either)));
  RC_ASSERT(Subtract(ToSet(a), ToSet(b)) == FromBits(Combine(ToBits(a), ToBits(b), only_first)));
}

RC_GTEST_PROP(IntervalSetProperty, MeasureWithinAgreesWithBits, ()) {
  const Pairs pairs = AnyPairs();
  const auto [from, to] =
      *rc::gen::pair(rc::gen::inRange(0, kUniverse), rc::gen::inRange(0, kUniverse));
  const Bits bits = ToBits(pairs);
  std::int64_t expected = 0;
  for (int t = from; t < to; ++t) expected += bits[static_cast<std::size_t>(t)] ? 1 : 0;
  RC_ASSERT(ToSet(pairs).MeasureWithin(Span(from, to)).ns() == expected);
}

struct OverlapCase {
  const char* name;
  Pairs communication;
  Pairs compute;
  std::int64_t exposed_ns;
};

const OverlapCase kOverlapCases[] = {
    {"disjoint", {{0, 10}}, {{10, 30}}, 10},
    {"communication inside compute", {{10, 20}}, {{0, 30}}, 0},
    {"compute inside communication", {{0, 30}}, {{10, 20}}, 20},
    {"touching ends do not overlap", {{0, 10}, {10, 20}}, {{20, 30}}, 20},
    {"one compute kernel hides the seam of two", {{0, 10}, {12, 20}}, {{8, 14}}, 14},
    {"nothing to hide behind", {{0, 10}}, {}, 10},
};

TEST(IntervalSetTest, ExposedTimeIsWhatCoverDoesNotHide) {
  for (const OverlapCase& c : kOverlapCases) {
    EXPECT_EQ(Subtract(ToSet(c.communication), ToSet(c.compute)).Measure().ns(), c.exposed_ns)
        << c.name;
  }
}

}  // namespace interval_set_test
}  // namespace headroom
