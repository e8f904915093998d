// Compares the model of a step's peak memory with the caching allocator's measurements. Requires
// traces and their measurements in HEADROOM_DATA (default: `shared` next to the source tree). Skips
// the test if they are missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/names/reference_data.h"
#include "base/testing/sanitizer.h"
#include "ingest/open_trace.h"
#include "whatif/calibration/calibration.h"
#include "whatif/job/job.h"
#include "whatif/memory/step_memory.h"

namespace headroom {
namespace {

constexpr double kMiB = 1 << 20;

std::filesystem::path TruthDir() {
  const char* data = std::getenv("HEADROOM_DATA");
  const char* source = std::getenv("HEADROOM_SOURCE_DIR");
  const std::filesystem::path root = source == nullptr ? "." : source;
  return (data == nullptr ? root / ".." / "shared" : std::filesystem::path(data)) / "h200";
}

/// Mean and maximum of relative errors.
struct Errors {
  double sum = 0, largest = 0;
  int count = 0;

  void Add(double predicted, double truth) {
    const double error = std::abs(predicted / truth - 1);
    sum += error;
    largest = std::max(largest, error);
    ++count;
  }
  double Mean() const { return count > 0 ? sum / count : 0; }
};

TEST(StepMemoryTruthTest, PeaksOfRecordedJobs) {
  std::ifstream file(TruthDir() / "truth.json");
  if (!file) {
    std::cerr << "SKIPPED: no " << TruthDir() / "truth.json"
              << " (set HEADROOM_DATA)\n";
    GTEST_SKIP() << "no true peaks of memory";
  }
  const nlohmann::json truth = nlohmann::json::parse(file);
  const Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
  ASSERT_TRUE(reference.ok()) << reference.status().message();
  Errors allocated, reserved;
  int traces = 0;
  for (const nlohmann::json& row : truth.at("results")) {
    if (!row.contains("trace") || row.at("trace").is_null()) continue;
    // Under a sanitizer, runs only some jobs and does not check the errors: the other jobs run the
    // same code.
    if (testing::kSanitized && traces++ % 4 != 0) continue;
    const std::string path = TruthDir() / "traces" / row.at("trace").get<std::string>();
    const auto store = OpenTrace(path, {});
    ASSERT_TRUE(store.ok()) << store.status().message();
    const auto job = Job::Make(*store.value(), *reference.value(), {}, Calibration());
    ASSERT_TRUE(job.ok()) << path << ": " << job.status().message();
    const Result<StepMemoryModel> memory = StepMemoryModel::Make(*job.value(), {});
    ASSERT_TRUE(memory.ok()) << path << ": " << memory.status().message();
    allocated.Add(memory.value().PeakAt(1).peak_bytes, row.at("mem_alloc_MB").get<double>() * kMiB);
    reserved.Add(memory.value().ReservedAt(1), row.at("mem_reserved_MB").get<double>() * kMiB);
  }
  ASSERT_GT(allocated.count, 0);
  RecordProperty("mean_error_allocated", std::to_string(allocated.Mean()));
  RecordProperty("mean_error_reserved", std::to_string(reserved.Mean()));
  if (testing::kSanitized) return;
  EXPECT_LE(allocated.Mean(), 0.05)
      << "of " << allocated.count << ", at most " << allocated.largest;
  EXPECT_LE(reserved.Mean(), 0.10) << "of " << reserved.count << ", at most " << reserved.largest;
}

}  // namespace
}  // namespace headroom
