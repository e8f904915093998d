#include "analysis/gpu/syncs.h"

#include <random>

#include "analysis/gpu/gpu_time.h"
#include "analysis/test_trace.h"

namespace headroom {
namespace syncs_test {

/// Returns the cost in us of each blocking call, in order of start.
std::vector<std::int64_t> PricesUs(const StoreBuilder& builder,
                                   const IntervalSet& held = IntervalSet()) {
  TestTrace trace(builder);
  std::vector<std::int64_t> prices;
  for (const PricedSync& sync :
       PriceSyncs(*trace.store, trace.names, trace.attribution, ProcessId(),
                  FindBusyTime(*trace.store, ProcessId()), held)) {
    prices.push_back(sync.gpu_idle.length().ns() / 1000);
  }
  return prices;
}

using Prices = std::vector<std::int64_t>;

TEST(Syncs, CostTheIdleBetweenTheDryGpuAndTheNextTask) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 90);  // The GPU is idle from 100.
  b.Call("cudaStreamSynchronize", kMain, 5, 97);           // Blocks until 102.
  b.Launch("aten::mm", kMain, 110, kGemm, kStream, 115, 10);
  EXPECT_EQ(PricesUs(b), Prices{15});
}

TEST(Syncs, CostNoMoreThanTheyBlock) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 30);  // The GPU is idle from 40.
  b.Call("cudaStreamSynchronize", kMain, 20, 22);          // Blocks 22 us.
  b.Launch("aten::mm", kMain, 1000, kGemm, kStream, 1010, 10);
  EXPECT_EQ(PricesUs(b), Prices{22})
      << "the host did something else until 1000, with or without the call";
}

TEST(Syncs, OfADryGpuCostTheirOwnLength) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 10);
  b.Call("cudaDeviceSynchronize", kMain, 50, 5);
  b.Launch("aten::mm", kMain, 60, kGemm, kStream, 70, 10);
  EXPECT_EQ(PricesUs(b), Prices{5});
}

TEST(Syncs, AtTheEndOfTheTraceCostNothing) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 90);
  b.Call("cudaDeviceSynchronize", kMain, 5, 100);
  EXPECT_EQ(PricesUs(b), Prices{0});
}

/// Waits until 200 for a copy to the host, then runs `op` for 90 us on the host, then launches.
StoreBuilder WaitForCopy(std::int64_t bytes, const char* op) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 90);
  b.Call("cudaMemcpyAsync", kMain, 4, 2, 1);
  b.Copy(CopyKind::kDeviceToHost, "Memcpy DtoH (Device -> Pinned)", kStream, 100, 100, 1)
      .Bytes(bytes);
  b.Call("cudaStreamSynchronize", kMain, 20, 180);
  if (op != nullptr) b.Op(op, kMain, 205, 90);
  b.Launch("aten::mm", kMain, 300, kGemm, kStream, 304, 10);
  return b;
}

TEST(Syncs, WhatTheHostDoesWithResultsIsNoWait) {
  EXPECT_EQ(PricesUs(WaitForCopy(1 << 20, "cpu_adam::adam_update")), Prices{14});
  EXPECT_EQ(PricesUs(WaitForCopy(4, "aten::add")), Prices{104}) << "a value";
  EXPECT_EQ(PricesUs(WaitForCopy(1 << 20, nullptr)), Prices{104});
  // The loader's operators do not require the copied data.
  StoreBuilder loader = WaitForCopy(1 << 20, "aten::stack");
  loader.Region("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", kMain, 202, 96);
  EXPECT_EQ(PricesUs(loader), Prices{104});
  // The host did not wait for this kernel.
  StoreBuilder later = WaitForCopy(1 << 20, "cpu_adam::adam_update");
  later.Launch("aten::mm", kMain, 8, kGemm, kSideStream, 150, 52);
  EXPECT_EQ(PricesUs(later), Prices{102});
}

TEST(Syncs, CostNothingWhileTheGpuHasWork) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 30);
  b.Launch("aten::mm", kMain, 3, kGemm, kSideStream, 10, 200);
  b.Call("cudaStreamSynchronize", kMain, 5, 35);  // Waits for one stream; the other continues.
  b.Launch("aten::mm", kMain, 45, kGemm, kStream, 50, 10);
  EXPECT_EQ(PricesUs(b), Prices{0});
}

