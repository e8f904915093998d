#include "scale/pipelined_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "network/collectives.h"
#include "render/number_format.h"
#include "whatif/scenarios/distributed/network.h"

namespace headroom {

PipelinedJob::Times PipelinedJob::TimesOver(const Topology& topology, const Placement& placement,
                                            double batch_ratio) const {
  const ModelParallel& split = options_.split;
  const StageSends sends =
      TimeBetweenStages(options_.stages.layer_bytes * batch_ratio, topology, placement, split);
  Times times = {.sends_ms = sends.sum.ms(), .slowest_send_ms = sends.slowest.ms()};
  const GpuGroup replicas = DataGroup(topology, placement, split);
  double bucket = 0;
  for (std::size_t g = 0; g < options_.stages.gradients.size(); ++g) {
    bucket += options_.stages.gradients[g];
    if (bucket < options_.bucket_bytes && g + 1 < options_.stages.gradients.size()) continue;
    times.exchange_ms +=
        FastestTime(Collective::kAllReduce, bucket, replicas.topology, replicas.placement)
            .Total()
            .ms();
    bucket = 0;
  }
  return times;
}

double PipelinedJob::StepMs(double micro_ms, const Times& times) const {
  const PipelineStages& stages = options_.stages;
  const double batch_ms = std::max(0.0, micro_ms - stages.update_ms);
  const auto more_batches = static_cast<double>(options_.split.micro_batches - 1);
  // Sends overlap the work of other batches, unless they take longer. Each link carries both
  // directions independently.
  return batch_ms +
         more_batches * std::max(stages.largest_share * batch_ms, times.slowest_send_ms) +
         2 * times.sends_ms + stages.update_share * stages.update_ms + times.exchange_ms;
}

ScaledStep PipelinedJob::On(const Topology& topology, const Placement& placement,
                            std::optional<std::int64_t> samples) {
  const ModelParallel& split = options_.split;
  const PipelineStages& stages = options_.stages;
  const GpuGroup tensor = TensorGroup(topology, placement, split);
  ScaledStep micro = job_.On(tensor.topology, tensor.placement, samples);
  if (!micro.no_answer.empty()) return micro;
  const std::optional<std::int64_t> of_batch = samples ? samples : job_.samples();
  const double batch_ratio = samples && job_.samples() ? static_cast<double>(*samples) /
                                                             static_cast<double>(*job_.samples())
                                                       : 1;
  const Times times = TimesOver(topology, placement, batch_ratio);
  const auto scaled = [&](double factor) {
    return Times{times.sends_ms * factor, times.slowest_send_ms * factor,
                 times.exchange_ms * factor};
  };
  ScaledStep step = micro;
  step.step_ms = {.low = StepMs(micro.step_ms.low, scaled(1 - kNetworkError)),
                  .mid = StepMs(micro.step_ms.mid, times),
                  .high = StepMs(micro.step_ms.high, scaled(1 + kNetworkError))};
  step.without_latency_ms =
      StepMs(micro.without_latency_ms, TimesOver(WithoutLatency(topology), placement, batch_ratio));
  step.without_bytes_ms =
      StepMs(micro.without_bytes_ms, TimesOver(WithoutLimit(topology), placement, batch_ratio));
  const double alone_ms = micro.step_ms.mid - micro.limits.exposed_ms;
  step.limits.exposed_ms = step.step_ms.mid - StepMs(alone_ms, {});
  // The first batch passes all stages; the others add only the longest stage.
  const auto more_batches = static_cast<double>(split.micro_batches - 1);
  step.limits.transfers_ms = micro.limits.transfers_ms * (1 + more_batches * stages.largest_share) +
                             2 * times.sends_ms + 2 * more_batches * times.slowest_send_ms +
                             times.exchange_ms;
  step.bubble_ms = (1 - stages.largest_share) * std::max(0.0, alone_ms - stages.update_ms);
  step.why = fmt::format(
      "{}, the longest of which takes {} of a micro-batch's forward and backward time; {}{}",
      Plural(split.stages, "stage"), FormatPercent(100 * stages.largest_share),
      split.micro_batches == 1 ? "one micro-batch"
                               : fmt::format("{} micro-batches", split.micro_batches),
      of_batch ? " of " + Plural(*of_batch, "sample") : "");
  if (!micro.why.empty()) step.why += "; " + micro.why;
  return step;
}

}  // namespace headroom
