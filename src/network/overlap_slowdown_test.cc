#include "network/overlap_slowdown.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "analysis/test_trace.h"

namespace headroom {
namespace overlap_slowdown_test {

constexpr std::int64_t kComm = 20;

/// Each of `kernels` runs four times alone for 100 us and twice during a collective for
/// `beside_us`.
std::unique_ptr<TraceStore> TraceOf(int kernels, int beside_us) {
  StoreBuilder b;
  int at = 0;
  for (int repeat = 0; repeat < 6; ++repeat) {
    const bool beside = repeat >= 4;
    const int begin = at;
    for (int kernel = 0; kernel < kernels; ++kernel) {
      const int length = beside ? beside_us : 100;
      b.Launch("aten::mm", kMain, at, "gemm_" + std::to_string(kernel), kStream, at + 5, length);
      at += length + 10;
    }
    if (beside)
      b.Launch("nccl:all_reduce", kMain, begin + 2, kAllReduce, kComm, begin + 3, at - begin);
    at += 50;
  }
  return b.Build();
}

std::optional<OverlapSlowdown> Measure(const TraceStore& store) {
  return MeasureOverlapSlowdown(store, [&](std::size_t task) {
    return store.Text(store.gpu_tasks.name[task]).starts_with("nccl");
  });
}

TEST(OverlapSlowdownTest, FromKernelsThatRanBothWays) {
  const std::optional<OverlapSlowdown> slowdown = Measure(*TraceOf(6, 120));
  ASSERT_TRUE(slowdown.has_value());
  EXPECT_EQ(slowdown->kernels, 6);
  EXPECT_DOUBLE_EQ(slowdown->low, 1.2);
  EXPECT_DOUBLE_EQ(slowdown->mid, 1.2);
  EXPECT_DOUBLE_EQ(slowdown->high, 1.2);
  EXPECT_TRUE(slowdown->is_told());
}

TEST(OverlapSlowdownTest, OfFewKernelsItTellsNothing) {
  EXPECT_FALSE(Measure(*TraceOf(4, 120)).has_value());
}

TEST(OverlapSlowdownTest, WhatIsNoSlowerSaysSo) {
  EXPECT_FALSE(Measure(*TraceOf(6, 100))->is_told());
}

TEST(OverlapSlowdownTest, NoneWithoutCollectives) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, "gemm", kStream, 5, 100);
  EXPECT_FALSE(Measure(*b.Build()).has_value());
}

}  // namespace overlap_slowdown_test
}  // namespace headroom
