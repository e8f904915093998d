#include "whatif/job/fit_calibration.h"

#include <gtest/gtest.h>

#include "analysis/test_trace.h"

namespace headroom {
namespace fit_calibration_test {

/// Ten steps of four operators, with `calls` calls and `frames` frames per step.
StoreBuilder Loop(int calls, int frames) {
  StoreBuilder b;
  for (int i = 0; i < 40; ++i) b.Op("aten::t", kMain, 100 * i, 5);
  for (int i = 0; i < 10 * calls; ++i) b.Call("cudaLaunchKernel", kMain, 100 * i + 10, 3);
  for (int i = 0; i < 10 * frames; ++i) b.Frame("f", kMain, 100 * i + 20, 3);
  return b;
}

struct Loops {
  std::unique_ptr<TraceStore> operators = Loop(0, 0).Build();
  std::unique_ptr<TraceStore> calls = Loop(2, 0).Build(), frames = Loop(0, 5).Build();

  // 4 operators of 1.5 us; 2 calls of 1 us; 5 frames of 0.4 us.
  ProfiledLoop OfOperators() const { return {operators.get(), 10, 1, 1.006}; }
  ProfiledLoop OfCalls() const { return {calls.get(), 10, 1, 1.008}; }
  ProfiledLoop OfFrames() const { return {frames.get(), 10, 1, 1.008}; }
};

TEST(FitCalibrationTest, EachLoopTellsOneCost) {
  const Loops loops;
  ProfiledLoop operators = loops.OfOperators(), calls = loops.OfCalls(), frames = loops.OfFrames();
  operators.plain_ms = 0.01, operators.profiled_ms = 0.016;
  const Result<MeasuredCosts> costs =
      FitRecordingCost(operators, &calls, &frames, {{"aten::t", 1}});
  ASSERT_TRUE(costs.ok()) << costs.status().message();
  EXPECT_NEAR(*costs.value().operator_record, 1'500, 0.1);
  EXPECT_NEAR(*costs.value().call_record, 1'000, 0.1);
  EXPECT_NEAR(*costs.value().frame_record, 400, 0.1);
  EXPECT_EQ(costs.value().loop, (ReferenceSpeeds{{"aten::t", 5'000}}));
}

TEST(FitCalibrationTest, WhatWasWrittenIsReadBack) {
  const Loops loops;
  ProfiledLoop operators = loops.OfOperators();
  operators.plain_ms = 0.01, operators.profiled_ms = 0.016;
  const Result<MeasuredCosts> costs = FitRecordingCost(operators, nullptr, nullptr, {});
  ASSERT_TRUE(costs.ok());
  const std::string text = RenderCalibration(costs.value(), "here");
  Calibration otherwise;
  otherwise.recording.call_record = 7;
  otherwise.loop = {{"aten::t", 1}};
  const Result<Calibration> back = Calibration::Parse({.name = "x", .content = text}, otherwise);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back.value().about, "here");
  EXPECT_EQ(back.value().machine, "no GPU");
  EXPECT_NEAR(back.value().recording.operator_record, 1'500, 0.1);
  EXPECT_EQ(back.value().recording.call_record, 7);
  EXPECT_TRUE(back.value().loop.empty());  // Speeds of another machine do not apply to this one.
}

TEST(FitCalibrationTest, NoiseIsNoCost) {
  const Loops loops;
  ProfiledLoop slower = loops.OfOperators();
  slower.profiled_ms = 0.9;
  EXPECT_FALSE(FitRecordingCost(slower, nullptr, nullptr, {}).ok());
  ProfiledLoop absurd = loops.OfOperators();
  absurd.profiled_ms = 100;
  EXPECT_FALSE(FitRecordingCost(absurd, nullptr, nullptr, {}).ok());
}

}  // namespace fit_calibration_test
}  // namespace headroom
