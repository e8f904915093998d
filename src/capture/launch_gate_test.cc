#include "capture/launch_gate.h"

#include <gtest/gtest.h>

namespace headroom {
namespace launch_gate_test {

/// Steps 1 and 2 are wanted: ticks 1,000 to 2,000.
class LaunchGateTest : public testing::Test {
 protected:
  LaunchGateTest() {
    steps_.SawStep(0, 500);
    steps_.SawStep(1, 1000);
    steps_.SawStep(2, 1500);
    steps_.SawEnd(2000);
  }
  StepGate steps_{RecordedSteps{.first = 1, .last = 2}};
  LaunchGate gate_{&steps_};
};

TEST_F(LaunchGateTest, WorkOfTheLastStepRunsAfterIt) {
  gate_.SawCall("cudaLaunchKernel", 1900, 1);
  gate_.SawCall("cudaLaunchKernel", 2100, 2);
  EXPECT_EQ(gate_.SawTask(2500, 2600, 1), true);
  EXPECT_EQ(gate_.SawTask(2600, 2700, 2), false) << "belongs to the next step";
  EXPECT_EQ(gate_.SawTask(1950, 1960, 1), true) << "one call launches many tasks of a graph";
}

TEST_F(LaunchGateTest, TheQueueBeforeTheFirstStepIsTaken) {
  gate_.SawCall("cudaLaunchKernel", 600, 1);
  EXPECT_EQ(gate_.SawTask(700, 900, 1), false) << "ended before the window";
  EXPECT_EQ(gate_.SawTask(900, 1100, 1), true);
  EXPECT_EQ(gate_.SawTask(1100, 1200, 9), true) << "launched before anything was recorded";
  EXPECT_EQ(gate_.SawTask(2100, 2200, 1), false) << "not launched by a wanted step";
}

TEST_F(LaunchGateTest, TasksMayComeBeforeTheirCalls) {
  EXPECT_EQ(gate_.SawTask(2100, 2200, 1), std::nullopt);
  gate_.SawCall("cudaMemcpyAsync", 1900, 1);
  EXPECT_EQ(gate_.awaited(), 0u) << "the task has come";
  EXPECT_EQ(gate_.SawTask(2100, 2200, 1), true);
}

TEST_F(LaunchGateTest, AwaitsWhatWantedStepsLaunched) {
  gate_.SawCall("cudaLaunchKernel", 600, 1);
  gate_.SawCall("cudaLaunchKernel", 1600, 2);
  gate_.SawCall("cuLaunchKernel", 1600, 2);  // Inside the runtime call.
  gate_.SawCall("cudaMemsetAsync", 1700, 3);
  gate_.SawCall("cudaStreamSynchronize", 1800, 4);
  gate_.SawCall("cudaLaunchHostFunc", 1800, 5);
  EXPECT_EQ(gate_.awaited(), 2u);
  gate_.SawTask(2100, 2200, 2);
  gate_.SawTask(2200, 2300, 2);
  EXPECT_EQ(gate_.awaited(), 1u);
  for (std::uint32_t i = 100; i < 100'000; ++i) gate_.SawCall("cudaStreamSynchronize", 1900, i);
  EXPECT_EQ(gate_.awaited(), 0u) << "the launch was removed";
}

TEST(LaunchGate, WithoutAWindowAllIsWanted) {
  const StepGate all(std::nullopt);
  LaunchGate gate(&all);
  EXPECT_EQ(gate.SawTask(1, 2, 3), true);
}

TEST(StepGateTest, ProducersBeginAQuarterOfASecondBeforeTheWindow) {
  const auto at = [](std::int64_t ms) { return TimeNs(ms * 1'000'000); };
  StepGate gate(RecordedSteps{.first = 1000, .last = 1004});
  EXPECT_FALSE(gate.Near()) << "no step was seen, and the window is far";
  gate.SawStep(0, 0, at(0));
  for (std::int64_t step = 1; step < 1000; ++step) {
    gate.SawStep(step, static_cast<std::uint64_t>(step), at(2 * step));
    EXPECT_EQ(gate.Near(), step >= 1000 - 126) << step;
  }
  StepGate slow(RecordedSteps{.first = 10, .last = 10});
  slow.SawStep(0, 0, at(0));
  for (std::int64_t step = 1; step < 10; ++step) {
    slow.SawStep(step, static_cast<std::uint64_t>(step), at(1000 * step));
    EXPECT_EQ(slow.Near(), step >= 9) << step;
  }
}

}  // namespace launch_gate_test
}  // namespace headroom
