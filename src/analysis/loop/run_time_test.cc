#include "analysis/loop/run_time.h"

#include <map>
#include <string>

#include "analysis/test_trace.h"

namespace headroom {
namespace run_time_test {

/// Returns the times of the parts in us.
std::map<std::string, std::int64_t> PartsUs(const StoreBuilder& builder) {
  const TraceReport report = AnalyzeTrace(builder);
  std::map<std::string, std::int64_t> parts;
  if (!report.run) return parts;
  DurationNs sum;
  for (const RunRow& row : report.run->rows) {
    EXPECT_GE(row.time, Us(0)) << row.name;
    parts[row.name] = row.time.ns() / 1000;
    sum += row.time;
  }
  EXPECT_EQ(sum, report.run->wall);
  return parts;
}

using Parts = std::map<std::string, std::int64_t>;

/// Adds a step of 1000 us in which the GPU works for `gpu` us from 10.
void AddStep(StoreBuilder& b, std::int64_t number, std::int64_t at, std::int64_t length = 1000,
             std::int64_t gpu = 990) {
  b.Step(number, kMain, at, length);
  b.Launch("aten::mm", kMain, at, kGemm, kStream, at + 10, gpu);
}

TEST(RunTime, SumsToTheRecording) {
  StoreBuilder b;
  b.Frame("train.py(3): build_model", kMain, 0, 4000);
  for (int i = 0; i < 4; ++i) AddStep(b, i, 5000 + i * 1000);
  b.Op("aten::mm", kMain, 9100, 400);
  EXPECT_EQ(PartsUs(b), (Parts{{"steps", 4000}, {"before steps", 5000}, {"after steps", 500}}));
  const TraceReport report = AnalyzeTrace(b);
  EXPECT_EQ(report.run->rows.front().name, "steps");
  EXPECT_EQ(report.run->rows.front().count, 4);
  EXPECT_EQ(report.run->rows[1].example, "train.py(3): build_model");
}

TEST(RunTime, NamesWhatTheHostDoesBetweenSteps) {
  StoreBuilder b;
  for (int i = 0; i < 3; ++i) AddStep(b, i, i * 1000);
  b.Annotation("save_checkpoint", kMain, 3000, 700);
  b.Annotation("validation", kMain, 4000, 4000);
  b.Launch("aten::mm", kMain, 4100, kGemm, kStream, 4110, 1000);
  for (int i = 3; i < 6; ++i) AddStep(b, i, 8000 + (i - 3) * 1000);
  EXPECT_EQ(
      PartsUs(b),
      (Parts{{"steps", 6000}, {"checkpoints", 700}, {"evaluation", 4000}, {"between steps", 300}}));
}

TEST(RunTime, AFetchBetweenMarksIsOfTheStepBehindIt) {
  StoreBuilder b;
  for (int i = 0; i < 6; ++i) {
    if (i > 0) b.Annotation("data_loading", kMain, i * 9000 - 8000, 8000);
    AddStep(b, i, i * 9000);
  }
  const TraceReport report = AnalyzeTrace(b);
  EXPECT_EQ(report.steps.step_time, Us(9000));
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kInput);
  EXPECT_EQ(PartsUs(b), (Parts{{"steps", 6000}, {"data wait", 40'000}}));
}

TEST(RunTime, WhileTheProfilerIsOffNothingIsRecorded) {
  StoreBuilder b;
  for (int i = 0; i < 3; ++i) AddStep(b, i, i * 1000);
  for (int i = 3; i < 6; ++i) AddStep(b, i, 50'000 + i * 1000);
  EXPECT_EQ(PartsUs(b), (Parts{{"steps", 6000}, {"not recorded", 50'000}}));
}

TEST(RunTime, StepsThatUpdateHaveAPlaceOfTheirOwn) {
  StoreBuilder b;
  std::int64_t at = 0;
  for (int i = 0; i < 12; ++i) {
    const bool updates = i % 4 == 3;
    const std::int64_t length = updates ? 2000 : 1000;
    b.Step(i, kMain, at, length);
    b.Launch("aten::mm", kMain, at, kGemm, kStream, at + 10, 990);
    if (updates) {
      b.Annotation("Optimizer.step#AdamW.step", kMain, at + 20, 20);
      b.Launch("aten::_fused_adamw_", kMain, at + 22, kAdd, kStream, at + 1000, 1000);
    }
    at += length;
  }
  EXPECT_EQ(PartsUs(b), (Parts{{"steps", 15'000}}));
}

TEST(RunTime, NamesTheEdgesOfEpochs) {
  StoreBuilder b;
  for (int i = 0; i < 3; ++i) AddStep(b, i, i * 1000);
  b.Frame("torch/utils/data/dataloader.py(1550): _shutdown_workers", kMain, 3000, 300);
  b.Annotation("on_train_epoch_end", kMain, 3300, 200);
  b.Frame("torch/utils/data/dataloader.py(489): __iter__", kMain, 3500, 500);
  b.Frame("torch/utils/data/dataloader.py(420): _get_iterator", kMain, 3510, 380);
  for (int i = 3; i < 6; ++i) AddStep(b, i, 4000 + (i - 3) * 1000);
  EXPECT_EQ(PartsUs(b), (Parts{{"steps", 6000}, {"epoch edges", 1000}}));
}

TEST(RunTime, CountsHostWorkOnlyWhileTheGpuIsIdle) {
  StoreBuilder b;
  for (int i = 0; i < 4; ++i) {
    AddStep(b, i, i * 1000, 1000, 500);
    b.Call("cudaMalloc", kMain, i * 1000 + 100, 600);  // The GPU is done at 510.
  }
  const Parts parts = PartsUs(b);
  EXPECT_EQ(parts.at("memory calls"), 4 * 190);
}

TEST(RunTime, TellsSlowStepsFromUsualOnes) {
  StoreBuilder b;
  AddStep(b, 0, 0, 3000, 2990);
  for (int i = 1; i < 6; ++i) AddStep(b, i, 2000 + i * 1000);
  AddStep(b, 6, 8000, 5000, 4990);
  EXPECT_EQ(PartsUs(b), (Parts{{"steps", 7000}, {"first step", 2000}, {"slow steps", 4000}}));
  const TraceReport report = AnalyzeTrace(b);
  for (const RunRow& row : report.run->rows) {
    if (row.name == "slow steps") {
      EXPECT_EQ(row.example, "step 6");
    }
  }
}

TEST(RunTime, ARecompileIsNoSlowStep) {
  StoreBuilder b;
  for (int i = 0; i < 5; ++i) AddStep(b, i, i * 1000);
  b.Step(5, kMain, 5000, 4000);
  b.Annotation("entire_frame_compile (dynamo_timed)", kMain, 5000, 3000);
  b.Annotation("backend_compile (dynamo_timed)", kMain, 5100, 2000);
  b.Launch("aten::mm", kMain, 8000, kGemm, kStream, 8010, 990);
  const Parts parts = PartsUs(b);
  EXPECT_EQ(parts.at("compilation"), 3000);
  EXPECT_FALSE(parts.contains("slow steps"));
}

TEST(RunTime, StepsThatOverlapCountOnce) {
  StoreBuilder b;
  for (int i = 0; i < 4; ++i) AddStep(b, i, i * 1000);
  // The last step's work ends long before an earlier step's work on another stream.
  b.Launch("aten::mm", kMain, 1500, kGemm, kSideStream, 1510, 9000);
  PartsUs(b);  // Checks that the parts sum and that none is negative.
}

TEST(RunTime, EarlierWorkIsNoStartUp) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 300, 2000);
  for (int i = 0; i < 4; ++i) {
    b.Step(i, kMain, 500 + i * 20, 20);  // Far ahead of the GPU.
    b.Launch("aten::mm", kMain, 500 + i * 20, kGemm, kStream, 2300 + i * 1000, 1000);
  }
  EXPECT_EQ(PartsUs(b), (Parts{{"steps", 4000}, {"earlier work", 2000}, {"before steps", 300}}));
}

TEST(RunTime, WithoutStepsIsUnknown) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 90);
  EXPECT_FALSE(AnalyzeTrace(b).run);
}

}  // namespace run_time_test
}  // namespace headroom
