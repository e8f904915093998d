#include "ranks/collective_rows.h"

#include <gtest/gtest.h>

#include "store/store_builder.h"

namespace headroom {
namespace collective_rows_test {

constexpr std::int64_t kStream = 7;

TEST(CollectiveRowsTest, TheLargerSideIsTheTensor) {
  StoreBuilder b;
  b.Kernel("gather", kStream, 0, 10).Collective("allgather", "BFloat16", 100, 400, 4);
  b.Kernel("scatter", kStream, 20, 10).Collective("reducescatter", "Float", 400, 100, 4);
  b.Kernel("gemm", kStream, 40, 10);
  const std::unique_ptr<TraceStore> store = b.Build();
  const CollectiveRows rows(*store);
  EXPECT_EQ(rows.Of(0)->bytes, 800);
  EXPECT_EQ(rows.Of(0)->name, "allgather");
  EXPECT_EQ(rows.Of(1)->bytes, 1600);
  EXPECT_EQ(rows.Of(1)->members, 4);
  EXPECT_FALSE(rows.Of(2).has_value());
}

TEST(CollectiveRowsTest, WhatIsNotKnownIsNotGuessed) {
  StoreBuilder b;
  b.Kernel("a", kStream, 0, 10).Collective("allreduce", "QInt8", 100, 100, kUnknown);
  b.Kernel("b", kStream, 20, 10).Collective("barrier", "Float", kUnknown, kUnknown, 0);
  const std::unique_ptr<TraceStore> store = b.Build();
  const CollectiveRows rows(*store);
  EXPECT_FALSE(rows.Of(0)->bytes.has_value());
  EXPECT_FALSE(rows.Of(0)->members.has_value());
  EXPECT_FALSE(rows.Of(1)->bytes.has_value());
  EXPECT_FALSE(rows.Of(1)->members.has_value());
}

}  // namespace collective_rows_test
}  // namespace headroom
