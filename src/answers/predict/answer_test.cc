#include "answers/predict/answer.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "analysis/test_trace.h"

namespace headroom {
namespace predict_answer_test {

const GpuModels& Models() {
  static const GpuModels models = GpuModels::Load({}, std::nullopt).value();
  return models;
}

Result<PredictAnswer> AnswerOn(const std::string& gpu, JobPlanQuestion plan = {}) {
  return PredictAnswer::Make(Models(), {Models().RatesNamed(gpu).value()}, std::move(plan));
}

/// Adds three steps of 10 ms on an H200.
Status AddSteps(const RecordedStepQuestion& question, PredictAnswer& answer, bool marked = true) {
  StoreBuilder b;
  for (int step = 0; step < 3; ++step) {
    const std::int64_t begin = step * 10'000;
    if (marked) b.Step(step, kMain, begin, 10'000);
    b.Call("cudaLaunchKernel", kMain, begin + 5, 4, step + 1);
    b.Kernel(kGemm, kStream, begin + 20, 9'000, step + 1);
    b.Call("cudaDeviceSynchronize", kMain, begin + 30, 9'000);
  }
  const std::unique_ptr<TraceStore> store = b.Build();
  const auto job = Job::Make(*store, TestReferenceData(), {}, Calibration());
  EXPECT_TRUE(job.ok()) << job.status().message();
  return answer.AddTrace(*job.value(), Forecaster(*job.value()), "steps 0 to 2",
                         Models().RatesNamed("H200").value(), question);
}

TEST(PredictAnswer, RefusesAPlanWithoutALength) {
  const Result<PredictAnswer> answer = AnswerOn("T4", {.region = "DE"});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.status().code(), StatusCode::kUsage);
}

TEST(PredictAnswer, ATraceThatCannotBeReplayedLeavesTheOthers) {
  Result<PredictAnswer> answer = AnswerOn("T4");
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  answer.value().AddAbstention("a.json", "no GPU work");
  ASSERT_TRUE(AddSteps({.trace = "b.json"}, answer.value()).ok());
  const PredictReport report = std::move(answer.value()).Finish();
  ASSERT_EQ(report.abstained.size(), 1u);
  EXPECT_EQ(report.abstained[0].trace, "a.json");
  EXPECT_EQ(report.abstained[0].why, "no GPU work");
  ASSERT_EQ(report.targets.size(), 1u);
  EXPECT_EQ(report.targets[0].gpu, "T4");
  ASSERT_EQ(report.baselines.size(), 1u);
  EXPECT_NE(report.baselines[0].steps_note.find("steps 0 to 2"), std::string::npos)
      << report.baselines[0].steps_note;
  EXPECT_NE(report.constants, "");
  EXPECT_FALSE(report.targets[0].hours.has_value());
}

TEST(PredictAnswer, ThePlanTurnsStepsIntoHours) {
  Result<PredictAnswer> answer = AnswerOn("H200", {.total_steps = 360'000});
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_TRUE(AddSteps({.trace = "a.json"}, answer.value()).ok());
  const PredictReport report = std::move(answer.value()).Finish();
  ASSERT_EQ(report.targets.size(), 1u);
  EXPECT_NEAR(*report.targets[0].hours, report.targets[0].step.mid / 10, 1e-9);
}

// The recording lacks the host's work before the first step, so the replay is 5.2 % off.
TEST(PredictAnswer, SaysWhyAReplayThatIsOffIsNotUsed) {
  StoreBuilder b;
  for (std::int64_t step = 0, at = 0; step < 10; ++step, at += 110) {
    b.Step(step, kMain, at, 20);
    b.Launch("aten::mm", kMain, at + 5, kGemm, kStream, at + 12, 70);
  }
  const std::unique_ptr<TraceStore> store = b.Build();
  AnalysisOptions all_steps;
  all_steps.first_step = 0;
  all_steps.last_step = 9;
  const auto job = Job::Make(*store, TestReferenceData(), all_steps, Calibration());
  ASSERT_TRUE(job.ok()) << job.status().message();
  const Forecaster forecaster(*job.value());
  ASSERT_NE(forecaster.WhyNone(), "");
  Result<PredictAnswer> answer = AnswerOn("T4");
  ASSERT_TRUE(answer.value()
                  .AddTrace(*job.value(), forecaster, "", Models().RatesNamed("H200").value(),
                            {.trace = "a.json"})
                  .ok());
  const PredictReport report = std::move(answer.value()).Finish();
  EXPECT_TRUE(report.targets.empty());
  ASSERT_EQ(report.abstained.size(), 1u);
  EXPECT_EQ(report.abstained[0].why, forecaster.WhyNone());
}

TEST(PredictAnswer, ATraceWithoutStepsHasNoHours) {
  Result<PredictAnswer> answer = AnswerOn("H200", {.total_steps = 10});
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  const Status status = AddSteps({.trace = "a.json"}, answer.value(), /*marked=*/false);
  EXPECT_EQ(status.code(), StatusCode::kNoAnswer) << "the plan asks for hours";
}

TEST(FindTies, AreWithinAGroupAndIncludeIntervalsThatTouch) {
  const struct {
    std::size_t group;
    const char* gpu;
    double low, high;
    std::vector<std::string> ties;
  } kCases[] = {{0, "a", 1, 2, {"b"}},
                {0, "b", 2, 3, {"a", "c"}},
                {0, "c", 2.5, 4, {"b"}},
                {0, "d", 5, 6, {}},
                {1, "e", 1, 6, {}}};
  std::vector<PredictedTarget> targets;
  for (const auto& c : kCases) {
    PredictedTarget& target = targets.emplace_back();
    target.group = c.group;
    target.gpu = c.gpu;
    target.step = {.low = c.low, .mid = (c.low + c.high) / 2, .high = c.high};
  }
  FindTies(targets);
  for (std::size_t i = 0; i < targets.size(); ++i)
    EXPECT_EQ(targets[i].ties, kCases[i].ties) << kCases[i].gpu;
}

}  // namespace predict_answer_test
}  // namespace headroom
