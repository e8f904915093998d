#include "scale/exchange_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "scale/recorded_collectives.h"
#include "whatif/catalogue.h"

namespace headroom {
namespace {

Effect ApplySchedule(const Job& job, const ScaledJob& scaled, Edit& edit) {
  const Exchange& exchange = scaled.exchange;
  Effect effect = InsertExchange(job, exchange, edit);
  if (!effect.applies || !scaled.schedule) return effect;
  constexpr double kBitsPerByte = 8;
  ScenarioCall schedule = *scaled.schedule;
  schedule.arguments.Set("gpus-per-node", std::to_string(exchange.placement.PerNode()));
  schedule.arguments.Set(
      "link-gbps", fmt::format("{:.17g}", exchange.topology.inside.bytes_per_ns * kBitsPerByte));
  // In one machine, or with one GPU in each, blueconnect's stages are one: the ring.
  const bool two_levels = exchange.placement.nodes > 1 && exchange.placement.PerNode() > 1;
  if (schedule.scenario->apply == ApplyBlueConnect && !two_levels) return effect;
  Effect scheduled = schedule.scenario->apply(job, schedule.arguments, edit);
  if (!scheduled.applies) return scheduled;
  effect.gpu_error = std::max(effect.gpu_error, scheduled.gpu_error);
  effect.transfer_error = std::max(effect.transfer_error, scheduled.transfer_error);
  if (!scheduled.why.empty()) effect.AlsoBecause(scheduled.why);
  return effect;
}

}  // namespace

Effect ApplyScaledJob(const Job& job, const GpusOfJob& recorded, const ScaledJob& scaled,
                      Edit& edit) {
  Effect all = ApplyAll(job, scaled.changes, edit);
  if (!all.applies) return all;
  const Placement& target = scaled.exchange.placement;
  const bool communicates = recorded.placement.gpus > 1;
  if (!communicates && target.gpus == 1) return all;
  if (communicates && scaled.schedule) {
    return Effect::Abstain(
        "the recorded job exchanges gradients already, as it was written to; another schedule "
        "needs "
        "a recording on one GPU");
  }
  Effect exchange =
      communicates
          ? RescaleCollectives(job, recorded,
                               {.topology = scaled.exchange.topology, .placement = target}, edit)
          : ApplySchedule(job, scaled, edit);
  if (!exchange.applies) return exchange;
  all.work *= exchange.work;
  all.gpu_error = std::max(all.gpu_error, exchange.gpu_error);
  all.transfer_error = std::max(all.transfer_error, exchange.transfer_error);
  all.validated = Validity::kNo;
  // Buckets and what the library needs for itself are not counted.
  all.memory_delta_bytes.reset();
  if (!exchange.why.empty()) all.AlsoBecause(exchange.why);
  return all;
}

}  // namespace headroom
