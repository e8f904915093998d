#include "analysis/tables/tables.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "analysis/test_trace.h"

namespace headroom {
namespace tables_test {

const TimeRow& RowNamed(const std::vector<TimeRow>& rows, std::string_view name) {
  static const TimeRow kNone;
  for (const TimeRow& row : rows) {
    if (row.name == name) return row;
  }
  ADD_FAILURE() << "no row " << name;
  return kNone;
}

std::vector<TimeRow> Operators(const StoreBuilder& builder) {
  TestTrace trace(builder);
  return OperatorTable(
      *trace.store, trace.attribution,
      CollectCostedWork(*trace.store, trace.names, trace.attribution, trace.costs, nullptr));
}

std::vector<TimeRow> Layers(const StoreBuilder& builder) {
  TestTrace trace(builder);
  return LayerTable(*trace.store, trace.names, trace.attribution);
}

TEST(KernelTable, PerStepIsOfTheStepsThatCount) {
  StoreBuilder b;
  for (int i = 0; i < 2; ++i) {
    b.Step(i, kMain, i * 1000, 1000);
    b.Launch("aten::mm", kMain, i * 1000 + 10, kGemm, kStream, i * 1000 + 20, 100 + 20 * i);
  }
  b.Launch("aten::mm", kMain, 5000, kGemm, kStream, 5010, 700);  // After the steps.
  const TraceReport report = AnalyzeTrace(b);
  const TimeRow& gemm = RowNamed(report.kernels, kGemm);
  EXPECT_EQ(gemm.total, Us(920));
  EXPECT_EQ(gemm.per_step, Us(110));
  StoreBuilder without;
  without.Kernel(kGemm, kStream, 0, 10);
  EXPECT_FALSE(AnalyzeTrace(without).kernels.front().per_step);
}

TEST(KernelTable, SumsByNameAndKeepsOrderStatistics) {
  StoreBuilder b;
  for (const int us : {40, 10, 30, 20}) b.Kernel(kGemm, kStream, us * 100, us);
  b.Copy(CopyKind::kHostToDevice, kStream, 0, 100);
  TestTrace trace(b);
  const std::vector<TimeRow> rows = KernelTable(*trace.store, trace.names, StepAnalysis{});
  ASSERT_EQ(rows.size(), 2u);
  const TimeRow& gemm = RowNamed(rows, kGemm);
  EXPECT_EQ(gemm.count, 4);
  EXPECT_EQ(gemm.total, Us(100));
  EXPECT_EQ(gemm.p50, Us(20)) << "the lower middle one";
  EXPECT_EQ(gemm.min, Us(10));
  EXPECT_EQ(gemm.max, Us(40));
  EXPECT_DOUBLE_EQ(gemm.share_pct, 50);
  EXPECT_EQ(gemm.kind, "matmul");
  EXPECT_EQ(gemm.tensor_cores, "no");
  EXPECT_FALSE(gemm.host);
  EXPECT_EQ(rows[0].kind == "memcpy" ? rows[0].name : rows[1].name,
            "Memcpy HtoD (Pageable -> Device)");
  EXPECT_LT(rows[0].name, rows[1].name) << "equal totals: by name";
}

TEST(ClassTable, SharesSumToAll) {
  StoreBuilder b;
  b.Kernel(kGemm, kStream, 0, 50);
  b.Kernel("ampere_sgemm_32x32_tn", kStream, 50, 10);
  b.Kernel(kAdd, kStream, 60, 20);
  b.Kernel("mystery", kStream, 80, 10);
  b.Set(kStream, 90, 10);
  TestTrace trace(b);
  const std::vector<ClassRow> rows = ClassTable(*trace.store, trace.names);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].name, "matmul");
  EXPECT_EQ(rows[0].count, 2);
  EXPECT_DOUBLE_EQ(rows[0].share_pct, 60);
  double sum = 0;
  for (const ClassRow& row : rows) sum += row.share_pct;
  EXPECT_NEAR(sum, 100, 1e-9);
}

TEST(OperatorTable, RowsDoNotOverlapAndSumToAllAttributedGpuTime) {
  StoreBuilder b;
  b.Op("aten::linear", kMain, 0, 50);
  b.Call("cudaLaunchKernel", kMain, 2, 1, 1);
  b.Kernel("bias", kStream, 10, 5, 1);
  b.Op("aten::mm", kMain, 10, 20);
  b.Call("cudaLaunchKernel", kMain, 12, 1, 2);
  b.Kernel(kGemm, kStream, 20, 30, 2);
  b.Kernel("orphan", kStream, 60, 7);
  const std::vector<TimeRow> rows = Operators(b);
  EXPECT_EQ(RowNamed(rows, "aten::linear").total, Us(5));
  EXPECT_EQ(RowNamed(rows, "aten::mm").total, Us(30));
  DurationNs sum;
  for (const TimeRow& row : rows) sum += row.total;
  EXPECT_EQ(sum + Us(7), Us(42));
}

