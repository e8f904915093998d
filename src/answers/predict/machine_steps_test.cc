#include "answers/predict/machine_steps.h"

#include <gtest/gtest.h>

namespace headroom {
namespace machine_steps_test {

/// A job with a step of 100 ms on one GPU and 125 ms on several GPUs. Optionally, it has no answer
/// for several GPUs.
class FakeJob final : public ScalableJob {
 public:
  std::string no_answer;

  ScaledStep OnOneGpu() override { return Of(100); }
  ScaledStep On(const Topology&, const Placement& placement, std::optional<std::int64_t>) override {
    ScaledStep step = Of(placement.gpus == 1 ? 100 : 125);
    step.no_answer = no_answer;
    return step;
  }
  std::optional<std::int64_t> samples() const override { return 8; }
  std::optional<double> deviation() const override { return 0; }
  double loader_share() const override { return 0; }

 private:
  static ScaledStep Of(double ms) {
    ScaledStep step;
    step.step_ms = {.low = ms - 1, .mid = ms, .high = ms + 1};
    step.without_latency_ms = step.without_bytes_ms = ms;
    return step;
  }
};

PlannedMachine Machine(std::size_t price, const std::string& gpu, std::int64_t gpus) {
  PlannedMachine machine{.price = price, .gpu = gpu, .gpus = gpus, .topology = {}};
  machine.topology.gpus_per_node = gpus;
  machine.topology.description = "NVLink";
  return machine;
}

TEST(AddMachineSteps, OnlyOnMachinesOfTheGpu) {
  FakeJob job;
  PredictedTarget target;
  target.gpu = "T4";
  const std::vector<PlannedMachine> machines = {Machine(3, "V100", 8), Machine(5, "T4", 4)};
  AddMachineSteps(
      job, machines, [](double step_ms) { return 2 * step_ms; }, target);
  ASSERT_EQ(target.machines.size(), 1u);
  const MachineStep& step = target.machines[0];
  EXPECT_EQ(step.price, 5u);
  EXPECT_EQ(step.gpus, 4);
  EXPECT_EQ(step.network, "NVLink");
  EXPECT_DOUBLE_EQ(step.step.mid, 125);
  EXPECT_DOUBLE_EQ(step.efficiency, 0.8);
  EXPECT_DOUBLE_EQ(*step.joules, 4 * 250);
}

TEST(AddMachineSteps, SaysWhyThereIsNoStep) {
  FakeJob job;
  job.no_answer = "its gradients are not known";
  PredictedTarget target;
  target.gpu = "T4";
  const std::vector<PlannedMachine> machines = {Machine(0, "T4", 2)};
  AddMachineSteps(
      job, machines, [](double) { return std::optional(1.0); }, target);
  ASSERT_EQ(target.machines.size(), 1u);
  EXPECT_EQ(target.machines[0].no_answer, "its gradients are not known");
  EXPECT_FALSE(target.machines[0].joules.has_value());
}

TEST(AddMachineSteps, UnknownEnergyIsAbsent) {
  FakeJob job;
  PredictedTarget target;
  target.gpu = "T4";
  const std::vector<PlannedMachine> machines = {Machine(0, "T4", 2)};
  AddMachineSteps(
      job, machines, [](double) { return std::nullopt; }, target);
  EXPECT_FALSE(target.machines.at(0).joules.has_value());
}

}  // namespace machine_steps_test
}  // namespace headroom
