#include "export/folded_stacks.h"

#include <gtest/gtest.h>

#include "store/store_builder.h"

namespace headroom {
namespace folded_stacks_test {

constexpr std::int64_t kMain = 1, kStream = 7;

std::string Folded(const TraceStore& store, StackTime time) {
  return FoldedStacks(store, time, "out", {}).value();
}

TEST(FoldedStacks, HostTimeIsWhatIsInNoEventInside) {
  StoreBuilder b;
  b.Op("outer", kMain, 0, 100);
  b.Op("inner", kMain, 10, 30);
  b.Op("inner", kMain, 50, 20);
  EXPECT_EQ(Folded(*b.Build(), StackTime::kHost),
            "thread 1;outer 50000\nthread 1;outer;inner 50000\n");
}

TEST(FoldedStacks, GpuTimeStandsBelowWhatLaunchedIt) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 10, "gemm", kStream, 20, 30);
  b.Launch("aten::mm", kMain, 60, "gemm", kStream, 70, 5);
  b.Kernel("stray", kStream, 90, 2);
  EXPECT_EQ(Folded(*b.Build(), StackTime::kGpu),
            "(no launch recorded);stray 2000\n"
            "thread 1;aten::mm;cudaLaunchKernel;gemm 35000\n");
}

TEST(FoldedStacks, NoNameEndsAFrameOrALine) {
  StoreBuilder b;
  b.Op("a;b\nc\xff", kMain, 0, 1);
  b.Op("", kMain, 5, 1);
  EXPECT_EQ(Folded(*b.Build(), StackTime::kHost),
            "thread 1;(no name) 1000\nthread 1;a:b c\xEF\xBF\xBD 1000\n");
}

TEST(FoldedStacks, WhatIsDrawnOverAStreamIsNoHostWork) {
  StoreBuilder b;
  b.Event(HostEventKind::kGpuAnnotation, "range", kStream, 0, 50);
  b.Op("empty", kMain, 0, 0);
  EXPECT_EQ(Folded(*b.Build(), StackTime::kHost), "");
  EXPECT_EQ(Folded(*StoreBuilder().Build(), StackTime::kGpu), "");
}

}  // namespace folded_stacks_test
}  // namespace headroom
