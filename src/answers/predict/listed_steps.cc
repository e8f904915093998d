#include "answers/predict/listed_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "answers/predict/machine_steps.h"
#include "answers/predict/recorded_steps.h"
#include "cost/device_spec.h"
#include "network/gradient_exchange.h"
#include "predict/step_estimate.h"
#include "render/number_format.h"
#include "scale/listed_job.h"

namespace headroom {
namespace {

/// Adds the steps on the machines that have the GPU of `rate`.
void ScaleOut(const OperatorList& list, const DeviceRates& rate, const StepEstimate& estimate,
              const KernelConstants& constants, std::span<const PlannedMachine> machines,
              PredictedTarget& target) {
  const bool any = std::any_of(machines.begin(), machines.end(),
                               [&](const auto& machine) { return machine.gpu == target.gpu; });
  if (!any) return;
  const Result<std::unique_ptr<ListedJob>> job = ListedJob::Make(list, rate, constants, {});
  if (!job.ok()) {
    for (const PlannedMachine& machine : machines)
      target.machines.push_back(
          {.price = machine.price, .step = {}, .no_answer = job.status().message()});
    return;
  }
  AddMachineSteps(
      *job.value(), machines,
      [&](double step_ms) -> std::optional<double> {
        StepActivity activity = estimate.activity;
        activity.step_ms = step_ms;
        const std::optional<StepEnergy> energy = ModelledEnergy(activity, rate, constants);
        return energy ? std::optional(energy->joules) : std::nullopt;
      },
      target);
}

/// Returns "host" if the kernels wait for the host; empty without a host model.
std::string LimitOf(const StepEstimate& estimate, const HostModel& host) {
  if (host.us_per_kernel == 0) return {};
  constexpr double kWaits = 1.1;  // Ratio of the step to its kernels.
  return estimate.step.mid > kWaits * estimate.gpu_ms ? "host" : "gpu";
}

}  // namespace

Status AddListedSteps(std::span<const OperatorList> lists, std::span<const OperatorList> unchanged,
                      const std::string& path, std::span<const DeviceRates> targets,
                      const GpuModels& models, std::span<const PlannedMachine> machines,
                      const HostModel& host, PredictReport& report) {
  for (std::size_t group = 0; group < lists.size(); ++group) {
    const OperatorList& list = lists[group];
    if (list.works.empty()) {
      const std::string doubt = list.Doubt();
      report.abstained.push_back(
          {.trace = path,
           .why = fmt::format("no operator{} has known kernels (docs/predict.md){}{}",
                              list.name.empty() ? "" : fmt::format(" of '{}'", list.name),
                              doubt.empty() ? "" : ": ", doubt)});
      continue;
    }
    for (const DeviceRates& rate : targets) {
      const Result<StepEstimate> estimate = EstimateStep(list, rate, models.constants(), host);
      if (estimate.status().code() == StatusCode::kNoAnswer) {
        report.abstained.push_back(
            {.trace = path, .why = estimate.status().message(), .gpu = rate.device->short_name});
        continue;
      }
      if (!estimate.ok()) {
        return Status::Of(estimate.status().code(),
                          fmt::format("{}: {}", path, estimate.status().message()));
      }
      std::string why;
      if (list.without_work > 0) {
        why = fmt::format("{} of {} operators have no kernels: they are views, or unknown",
                          list.without_work, list.operators);
      }
      if (list.collectives > 0) {
        why += fmt::format("{}{} of communication between GPUs {} not included",
                           why.empty() ? "" : "; ", Plural(list.collectives, "kernel"),
                           list.collectives == 1 ? "is" : "are");
      }
      std::string doubt = list.Doubt();
      if (const std::string of_gpu = models.WhyExtrapolated(rate, estimate.value().vector_share);
          !of_gpu.empty())
        doubt += (doubt.empty() ? "" : "; ") + of_gpu;
      report.targets.push_back({.group = group,
                                .workload = list.name,
                                .gpu = rate.device->short_name,
                                .full_name = rate.device->name,
                                .step = estimate.value().step,
                                .phases_ms = estimate.value().phase_ms,
                                .gpu_memory_bytes = rate.device->UsableBytes(),
                                .energy = EnergyOn(rate, estimate.value().activity,
                                                   estimate.value().step, models.constants()),
                                .measured_operators = rate.correction ? rate.correction->size() : 0,
                                .measured_share = estimate.value().measured_share,
                                .limited_by = LimitOf(estimate.value(), host),
                                .why = why,
                                .left_out = list.LeftOut(),
                                .doubt = doubt});
      if (!unchanged.empty()) {
        const Result<StepEstimate> before =
            EstimateStep(unchanged[group], rate, models.constants(), host);
        if (before.ok()) report.targets.back().unchanged = before.value().step;
      }
      if (!machines.empty())
        ScaleOut(list, rate, estimate.value(), models.constants(), machines, report.targets.back());
    }
  }
  if (report.targets.empty()) {
    const PredictAbstention& first = report.abstained.front();
    return Status::NoAnswer(fmt::format("{}: {}", first.trace, first.why));
  }
  return Status::Ok();
}

}  // namespace headroom