TEST(OperatorTable, SelfTimeIsWithoutTheOperatorsInside) {
  StoreBuilder b;
  b.Op("outer", kMain, 0, 100);
  b.Annotation("range between", kMain, 5, 60);
  b.Op("inner", kMain, 10, 40);
  b.Op("innermost", kMain, 20, 10);
  b.Op("inner", kMain, 70, 20);
  b.Call("cudaLaunchKernel", kMain, 95, 4);
  const std::vector<TimeRow> rows = Operators(b);
  EXPECT_EQ(RowNamed(rows, "outer").self_host, Us(40));
  EXPECT_EQ(RowNamed(rows, "inner").host, Us(60));
  EXPECT_EQ(RowNamed(rows, "inner").self_host, Us(50));
  EXPECT_EQ(RowNamed(rows, "innermost").self_host, Us(10));
  EXPECT_FALSE(RowNamed(rows, "outer").forward) << "no GPU work in the file";
}

TEST(OperatorTable, WithoutGpuWorkTheLargestOwnHostTimeComesFirst) {
  StoreBuilder b;
  b.Op("ProfilerStep#3", kMain, 0, 100);
  b.Op("aten::relu", kMain, 5, 20);
  b.Op("aten::threshold_backward", kMain, 30, 65);
  const std::vector<TimeRow> rows = Operators(b);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, "aten::threshold_backward");
  EXPECT_EQ(rows[1].name, "aten::relu");
  EXPECT_EQ(rows[2].name, "ProfilerStep#3");
}

TEST(OperatorTable, SelfTimeOfSpansThatOverlapIsTakenOnce) {
  StoreBuilder b;  // Some exporters write whole microseconds, so spans overlap.
  b.Annotation("layer::net", kMain, 0, 1000);
  b.Op("aten::conv2d", kMain, 0, 947);
  b.Op("aten::convolution", kMain, 2, 946);
  b.Op("aten::_convolution", kMain, 5, 940);
  b.Op("outer", kMain, 2000, 100);
  b.Op("first", kMain, 2010, 50);
  b.Op("second", kMain, 2040, 50);
  b.Op("third", kMain, 2090, 11);
  const std::vector<TimeRow> rows = Operators(b);
  EXPECT_EQ(RowNamed(rows, "aten::conv2d").self_host, Us(2));
  EXPECT_EQ(RowNamed(rows, "aten::convolution").self_host, Us(6));
  EXPECT_EQ(RowNamed(rows, "outer").self_host, Us(10));
}

RC_GTEST_PROP(TablesProperty, NoSelfTimeIsNegative, ()) {
  const auto spans = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 20), rc::gen::inRange(0, 12)));
  StoreBuilder b;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const auto [start, us] = spans[i];
    if (i % 2 == 0) {
      b.Op(std::to_string(i), kMain, start, us);
    } else {
      b.Annotation("layer::" + std::to_string(i), kMain, start, us);
    }
  }
  for (const std::vector<TimeRow>& rows : {Operators(b), Layers(b)}) {
    for (const TimeRow& row : rows) RC_ASSERT(row.self_host.value().ns() >= 0);
  }
}

TEST(OperatorTable, CallsWithoutGpuWorkAreZerosAmongTheOthers) {
  const struct {
    int with_kernel, without;
    std::int64_t p50_us, min_us;
  } kCases[] = {{3, 0, 10, 10}, {3, 1, 10, 0}, {2, 2, 0, 0}, {1, 3, 0, 0}, {2, 1, 10, 0}};
  for (const auto& c : kCases) {
    StoreBuilder b;
    int at = 0;
    for (int i = 0; i < c.with_kernel; ++i, at += 10)
      b.Launch("aten::view", kMain, at, kAdd, kStream, at, 10);
    for (int i = 0; i < c.without; ++i, at += 10) b.Op("aten::view", kMain, at, 2);
    const TimeRow row = RowNamed(Operators(b), "aten::view");
    EXPECT_EQ(row.count, c.with_kernel + c.without);
    EXPECT_EQ(row.p50, Us(c.p50_us)) << c.with_kernel << " + " << c.without;
    EXPECT_EQ(row.min, Us(c.min_us));
    EXPECT_EQ(row.total, Us(10 * c.with_kernel));
  }
}

