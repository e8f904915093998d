#include "serve/timeline/idle_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace idle_parts_test {

using testing::ElementsAre;

Interval Span(std::int64_t start, std::int64_t end) { return {TimeNs(start), TimeNs(end)}; }

IntervalSet Busy(std::vector<Interval> spans) { return IntervalSet::UnionOf(std::move(spans)); }

IdlePart Others(std::int64_t start, std::int64_t end) { return {Span(start, end), true}; }
IdlePart Device(std::int64_t start, std::int64_t end) { return {Span(start, end), false}; }

TEST(IdleCutter, CutsWhereOthersBeginAndEnd) {
  // The stream works until 40 and from 100 on, others from 50 to 70 and from 80 to 90.
  const IntervalSet busy = Busy({Span(0, 40), Span(50, 70), Span(80, 90), Span(100, 110)});
  IdleCutter cutter(busy, {});
  EXPECT_THAT(cutter.Cut(Span(40, 100)), ElementsAre(Device(40, 50), Others(50, 70), Device(70, 80),
                                                     Others(80, 90), Device(90, 100)));
}

TEST(IdleCutter, LeavesWholeWhatNobodyInterrupts) {
  const IntervalSet busy = Busy({Span(0, 40), Span(100, 110)});
  IdleCutter cutter(busy, DurationNs(1000));
  EXPECT_THAT(cutter.Cut(Span(40, 100)), ElementsAre(Device(40, 100)));
}

TEST(IdleCutter, WorkOfOthersReachesOverSeveralSpans) {
  // Another stream works from 30 to 90; the stream itself works until 20, from 40 to 50, and from
  // 100 on.
  const IntervalSet busy = Busy({Span(0, 20), Span(30, 90), Span(40, 50), Span(100, 110)});
  IdleCutter cutter(busy, {});
  EXPECT_THAT(cutter.Cut(Span(20, 40)), ElementsAre(Device(20, 30), Others(30, 40)));
  EXPECT_THAT(cutter.Cut(Span(50, 100)), ElementsAre(Others(50, 90), Device(90, 100)));
}

TEST(IdleCutter, PassesOverShortPausesAmidTheWorkOfOthers) {
  const IntervalSet busy = Busy({Span(0, 10), Span(11, 20), Span(22, 30), Span(35, 40)});
  IdleCutter cutter(busy, DurationNs(3));
  // The pause at the start is not between work of other streams; the pause of 5 is long enough.
  EXPECT_THAT(cutter.Cut(Span(10, 50)), ElementsAre(Device(10, 11), Others(11, 30), Device(30, 35),
                                                    Others(35, 40), Device(40, 50)));
}

TEST(IdleCutter, BehindAllWorkTheDeviceIdles) {
  const IntervalSet nothing;
  IdleCutter cutter(nothing, {});
  EXPECT_THAT(cutter.Cut(Span(5, 9)), ElementsAre(Device(5, 9)));
  EXPECT_TRUE(cutter.Cut(Span(9, 9)).empty());
}

TEST(ShortestOfLongest, KeepsAsManyPausesAsAreAsked) {
  // The pauses have the lengths 1, 5 and 3.
  const IntervalSet busy = Busy({Span(0, 10), Span(11, 20), Span(25, 30), Span(33, 40)});
  EXPECT_EQ(ShortestOfLongest(busy, 3).ns(), 0);
  EXPECT_EQ(ShortestOfLongest(busy, 2).ns(), 3);
  EXPECT_EQ(ShortestOfLongest(busy, 1).ns(), 5);
  EXPECT_EQ(ShortestOfLongest({}, 1).ns(), 0);
}

}  // namespace idle_parts_test
}  // namespace headroom
