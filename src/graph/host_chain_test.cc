#include "graph/host_chain.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "analysis/test_trace.h"

namespace headroom {
namespace host_chain_test {

std::vector<HostChain> ChainsOf(const TraceStore& store, std::int64_t from_us, std::int64_t to_us) {
  return FindHostChains(store, ProcessId(), ThreadId(), {AtUs(from_us), AtUs(to_us)});
}

TEST(HostChainTest, WorkIsCutAtOperatorsAndCalls) {
  StoreBuilder b;
  b.Op("aten::mm", kMain, 10, 20);
  b.Call("cudaLaunchKernel", kMain, 15, 5, 1);
  b.Call("cudaLaunchKernel", kMain, 40, 5, 2);
  const std::unique_ptr<TraceStore> store = b.Build();
  const std::vector<HostChain> chains = ChainsOf(*store, 0, 100);
  ASSERT_EQ(chains.size(), 1u);
  ASSERT_EQ(chains[0].calls.size(), 2u);
  // Pieces: 0-10 no event, 10-15 operator | call | 20-30 operator, 30-40 no event | call | 45-100.
  ASSERT_EQ(chains[0].pieces.size(), 5u);
  EXPECT_EQ(chains[0].calls[0].pieces_end, 2u);
  EXPECT_EQ(chains[0].calls[1].pieces_begin, 2u);
  EXPECT_EQ(chains[0].calls[1].pieces_end, 4u);
  EXPECT_FALSE(chains[0].pieces[0].owner.valid());
  EXPECT_TRUE(chains[0].pieces[1].owner.valid());
  EXPECT_EQ(chains[0].pieces[1].operator_halves, 1);  // The operator begins here.
  EXPECT_EQ(chains[0].pieces[3].operator_halves, 1);  // The operator ends here.
  DurationNs sum;
  for (const HostPiece& piece : chains[0].pieces) sum += piece.length();
  EXPECT_EQ(sum, Us(90));
}

TEST(HostChainTest, TheAutogradThreadIsSplicedIntoTheSilenceOfTheLoop) {
  StoreBuilder b;
  b.Op("aten::mm", kMain, 0, 20);
  b.Call("cudaLaunchKernel", kMain, 5, 5, 1);
  b.Op("MmBackward0", kAutograd, 50, 100);
  b.Call("cudaLaunchKernel", kAutograd, 60, 5, 2);
  b.Op("aten::add_", kMain, 200, 20);
  b.Call("cudaLaunchKernel", kMain, 205, 5, 3);
  b.Call("cudaLaunchKernel", kMain, 215, 2, 4);
  const std::unique_ptr<TraceStore> store = b.Build();
  const std::vector<HostChain> chains = ChainsOf(*store, 0, 300);
  ASSERT_EQ(chains.size(), 1u);
  ASSERT_EQ(chains[0].calls.size(), 4u);
  EXPECT_TRUE(chains[0].calls[1].handed_over);
  EXPECT_TRUE(chains[0].calls[2].handed_over);
  EXPECT_FALSE(chains[0].calls[3].handed_over);
  // Each moment counts exactly once.
  DurationNs sum;
  for (const HostPiece& piece : chains[0].pieces) sum += piece.length();
  for (const HostCall& call : chains[0].calls) sum += call.end - call.start;
  EXPECT_EQ(sum, Us(300));
  TimeNs end = AtUs(0);
  for (const HostPiece& piece : chains[0].pieces) {
    EXPECT_GE(piece.start, end);
    end = piece.end;
  }
}

TEST(HostChainTest, AThreadThatRunsBesideTheLoopKeepsItsOwnChain) {
  StoreBuilder b;
  for (int i = 0; i < 10; ++i) {
    b.Op("aten::mm", kMain, 100 * i, 90);
    b.Call("cudaLaunchKernel", kMain, 100 * i + 45, 5, 10 + i);
    b.Op("aten::copy_", kOtherThread, 100 * i + 20, 60);
    b.Call("cudaMemcpyAsync", kOtherThread, 100 * i + 30, 5, 100 + i);
  }
  const std::unique_ptr<TraceStore> store = b.Build();
  EXPECT_EQ(ChainsOf(*store, 0, 1000).size(), 2u);
}

TEST(HostChainTest, AJobOnTheCpuHasACallAtTheEndOfEachStep) {
  StoreBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.Annotation("ProfilerStep", kMain, 100 * step, 100);
    b.Op("aten::mm", kMain, 100 * step + 10, 20);
    b.Op("MmBackward0", kAutograd, 100 * step + 40, 30);
    b.Op("aten::add_", kMain, 100 * step + 80, 10);
  }
  const std::unique_ptr<TraceStore> store = b.Build();
  const Interval window = {AtUs(0), AtUs(300)};
  const std::vector<Interval> steps = {
      {AtUs(0), AtUs(100)}, {AtUs(100), AtUs(200)}, {AtUs(200), AtUs(300)}};
  const HostChain chain = FindChainWithoutCalls(
      *store, ProcessId(), store->steps.rows() > 0 ? store->steps.thread[0] : ThreadId(), window,
      steps, std::vector<bool>(store->threads.rows()));
  ASSERT_EQ(chain.calls.size(), 4u) << "the first piece of work, and the last of each step";
  DurationNs sum;
  for (const HostPiece& piece : chain.pieces) sum += piece.length();
  for (const HostCall& call : chain.calls) sum += call.end - call.start;
  EXPECT_EQ(sum, Us(300)) << "each moment counts once";
  std::set<HostEventId> events;
  for (const HostCall& call : chain.calls) events.insert(call.event);
  EXPECT_EQ(events.size(), 4u);
  bool backward = false;
  for (const HostPiece& piece : chain.pieces) {
    backward |= piece.owner.valid() &&
                store->Text(store->host_events.name[piece.owner.index()]) == "MmBackward0";
  }
  EXPECT_TRUE(backward) << "the autograd thread is in the silence of the loop";
}

}  // namespace host_chain_test
}  // namespace headroom
