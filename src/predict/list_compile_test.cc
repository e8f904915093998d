#include "predict/list_compile.h"

#include <gtest/gtest.h>

#include "predict/list_change.h"

namespace headroom {
namespace list_compile_test {

/// A work of an operator with `result` and `input` elements in float32.
ListedWork Listed(decltype(KernelWork::shape) shape, double input, double result,
                  StepPhase phase = StepPhase::kForward) {
  ListedWork listed;
  listed.phase = phase;
  listed.work.shape = std::move(shape);
  listed.largest_input = input;
  listed.result = result;
  return listed;
}

ListedWork Pointwise(double bytes, double input, double result,
                     StepPhase phase = StepPhase::kForward) {
  return Listed(PointwiseWork{.bytes = bytes}, input, result, phase);
}

ListedWork Convolution(std::int64_t in, std::int64_t out, std::int64_t kernel,
                       std::int64_t groups = 1) {
  ConvolutionShape shape;
  shape.batch = 8;
  shape.in_channels = in;
  shape.out_channels = out;
  shape.groups = groups;
  shape.in = shape.out = {32, 32};
  shape.kernel = {kernel, kernel};
  shape.dtype = DType::kF32;
  const double pixels = 8 * 32 * 32;
  return Listed(shape, pixels * static_cast<double>(in), pixels * static_cast<double>(out));
}

OperatorList Compiled(std::vector<ListedWork> works) {
  OperatorList list;
  list.works = std::move(works);
  FuseAsCompiled(list);
  return list;
}

double BytesOf(const ListedWork& listed) {
  const auto* pointwise = std::get_if<PointwiseWork>(&listed.work.shape);
  return pointwise != nullptr ? pointwise->bytes : -1;
}

TEST(ListCompile, AChainReadsItsInputAndWritesItsResultOnce) {
  // relu, an addition of a second tensor, tanh: 1000 elements each.
  const OperatorList list = Compiled(
      {Pointwise(8000, 1000, 1000), Pointwise(12000, 1000, 1000), Pointwise(8000, 1000, 1000)});
  ASSERT_EQ(list.works.size(), 1u);
  EXPECT_EQ(BytesOf(list.works[0]), 12000) << "two operands and one result";
  EXPECT_EQ(std::get<PointwiseWork>(list.works[0].work.shape).kernels, 1);
  EXPECT_EQ(list.launch, ListLaunch::kCompiled);
}

TEST(ListCompile, OtherSizesAndLibrariesEndAChain) {
  const OperatorList list = Compiled({Pointwise(8000, 1000, 1000), Pointwise(800, 100, 100),
                                      Listed(ProductWork{.m = 10, .k = 10, .n = 10}, 100, 100),
                                      Pointwise(800, 100, 100)});
  EXPECT_EQ(list.works.size(), 4u);
}

TEST(ListCompile, AFusedKernelNeverMovesLessThanItsResult) {
  // The list may state an input twice as large as the bytes that the operator reads.
  const OperatorList list = Compiled({Pointwise(4000, 1000, 1000), Pointwise(4000, 1000, 1000)});
  ASSERT_EQ(list.works.size(), 1u);
  EXPECT_EQ(BytesOf(list.works[0]), 4000);
}

TEST(ListCompile, ANormalizationTakesInWhatSurroundsItAndNotAnotherOne) {
  const RowwiseWork norm{.rows = 1000, .columns = 100};
  const OperatorList list = Compiled({Pointwise(800'000, 1e5, 1e5), Listed(norm, 1e5, 1e5),
                                      Pointwise(800'000, 1e5, 1e5), Listed(norm, 1e5, 1e5)});
  ASSERT_EQ(list.works.size(), 2u);
  EXPECT_EQ(BytesOf(list.works[0]), 800'000) << "reads the input, writes the result";
  EXPECT_EQ(BytesOf(list.works[1]), 800'000);
}

TEST(ListCompile, FewLongRowsAreSplitAmongKernels) {
  const RowwiseWork softmax{.rows = 16, .columns = 16384, .softmax = true};
  const OperatorList list = Compiled({Listed(softmax, 16.0 * 16384, 16.0 * 16384)});
  ASSERT_EQ(list.works.size(), 1u);
  EXPECT_EQ(std::get<PointwiseWork>(list.works[0].work.shape).kernels, 5);
}

TEST(ListCompile, ConvolutionsGoToChannelsLastWithCopiesAtTheEnds) {
  const OperatorList list = Compiled({Convolution(64, 128, 3), Convolution(128, 128, 1)});
  // Copies of the weights of 3 x 3 and of the input, two convolutions, a copy of the result.
  ASSERT_EQ(list.works.size(), 5u);
  const double pixels = 8 * 32 * 32;
  EXPECT_EQ(BytesOf(list.works[0]), 64.0 * 128 * 9 * 8) << "weights";
  EXPECT_EQ(BytesOf(list.works[1]), pixels * 64 * 8) << "input";
  EXPECT_EQ(BytesOf(list.works[4]), pixels * 128 * 8) << "result";
  EXPECT_TRUE(std::get<ConvolutionShape>(list.works[2].work.shape).channels_last);
}

TEST(ListCompile, GroupedConvolutionsKeepTheirOrder) {
  const OperatorList list = Compiled({Convolution(128, 128, 3, 8)});
  ASSERT_EQ(list.works.size(), 1u);
  EXPECT_FALSE(std::get<ConvolutionShape>(list.works[0].work.shape).channels_last);
}

TEST(ListCompile, TheBackwardRunsInReverse) {
  const auto backward = StepPhase::kBackward;
  // Listed for the forward's order: a (1000 -> 1000), then b (1000 -> 10).
  const OperatorList list =
      Compiled({Pointwise(8000, 1000, 1000, backward), Pointwise(4040, 1000, 10, backward)});
  // b's gradient (10 -> 1000) precedes a's (1000 -> 1000), which reads it.
  ASSERT_EQ(list.works.size(), 1u);
  EXPECT_EQ(BytesOf(list.works[0]), 4040) << "8000 + 4040 - 8000: at least the result of 4000";
}

TEST(ListCompile, ModesOfTorchCompileAndGraphs) {
  std::vector<OperatorList> lists(1);
  lists[0].works = {Pointwise(8000, 1000, 1000)};
  ASSERT_TRUE(ApplyToLists("compile:mode=reduce-overhead", lists).ok());
  EXPECT_EQ(lists[0].launch, ListLaunch::kGraph);
  EXPECT_EQ(lists[0].works.size(), 2u) << "the graph's input is copied";
  EXPECT_FALSE(ApplyToLists("compile:mode=fast", lists).ok());
  for (const char* changes : {"compile+cuda-graph", "cuda-graph+compile"}) {
    lists[0] = {};
    lists[0].works = {Pointwise(8000, 1000, 1000)};
    ASSERT_TRUE(ApplyToLists(changes, lists).ok());
    EXPECT_EQ(lists[0].launch, ListLaunch::kGraph) << changes;
  }
  // Compiling comes last, whatever the order.
  for (const char* changes : {"compile+half", "half+compile"}) {
    lists[0] = {};
    lists[0].works = {Pointwise(8000, 1000, 1000), Pointwise(8000, 1000, 1000)};
    ASSERT_TRUE(ApplyToLists(changes, lists).ok());
    ASSERT_EQ(lists[0].works.size(), 1u) << changes;
    EXPECT_EQ(BytesOf(lists[0].works[0]), 4000) << changes;
  }
}

}  // namespace list_compile_test
}  // namespace headroom