TEST(Syncs, CostNothingWhereQueuedWorkEndsTheGap) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 30);
  b.Launch("aten::mm", kMain, 2, kGemm, kSideStream, 10, 200);
  b.Launch("aten::mm", kMain, 4, kGemm, kSideStream, 211, 689);  // A gap of 1 us at 210.
  b.Call("cudaStreamSynchronize", kMain, 7, 33);
  b.Launch("aten::mm", kMain, 300, kGemm, kStream, 900, 10);
  EXPECT_EQ(PricesUs(b), Prices{0});
}

TEST(Syncs, OfAnotherProcessCostNothing) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 90);
  b.Launch("aten::mm", kMain, 110, kGemm, kStream, 115, 10);
  b.InProcess("2").Call("cudaDeviceSynchronize", kMain, 5, 97);
  TestTrace trace(b);
  const ProcessId first = trace.store->threads.process[0];
  EXPECT_TRUE(PriceSyncs(*trace.store, trace.names, trace.attribution, first,
                         FindBusyTime(*trace.store, first), IntervalSet())
                  .empty());
}

TEST(Syncs, PriceOnlyIdleTime) {
  for (int seed = 0; seed < 200; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const auto below = [&](int n) { return static_cast<std::int64_t>(random() % n); };
    StoreBuilder b;
    std::int64_t at = 0;
    for (int i = 0; i < 30; ++i) {
      at += 1 + below(20);
      if (below(4) == 0) {
        const std::int64_t length = 1 + below(60);
        b.Call("cudaStreamSynchronize", kMain, at, length);
        at += length;
      } else {
        b.Launch("aten::mm", kMain, at, kGemm, below(2) == 0 ? kStream : kSideStream,
                 at + 1 + below(40), 1 + below(50));
        at += 2;
      }
    }
    TestTrace trace(b);
    const IntervalSet busy = FindBusyTime(*trace.store, ProcessId());
    TimeNs priced(INT64_MIN);
    for (const PricedSync& sync : PriceSyncs(*trace.store, trace.names, trace.attribution,
                                             ProcessId(), busy, IntervalSet())) {
      if (sync.gpu_idle.length().ns() == 0) continue;
      EXPECT_EQ(busy.MeasureWithin(sync.gpu_idle), Us(0)) << "seed " << seed;
      EXPECT_LE(sync.gpu_idle.length(), trace.store->host_events.duration[sync.call.index()]);
      EXPECT_GE(sync.gpu_idle.start, priced) << "seed " << seed;
      priced = sync.gpu_idle.end;
    }
  }
}

TEST(Syncs, InARowShareOneIdle) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 90);  // The GPU is idle from 100.
  b.Call("cudaStreamSynchronize", kMain, 5, 96);           // Until 101.
  b.Call("cudaStreamSynchronize", kMain, 102, 3);
  b.Launch("aten::mm", kMain, 105, kGemm, kStream, 110, 10);
  EXPECT_EQ(PricesUs(b), (Prices{10, 0}));
}

struct CopyCase {
  const char* name;
  CopyKind kind;
  const char* task;
  std::int64_t call_us;  ///< Length of the call at 20; the copy runs from 25 to 35.
  bool blocks;
};

const CopyCase kCopyCases[] = {
    {"pageable and waited for", CopyKind::kDeviceToHost, "Memcpy DtoH (Device -> Pageable)", 16,
     true},
    {"pageable from the host", CopyKind::kHostToDevice, "Memcpy HtoD (Pageable -> Device)", 16,
     true},
    {"memory unknown, waited for", CopyKind::kDeviceToHost, "CopyDeviceToHost", 16, true},
    {"returned before the copy ended", CopyKind::kHostToDevice, "Memcpy HtoD (Pageable -> Device)",
     10, false},
    {"pinned never blocks", CopyKind::kHostToDevice, "Memcpy HtoD (Pinned -> Device)", 16, false},
    {"within the device never blocks", CopyKind::kDeviceToDevice, "Memcpy DtoD (Device -> Device)",
     16, false},
};

