#include "scale/pipelined_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/format.h"
#include "cluster/collectives.h"
#include "whatif/network.h"

namespace headroom {

PipelinedJob::Times PipelinedJob::TimesOver(const Topology& topology, const Placement& placement,
                                            double batch_ratio) const {
  const ModelParallel& split = options_.split;
  Times times;
  times.send_ms =
      TimeToNextStage(options_.stages.layer_bytes * batch_ratio, topology, placement, split).ms();
  const GpuGroup replicas = DataGroup(topology, placement, split);
  const double full = std::max(options_.bucket_bytes, 1.0);
  for (double left = options_.stages.gradient_bytes; left > 0; left -= full) {
    times.exchange_ms += FastestTime(Collective::kAllReduce, std::min(left, full),
                                     replicas.topology, replicas.placement)
                             .Total()
                             .ms();
  }
  return times;
}

double PipelinedJob::StepMs(double micro_ms, const Times& times) const {
  const ModelParallel& split = options_.split;
  const PipelineStages& stages = options_.stages;
  const double batch_ms = std::max(0.0, micro_ms - stages.update_ms);
  const auto more_batches = static_cast<double>(split.micro_batches - 1);
  const auto borders = static_cast<double>(split.stages - 1);
  // Sends run beside the work of other batches, unless they take longer. Each way is a link's own.
  return batch_ms + more_batches * std::max(stages.largest_share * batch_ms, times.send_ms) +
         2 * borders * times.send_ms + stages.update_share * stages.update_ms + times.exchange_ms;
}

ScaledStep PipelinedJob::On(const Topology& topology, const Placement& placement,
                            std::optional<std::int64_t> samples) {
  const GpuGroup tensor = TensorGroup(topology, placement, options_.split);
  ScaledStep micro = job_.On(tensor.topology, tensor.placement, samples);
  if (!micro.no_answer.empty()) return micro;
  const double batch_ratio = samples && job_.samples() ? static_cast<double>(*samples) /
                                                             static_cast<double>(*job_.samples())
                                                       : 1;
  const Times times = TimesOver(topology, placement, batch_ratio);
  const auto scaled = [&](double factor) {
    return Times{times.send_ms * factor, times.exchange_ms * factor};
  };
  const ModelParallel& split = options_.split;
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
  const auto batches = static_cast<double>(split.micro_batches);
  // There and back, of each batch.
  step.limits.transfers_ms =
      batches * (options_.stages.largest_share * micro.limits.transfers_ms + 2 * times.send_ms) +
      times.exchange_ms;
  step.bubble_ms =
      (1 - options_.stages.largest_share) * std::max(0.0, alone_ms - options_.stages.update_ms);
  step.why = fmt::format(
      "{}, the longest of which has {} of a batch's forward and backward; {} {} the recorded size; "
      "{}",
      Plural(split.stages, "stage"), FormatPercent(100 * options_.stages.largest_share),
      split.micro_batches, split.micro_batches == 1 ? "batch of" : "batches of", micro.why);
  return step;
}

}  // namespace headroom
