#include "scale/traced_job.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "scale/step_deviation.h"
#include "whatif/scenarios/workload/batch_curve.h"

namespace headroom {
namespace {

std::vector<ScenarioCall> CallsOf(std::string_view text) {
  return std::move(ParseScenario(text)).value();  // Never fails for names from the catalogue.
}

/// Returns `calls` and `call`, in the catalogue's order.
std::vector<ScenarioCall> InOrder(std::vector<ScenarioCall> calls, ScenarioCall call) {
  calls.push_back(std::move(call));
  std::stable_sort(calls.begin(), calls.end(), [](const ScenarioCall& a, const ScenarioCall& b) {
    return a.scenario < b.scenario;
  });
  return calls;
}

}  // namespace

TracedJob::TracedJob(const Job& job, Forecaster& forecaster, Options options)
    : job_(job),
      forecaster_(forecaster),
      options_(std::move(options)),
      samples_(SamplesPerStep(job)),
      deviation_(StepDeviation(job.steps().steps)) {
  for (const ScenarioCall& change : options_.changes) {
    if (change.scenario->name == "batch-size")
      samples_ = static_cast<std::int64_t>(change.arguments.Number("n"));
    if (change.scenario->name == "gradient-accumulation" && samples_)
      *samples_ *= static_cast<std::int64_t>(change.arguments.Number("n"));
    if (change.scenario->name == "data-loading") return;
  }
  const auto step_with = [&](const std::vector<ScenarioCall>& calls) {
    return forecaster.StepMsWith([&](Edit& edit) { return ApplyAll(job_, calls, edit); });
  };
  const std::optional<double> step = step_with(options_.changes);
  const std::optional<double> ideal =
      step_with(InOrder(options_.changes, CallsOf("data-loading").front()));
  if (step && ideal && *step > 0) loader_share_ = std::max(0.0, 1 - *ideal / *step);
}

ScaledJob TracedJob::Scaled(const Topology& topology, const Placement& placement,
                            std::optional<std::int64_t> samples) const {
  ScaledJob scaled = {
      .exchange = {.topology = topology, .placement = placement, .transfer = options_.transfer},
      .schedule = options_.schedule,
      .changes = options_.changes};
  if (options_.split.tensor > 1 && placement.gpus > 1) {
    const ModelParallel split = this->split();
    const GpuGroup replicas = DataGroup(topology, placement, split);
    scaled.exchange.topology = replicas.topology;
    scaled.exchange.placement = replicas.placement;
    scaled.exchange.gradient_shares = &options_.layers->gradient_shares();
    scaled.tensor = {.layers = options_.layers, .group = TensorGroup(topology, placement, split)};
  }
  if (!samples || samples == samples_) return scaled;
  scaled.changes = InOrder(std::move(scaled.changes),
                           CallsOf("batch-size:n=" + std::to_string(*samples)).front());
  return scaled;
}

double TracedJob::StepMs(const ScaledJob& scaled) {
  return forecaster_
      .StepMsWith([&](Edit& edit) { return ApplyScaledJob(job_, options_.recorded, scaled, edit); })
      .value_or(std::numeric_limits<double>::quiet_NaN());
}

void TracedJob::WidenByLinks(const Topology& topology, const Placement& placement,
                             std::optional<std::int64_t> samples, ScaledStep& step) {
  const auto difference = [&](const std::optional<Topology>& over) {
    return over ? StepMs(Scaled(*over, placement, samples)) - step.step_ms.mid : 0;
  };
  step.step_ms.low += std::min(0.0, difference(AtFastest(topology)));
  step.step_ms.high += std::max(0.0, difference(AtSlowest(topology)));
}

double TracedJob::CollectivesMs(const EditedPlan& edited) const {
  double ms = 0;
  for (std::size_t task = 0; task < edited.plan.tasks(); ++task) {
    const TaskIndex origin = edited.origin[task];
    if (origin == kNoTask || job_.graph().tasks[origin].kind != TaskKind::kGpu) continue;
    if (job_.ClassOf(origin).family == WorkFamily::kCommunication)
      ms += DurationNs(edited.plan.duration[task]).ms();
  }
  return ms / edited.plan.shape->steps;
}

PipelineStages TracedJob::Complete(PipelineStages stages) {
  const auto update_ms = [&](std::int64_t gpus) {
    const ScaledJob on =
        Scaled(WithoutLimit(WithoutLatency(Topology())), {.gpus = gpus}, std::nullopt);
    const std::optional<double> without = forecaster_.StepMsWith([&](Edit& edit) {
      Effect effect = ApplyScaledJob(job_, options_.recorded, on, edit);
      options_.layers->RemoveUpdate(edit);
      return effect;
    });
    return without ? std::max(0.0, StepMs(on) - *without) : 0;
  };
  stages.one_gpu_update_ms = update_ms(1);
  stages.update_ms =
      options_.split.tensor > 1 ? update_ms(options_.split.tensor) : stages.one_gpu_update_ms;
  forecaster_.StepMsWith([&](Edit& edit) {
    Effect effect = ApplyAll(job_, options_.changes, edit);
    stages.layer_bytes =
        options_.layers->layers().LayerBytes(effect.memory_change.batch_ratio, edit);
    return effect;
  });
  return stages;
}

ScaledStep TracedJob::OnOneGpu() { return On(Topology(), Placement(), std::nullopt); }

ScaledStep TracedJob::On(const Topology& topology, const Placement& placement,
                         std::optional<std::int64_t> samples) {
  const ScaledJob scaled = Scaled(topology, placement, samples);
  std::string why;
  const Forecast forecast = forecaster_.Run("", [&](Edit& edit) {
    Effect effect = ApplyScaledJob(job_, options_.recorded, scaled, edit);
    why = effect.why;
    return effect;
  });
  ScaledStep step;
  if (!forecast.applies) {
    step.no_answer = forecast.why;
    return step;
  }
  step.step_ms = forecast.step_ms;
  step.limits = forecast.limits;
  step.why = why;
  step.without_latency_ms = step.without_bytes_ms = step.step_ms.mid;
  if (placement.gpus == 1) return step;
  if (options_.recorded.placement.gpus > 1) {
    // Transfers of recorded collectives are GPU tasks, not tasks of a channel.
    step.limits.exposed_ms =
        std::max(0.0, step.step_ms.mid - StepMs(Scaled(topology, Placement(), samples)));
    step.limits.transfers_ms = CollectivesMs(forecaster_.last_plan());
  }
  if (!options_.recorded.waits.empty()) {
    GpusOfJob without = options_.recorded;
    without.without_waits = true;
    const std::optional<double> ms = forecaster_.StepMsWith(
        [&](Edit& edit) { return ApplyScaledJob(job_, without, scaled, edit); });
    if (ms) step.waits_ms = std::max(0.0, step.step_ms.mid - *ms);
  }
  WidenByLinks(topology, placement, samples, step);
  step.without_latency_ms = StepMs(Scaled(WithoutLatency(topology), placement, samples));
  step.without_bytes_ms = StepMs(Scaled(WithoutLimit(topology), placement, samples));
  return step;
}

}  // namespace headroom