TEST(Syncs, AreAsynchronousCopiesThatOutlastTheirCopy) {
  for (const CopyCase& c : kCopyCases) {
    StoreBuilder b;
    b.Launch("aten::mm", kMain, 0, kGemm, kStream, 5, 20);
    b.Call("cudaMemcpyAsync", kMain, 20, c.call_us, 1);
    b.Copy(c.kind, c.task, kStream, 25, 10, 1);
    b.Launch("aten::mm", kMain, 40, kGemm, kStream, 50, 10);
    EXPECT_EQ(PricesUs(b), c.blocks ? Prices{15} : Prices{}) << c.name;
  }
}

TEST(Syncs, SynchronousCopiesCostALongStallOfTheQueue) {
  for (const char* call : {"hipMemcpyWithStream", "cudaStreamSynchronize"}) {
    StoreBuilder b;
    b.Launch("aten::mm", kMain, 0, kGemm, kStream, 5, 20);
    b.Launch("aten::mm", kMain, 30, kGemm, kStream, 4'000, 20);
    b.Call(call, kMain, 50, 4'000);
    b.Launch("aten::mm", kMain, 4'060, kGemm, kStream, 4'065, 10);
    const IntervalSet held = IntervalSet::UnionOf({{AtUs(36), AtUs(4'000)}});
    // A synchronization only waits for the stall; it does not cause it.
    const bool copies = std::string_view(call) == "hipMemcpyWithStream";
    EXPECT_EQ(PricesUs(b, held), Prices{copies ? 3'950 : 45}) << call;
  }
}

TEST(Syncs, OfOneValueDoNotPayForAStallOfTheQueue) {
  // `.item()` is an asynchronous copy to pageable memory.
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 5, 20);
  b.Launch("aten::mm", kMain, 30, kGemm, kStream, 4'000, 20);
  b.Call("cudaMemcpyAsync", kMain, 50, 4'000, 1'000);
  b.Copy(CopyKind::kDeviceToHost, "Memcpy DtoH (Device -> Pageable)", kStream, 4'030, 2, 1'000);
  b.Launch("aten::mm", kMain, 4'060, kGemm, kStream, 4'065, 10);
  EXPECT_EQ(PricesUs(b, IntervalSet::UnionOf({{AtUs(36), AtUs(4'000)}})), Prices{33});
}

TEST(Syncs, TableSumsByNameAndPlaceAndLeavesOutFreeOnes) {
  StoreBuilder b;
  for (int i = 0; i < 3; ++i) {
    const int at = i * 1000;
    b.Launch("aten::mm", kMain, at, kGemm, kStream, at + 10, 90);
    b.Op("aten::item", kMain, at + 4, 100);
    b.Call("cudaStreamSynchronize", kMain, at + 5, 97);
    b.Launch("aten::mm", kMain, at + 110, kGemm, kStream, at + 115, 10);
  }
  b.Call("cudaDeviceSynchronize", kMain, 5000, 10);
  TestTrace trace(b);
  const auto syncs = PriceSyncs(*trace.store, trace.names, trace.attribution, ProcessId(),
                                FindBusyTime(*trace.store, ProcessId()), IntervalSet());
  const Interval steps[] = {{AtUs(0), AtUs(1110)}, {AtUs(1110), AtUs(2105)}};
  const std::vector<SyncRow> rows =
      SyncTable(*trace.store, trace.attribution, syncs, steps[1], steps);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "cudaStreamSynchronize");
  EXPECT_EQ(rows[0].where, "aten::item");
  EXPECT_EQ(rows[0].count, 3);
  EXPECT_EQ(rows[0].host, Us(3 * 97));
  EXPECT_EQ(rows[0].gpu_idle, Us(3 * 15));
  EXPECT_EQ(rows[0].in_median_step, Us(5 + 5))
      << "the end of one call's idle time, the start of another's";
  EXPECT_EQ(rows[0].in_mean_step, DurationNs(17'500));
}

TEST(Syncs, WithoutGpuWorkAreNotPriced) {
  StoreBuilder b;
  b.Call("cudaDeviceSynchronize", kMain, 0, 10);
  EXPECT_TRUE(PricesUs(b).empty());
}

}  // namespace syncs_test
}  // namespace headroom
