#include "analysis/row_calls.h"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "analysis/test_trace.h"

namespace headroom {
namespace row_calls_test {

/// Ten steps. In each, the operator launches a product of 10, 20, ... 100 us and a view.
struct TenSteps {
  TenSteps() {
    StoreBuilder b;
    for (std::int64_t step = 0; step < 10; ++step) {
      const std::int64_t at = 1000 * step;
      b.Step(step, kMain, at, 990);
      b.Launch("aten::mm", kMain, at + 10, kGemm, kStream, at + 50, 10 * (step + 1));
      b.Launch("aten::add", kMain, at + 500, kAdd, kStream, at + 600, 5);
    }
    store = b.Build();
    names = std::make_unique<NameFacts>(*store, TestReferenceData());
    trace = AnalyzeTrace(*store, TestReferenceData(), *names, {}).value();
  }
  RowCalls Of(CallTable table, std::string_view name, const TableScope& scope = {}) {
    return CallsOf(*store, *names, trace, scope, table, name, 3);
  }

  std::unique_ptr<TraceStore> store;
  std::unique_ptr<NameFacts> names;
  AnalyzedTrace trace;
};

TEST(RowCalls, SpreadAsTheTableHasIt) {
  TenSteps job;
  for (const auto& [table, rows] :
       {std::pair(CallTable::kKernels, &job.trace.report.kernels),
        std::pair(CallTable::kOperators, &job.trace.report.operators)}) {
    ASSERT_EQ(rows->size(), 2u);
    for (const TimeRow& row : *rows) {
      const RowCalls calls = job.Of(table, row.name);
      EXPECT_EQ(calls.count, row.count) << row.name;
      EXPECT_EQ(calls.min, row.min) << row.name;
      EXPECT_EQ(calls.p50, row.p50) << row.name;
      EXPECT_EQ(calls.max, row.max) << row.name;
      EXPECT_TRUE(calls.of_gpu);
    }
  }
  const RowCalls gemm = job.Of(CallTable::kKernels, kGemm);
  EXPECT_EQ(gemm.p90, Us(90));
  EXPECT_EQ(gemm.p99, Us(100));
}

TEST(RowCalls, TheSlowestComeWithTheirPlace) {
  TenSteps job;
  const RowCalls gemm = job.Of(CallTable::kKernels, kGemm);
  ASSERT_EQ(gemm.slowest.size(), 3u);
  EXPECT_EQ(gemm.slowest[0].time, Us(100));
  EXPECT_EQ(gemm.slowest[0].step_index, 9);
  EXPECT_FALSE(gemm.slowest[0].host);
  const auto id = static_cast<std::size_t>(gemm.slowest[0].id);
  EXPECT_EQ(job.store->gpu_tasks.start[id], gemm.slowest[0].start);
  EXPECT_EQ(job.store->Text(job.store->gpu_tasks.name[id]), kGemm);
  EXPECT_EQ(gemm.slowest[2].time, Us(80));
  const RowCalls mm = job.Of(CallTable::kOperators, "aten::mm");
  EXPECT_EQ(mm.slowest[0].step_index, 9);
  EXPECT_TRUE(mm.slowest[0].host);
  // Among equal calls, the earliest comes first.
  EXPECT_EQ(job.Of(CallTable::kKernels, kAdd).slowest[0].step_index, 0);
}

TEST(RowCalls, WithoutGpuWorkTheHostCounts) {
  StoreBuilder b;
  for (std::int64_t step = 0; step < 3; ++step) {
    b.Step(step, kMain, 1000 * step, 990);
    b.Op("aten::view", kMain, 1000 * step + 10, 5 + step);
  }
  const std::unique_ptr<TraceStore> store = b.Build();
  NameFacts names(*store, TestReferenceData());
  const AnalyzedTrace trace = AnalyzeTrace(*store, TestReferenceData(), names, {}).value();
  const RowCalls view = CallsOf(*store, names, trace, {}, CallTable::kOperators, "aten::view");
  EXPECT_FALSE(view.of_gpu);
  EXPECT_EQ(view.count, 3);
  EXPECT_EQ(view.max, Us(7));
  EXPECT_EQ(view.slowest[0].step_index, 2);
}

TEST(RowCalls, OnlyWhatTheScopeHas) {
  TenSteps job;
  TableScope scope;
  scope.tasks.resize(job.store->gpu_tasks.rows());
  EXPECT_EQ(job.Of(CallTable::kKernels, kGemm, scope).count, 0);
  EXPECT_EQ(job.Of(CallTable::kKernels, "no such kernel").count, 0);
  EXPECT_TRUE(job.Of(CallTable::kKernels, "no such kernel").slowest.empty());
}

}  // namespace row_calls_test
}  // namespace headroom
