#include "analysis/steps/step_kind.h"

#include <gtest/gtest.h>

#include "analysis/test_trace.h"

namespace headroom {
namespace step_kind_test {

struct MarkCase {
  const char* name;
  StepKind kind;
  std::optional<std::int64_t> tokens;
};
const MarkCase kMarkCases[] = {
    {"execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)",
     StepKind::kDecode, 32},
    {"execute_context_1(888_788544)_generation_0(0)", StepKind::kPrefill, 888},
    {"execute_9_context_1(sq500sk500sqsq250000sqsk250000)_generation_8(sq8sk99sqsq8sqsk99)",
     StepKind::kMixed, 508},
    // Several tokens per sequence: a draft model predicted them.
    {"execute_32_context_0(sq0)_generation_32(sq96)", StepKind::kDecode, 96},
    {"execute_context_2_generation_0", StepKind::kPrefill, std::nullopt},
    {"execute_context_0(0)_generation_0(0)", StepKind::kUnknown, std::nullopt},
    {"execute_context_99999999999999999999_generation_1", StepKind::kUnknown, std::nullopt},
    {"execute_context_1(9223372036854775807)_generation_1(9223372036854775807)", StepKind::kMixed,
     std::nullopt},
    {"step[DECODE bs=32]", StepKind::kDecode, 32},
    {"step[EXTEND bs=2 toks=1024]", StepKind::kPrefill, 1024},
    {"eval_step 12", StepKind::kEvaluation, std::nullopt},
    {"Validation batch 3", StepKind::kEvaluation, std::nullopt},
    {"train_step", StepKind::kTraining, std::nullopt},
    {"ProfilerStep#3", StepKind::kUnknown, std::nullopt},
    {"evaluated_steps", StepKind::kUnknown, std::nullopt},
    {"", StepKind::kUnknown, std::nullopt},
};

TEST(StepKind, IsToldByTheMark) {
  for (const MarkCase& c : kMarkCases) {
    EXPECT_EQ(KindOfMark(c.name).kind, c.kind) << c.name;
    EXPECT_EQ(KindOfMark(c.name).tokens, c.tokens) << c.name;
  }
}

StepRow Row(StepKind kind, std::int64_t ms, std::optional<std::int64_t> tokens = {}) {
  StepRow row;
  row.kind = kind;
  row.wall = DurationNs(ms * 1'000'000);
  row.tokens = tokens;
  return row;
}

TEST(StepKind, TableHasTheMainKindFirst) {
  std::vector<StepRow> rows = {Row(StepKind::kPrefill, 20, 1000), Row(StepKind::kDecode, 4, 32),
                               Row(StepKind::kDecode, 8, 30)};
  EXPECT_EQ(MainKind(rows), StepKind::kPrefill) << "it takes most time";
  const std::vector<StepKindRow> table = TableOfKinds(rows);
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0].kind, StepKind::kPrefill);
  EXPECT_EQ(table[1].count, 2);
  EXPECT_EQ(table[1].mean, DurationNs(6'000'000));
  EXPECT_DOUBLE_EQ(table[1].share_pct, 37.5);
  EXPECT_EQ(table[1].tokens, 31);
  EXPECT_NEAR(*TokensPerSecond(table[1]), 31 / 0.006, 1e-6);

  rows[0].lost_tasks = true;
  EXPECT_EQ(TableOfKinds(rows).size(), 1u) << "kinds do not differ, but tokens are known";
  rows[1].tokens.reset();
  EXPECT_FALSE(TableOfKinds(rows)[0].tokens) << "of one step they are not";
}

TEST(StepKind, TrainingIsTheMainKindHoweverShort) {
  EXPECT_EQ(MainKind({Row(StepKind::kEvaluation, 90), Row(StepKind::kTraining, 1)}),
            StepKind::kTraining);
}

TEST(StepKind, StepsOfUnknownKindCountWithTheMainOne) {
  std::vector<StepRow> rows = {Row(StepKind::kTraining, 4), Row(StepKind::kUnknown, 4)};
  EXPECT_TRUE(TableOfKinds(rows).empty()) << "nothing says that they differ";
  rows.push_back(Row(StepKind::kEvaluation, 4));
  EXPECT_EQ(TableOfKinds(rows).size(), 3u);
  EXPECT_EQ(CountedKind(TableOfKinds(rows)), StepKind::kUnknown);
  rows.erase(rows.begin() + 1);
  EXPECT_EQ(CountedKind(TableOfKinds(rows)), StepKind::kTraining);
}