/// Builds one layer with `gpu_us` of forward and twice that of backward.
StoreBuilder OneLayer() {
  StoreBuilder b;
  b.Step(0, kMain, 0, 1000);
  b.Annotation("layer::outer", kMain, 0, 100);
  b.Annotation("layer::inner", kMain, 10, 60);
  b.Op("aten::mm", kMain, 20, 10).Sequence(4);
  b.Call("cudaLaunchKernel", kMain, 22, 1, 1);
  b.Kernel(kGemm, kStream, 30, 10, 1);
  b.Op("autograd::engine::evaluate_function: MmBackward0", kAutograd, 200, 50)
      .Sequence(4)
      .ForwardThread(1);
  b.Op("aten::t", kAutograd, 210, 30);
  b.Call("cudaLaunchKernel", kAutograd, 212, 1, 2);
  b.Kernel(kGemm, kStream, 230, 20, 2);
  return b;
}

TEST(OperatorTable, BackwardIsWhatTheNodesOfTheForwardCallsLaunch) {
  const std::vector<TimeRow> rows = Operators(OneLayer());
  EXPECT_EQ(RowNamed(rows, "aten::mm").forward, Us(10));
  EXPECT_EQ(RowNamed(rows, "aten::mm").backward, Us(20));
  EXPECT_EQ(RowNamed(rows, "aten::mm").total, Us(10));
  EXPECT_EQ(RowNamed(rows, "aten::t").total, Us(20));
  EXPECT_EQ(RowNamed(rows, "aten::t").forward, Us(0));
}

TEST(OperatorTable, BackwardIsUnknownWithoutSequenceNumbers) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 10);
  EXPECT_FALSE(RowNamed(Operators(b), "aten::mm").backward);
  EXPECT_EQ(RowNamed(Operators(b), "aten::mm").forward, Us(10));
}

TEST(OperatorTable, CountsFlopsOfACostedOperatorAndPlacesItOnTheRoofline) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  b.Op("aten::mm", kMain, 0, 10).Shapes("[[4096, 4096], [4096, 4096]]", R"(["float", "float"])");
  b.Call("cudaLaunchKernel", kMain, 2, 1, 1);
  b.Kernel(kGemm, kStream, 10, 3000, 1);
  const TraceReport report = AnalyzeTrace(b);
  const TimeRow& mm = RowNamed(report.operators, "aten::mm");
  ASSERT_TRUE(mm.flops);
  EXPECT_DOUBLE_EQ(*mm.flops, 2.0 * 4096 * 4096 * 4096);
  EXPECT_DOUBLE_EQ(*mm.bytes, 3.0 * 4096 * 4096 * 4);
  EXPECT_EQ(mm.bound, "compute");
  ASSERT_TRUE(mm.roofline_pct);
  EXPECT_GT(*mm.roofline_pct, 60);
  EXPECT_LT(*mm.roofline_pct, 80);
}

TEST(LayerTable, HoldsForwardAndBackwardOfTheInnermostLayer) {
  const std::vector<TimeRow> rows = Layers(OneLayer());
  const TimeRow& inner = RowNamed(rows, "layer::inner");
  EXPECT_EQ(inner.total, Us(30));
  EXPECT_EQ(inner.forward, Us(10));
  EXPECT_EQ(inner.backward, Us(20));
  EXPECT_EQ(inner.p50, Us(30)) << "one call, backward included";
  const TimeRow& outer = RowNamed(rows, "layer::outer");
  EXPECT_EQ(outer.total, Us(0));
  EXPECT_EQ(outer.host, Us(100));
  EXPECT_EQ(outer.self_host, Us(40));
}

TEST(LayerTable, IsEmptyWhereNoLayerWasRecorded) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 10);
  EXPECT_TRUE(Layers(b).empty());
}

TEST(LayerTable, DeepFramesTakeNoQuadraticTime) {
  StoreBuilder b;
  constexpr int kDeep = 50'000;
  b.InNanoseconds();
  for (int i = 0; i < kDeep; ++i) b.Frame("a.py(1): f", kMain, i, 3 * kDeep - 2 * i);
  for (int i = 0; i < kDeep / 2; ++i) b.Frame("nn.Module: Linear_0", kMain, kDeep + i, 1);
  EXPECT_EQ(Layers(b).at(0).count, kDeep / 2);
}

TEST(LineTable, HoldsForwardAndBackwardOfTheUsersOwnLines) {
  StoreBuilder b = OneLayer();
  b.Frame("train.py(7): step", kMain, 0, 150);
  b.Frame("torch/nn/modules/linear.py(1): forward", kMain, 15, 30);
  TestTrace trace(b);
  const std::vector<LineRow> rows = LineTable(*trace.store, trace.attribution);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].location, "train.py(7): step");
  EXPECT_EQ(rows[0].count, 2);
  EXPECT_EQ(rows[0].forward, Us(10));
  EXPECT_EQ(rows[0].backward, Us(20));
  EXPECT_DOUBLE_EQ(rows[0].share_pct, 100);
}

}  // namespace tables_test
}  // namespace headroom
