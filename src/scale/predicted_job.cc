#include "scale/predicted_job.h"

#include <algorithm>
#include <cassert>

#include "scale/step_deviation.h"
#include "whatif/scenarios/distributed/network.h"
#include "whatif/scenarios/workload/batch_curve.h"

namespace headroom {
namespace {

StepInterval IntervalOf(const PredictedMs& ms) {
  return {.low = ms.low, .mid = ms.mid, .high = ms.high};
}

}  // namespace

PredictedJob::PredictedJob(const Job& job, JobPredictor& predictor, const DeviceRates& target,
                           double host_factor, const PredictedMs& one_gpu)
    : job_(job),
      predictor_(predictor),
      target_(target),
      host_factor_(host_factor),
      one_gpu_(one_gpu),
      samples_(SamplesPerStep(job)),
      deviation_(StepDeviation(job.steps().steps)) {}

ScaledStep PredictedJob::OnOneGpu() {
  ScaledStep step;
  step.step_ms = IntervalOf(one_gpu_);
  step.without_latency_ms = step.without_bytes_ms = one_gpu_.mid;
  return step;
}

ScaledStep PredictedJob::On(const Topology& topology, const Placement& placement,
                            std::optional<std::int64_t> samples) {
  assert(!samples && "each GPU has the recorded batch");
  (void)samples;
  if (placement.gpus == 1) return OnOneGpu();
  DurationNs transfers;  // Sum over the recorded steps.
  const Result<PredictedMs> ms =
      predictor_.StepWith(target_, host_factor_, one_gpu_, [&](Edit& edit) {
        Effect effect = InsertExchange(job_, {.topology = topology, .placement = placement}, edit);
        for (const Edit::ChannelTask& transfer : edit.channel_tasks())
          transfers += transfer.duration;
        return effect;
      });
  ScaledStep step;
  if (!ms.ok()) {
    step.no_answer = ms.status().message();
    return step;
  }
  step.step_ms = IntervalOf(ms.value());
  step.limits.exposed_ms = std::max(0.0, ms.value().mid - one_gpu_.mid);
  step.limits.transfers_ms = transfers.ms() / job_.graph().steps;
  step.without_latency_ms = step.without_bytes_ms = ms.value().mid;
  return step;
}

}  // namespace headroom