TEST(StepKind, StepsThatAreAlikeHaveNoTable) {
  EXPECT_TRUE(TableOfKinds({Row(StepKind::kTraining, 4), Row(StepKind::kTraining, 5)}).empty());
  EXPECT_TRUE(TableOfKinds({}).empty());
}

/// Every third step of this loop has no backward pass.
TEST(StepKind, AStepWithoutBackwardAmongOthersIsAnEvaluation) {
  StoreBuilder b;
  for (int i = 0; i < 6; ++i) {
    const std::int64_t at = i * 1000;
    b.Region("ProfilerStep#" + std::to_string(i), kMain, at, 1000);
    b.Launch("aten::mm", kMain, at + 10, kGemm, kStream, at + 20, i % 3 == 2 ? 100 : 300);
    if (i % 3 == 2) continue;
    b.Op("autograd::engine::evaluate_function: MmBackward0", kAutograd, at + 400, 100);
    b.Launch("aten::mm", kAutograd, at + 410, kGemm, kStream, at + 420, 500);
  }
  const TraceReport report = AnalyzeTrace(b);
  ASSERT_EQ(report.steps.list.size(), 6u);
  EXPECT_EQ(report.steps.list[2].kind, StepKind::kEvaluation);
  EXPECT_TRUE(report.steps.list[2].of_other_kind);
  EXPECT_EQ(report.steps.list[3].kind, StepKind::kTraining);
  ASSERT_EQ(report.steps.kinds.size(), 2u);
  EXPECT_EQ(report.steps.kinds[0].count, 4);
  EXPECT_EQ(report.breakdown->steps, 4) << "of the training steps alone";
}

/// Analyzes a loop of 12 marked steps. Every `every`-th one evaluates for `evaluation_us`, half of
/// it in its loader.
TraceReport LoopWithEvaluations(int every, std::int64_t evaluation_us,
                                std::int64_t thread = kMain) {
  StoreBuilder b;
  std::int64_t at = 0;
  for (int i = 0; i < 12; ++i) {
    const bool evaluates = i % every == every - 1;
    const std::int64_t wall = 1000 + (evaluates ? evaluation_us : 0);
    b.Region("ProfilerStep#" + std::to_string(i), kMain, at, wall);
    b.Launch("aten::mm", kMain, at + 10, kGemm, kStream, at + 20, 380);
    b.Op("autograd::engine::evaluate_function: MmBackward0", kAutograd, at + 400, 100);
    b.Launch("aten::mm", kAutograd, at + 410, kGemm, kStream, at + 420, 560);
    if (evaluates) {
      const std::int64_t begin = at + 990, half = evaluation_us / 2;
      b.Annotation("validation", thread, begin, evaluation_us);
      b.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", kMain,
                   begin + 1, half - 1);
      b.Launch("aten::mm", kMain, begin + half, kGemm, kStream, begin + half + 1, half - 2);
    }
    at += wall;
  }
  return AnalyzeTrace(b);
}

TEST(StepKind, AnEvaluationInsideTrainingStepsIsInNoFigureOfTheSteps) {
  const TraceReport report = LoopWithEvaluations(4, 6000);
  EXPECT_EQ(report.steps.list[3].kind, StepKind::kTrainingAndEvaluation);
  EXPECT_EQ(report.breakdown->steps, 9);
  EXPECT_EQ(report.breakdown->step.data_wait.ns(), 0) << "the wait is of the evaluation's loader";
  EXPECT_LT(report.steps.step_time->ms(), 1.01);
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kGpuCompute);
  const auto finding = std::ranges::find(report.findings, "evaluation-in-steps", &Finding::id);
  ASSERT_NE(finding, report.findings.end());
  EXPECT_FALSE(finding->share_pct);
  EXPECT_NE(finding->title.find("3 steps also ran evaluation"), std::string::npos)
      << finding->title;
}

TEST(StepKind, AnEvaluationOnAnotherThreadIsInNoStep) {
  EXPECT_TRUE(LoopWithEvaluations(4, 6000, kOtherThread).steps.kinds.empty());
}

TEST(StepKind, StepsThatHardlyEverOrMostlyEvaluateAreTraining) {
  for (const TraceReport& report : {LoopWithEvaluations(4, 80), LoopWithEvaluations(1, 6000)}) {
    EXPECT_TRUE(report.steps.kinds.empty());
    EXPECT_EQ(report.breakdown->steps, 12);
  }
}

}  // namespace step_kind_test
}  // namespace headroom
