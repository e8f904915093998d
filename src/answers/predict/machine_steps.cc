#include "answers/predict/machine_steps.h"

#include <vector>

namespace headroom {

void AddMachineSteps(ScalableJob& job, std::span<const PlannedMachine> machines,
                     const std::function<std::optional<double>(double step_ms)>& joules,
                     PredictedTarget& target) {
  for (const PlannedMachine& machine : machines) {
    if (machine.gpu != target.gpu) continue;
    const std::vector<ScalingPoint> points =
        ScalingCurve(job, machine.topology, {{.gpus = machine.gpus, .nodes = 1}}, /*strong=*/false);
    const ScalingPoint& point = points.front();
    MachineStep& step = target.machines.emplace_back(
        MachineStep{.price = machine.price, .gpus = machine.gpus, .step = {}});
    step.no_answer = point.no_answer;
    if (!step.no_answer.empty()) continue;
    step.network = machine.topology.description;
    step.step = {point.step_ms.low, point.step_ms.mid, point.step_ms.high};
    step.efficiency = point.efficiency;
    if (const std::optional<double> each = joules(point.step_ms.mid))
      step.joules = *each * static_cast<double>(machine.gpus);
  }
}

}  // namespace headroom
