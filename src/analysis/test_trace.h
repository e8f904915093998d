// Test helpers that analyze a small trace.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "analysis/analyze.h"
#include "analysis/names/attribution.h"
#include "analysis/names/reference_data.h"
#include "base/interval_set.h"
#include "store/store_builder.h"

namespace headroom {

/// Returns the built-in reference data, loaded once.
inline const ReferenceData& TestReferenceData() {
  static const std::unique_ptr<ReferenceData> reference = [] {
    Result<std::unique_ptr<ReferenceData>> loaded = ReferenceData::LoadBuiltIn();
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    return std::move(loaded).value();
  }();
  return *reference;
}

/// A store with the other inputs of individual analyses.
struct TestTrace {
  explicit TestTrace(const StoreBuilder& builder)
      : store(builder.Build()),
        names(*store, TestReferenceData()),
        costs(*store),
        attribution(*store, names, costs) {}

  std::unique_ptr<TraceStore> store;
  NameFacts names;
  OperatorCosts costs;
  Attribution attribution;
};

/// Returns the complete report. Fails the test if the options do not fit the trace.
inline TraceReport AnalyzeTrace(const StoreBuilder& builder, const AnalysisOptions& options = {}) {
  const std::unique_ptr<TraceStore> store = builder.Build();
  Result<TraceReport> report = Analyze(*store, TestReferenceData(), options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.ok() ? std::move(report).value() : TraceReport();
}

constexpr DurationNs Us(std::int64_t us) { return DurationNs(us * 1000); }
constexpr TimeNs AtUs(std::int64_t us) { return TimeNs(us * 1000); }

// Threads and streams of the traces in these tests.
inline constexpr std::int64_t kMain = 1, kAutograd = 2, kOtherThread = 3;
inline constexpr std::int64_t kStream = 7, kSideStream = 20;

// Kernels that the rules classify.
inline constexpr const char* kGemm = "ampere_sgemm_128x64_nn";
inline constexpr const char* kAllReduce =
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
inline constexpr const char* kAdd =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)";

}  // namespace headroom

// EXPECT_EQ prints these types on failure.
namespace headroom {
inline void PrintTo(DurationNs d, std::ostream* os) { *os << d.ns() << " ns"; }
inline void PrintTo(TimeNs t, std::ostream* os) { *os << "@" << t.ns() << " ns"; }
}  // namespace headroom
