#include "scale/exchange_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "scale/recorded_collectives.h"
#include "scale/server_exchange.h"
#include "whatif/scenarios/catalogue.h"

namespace headroom {
namespace {

Effect ApplyScenario(const Job& job, const Exchange& exchange, ScenarioCall schedule, Edit& edit) {
  Effect effect = InsertExchange(job, exchange, edit);
  if (!effect.applies) return effect;
  constexpr double kBitsPerByte = 8;
  schedule.arguments.Set("gpus-per-node", std::to_string(exchange.placement.PerNode()));
  schedule.arguments.Set(
      "link-gbps", fmt::format("{:.17g}", exchange.topology.inside.bytes_per_ns * kBitsPerByte));
  // Inside one machine, or with one GPU per machine, blueconnect has a single stage: a ring.
  const bool two_levels = exchange.placement.nodes > 1 && exchange.placement.PerNode() > 1;
  if (schedule.scenario->apply == ApplyBlueConnect && !two_levels) {
    effect.AlsoBecause("with one level of links, blueconnect is an ordinary ring");
    return effect;
  }
  Effect scheduled = schedule.scenario->apply(job, schedule.arguments, edit);
  if (!scheduled.applies) return scheduled;
  effect.gpu_error = std::max(effect.gpu_error, scheduled.gpu_error);
  effect.transfer_error = std::max(effect.transfer_error, scheduled.transfer_error);
  if (!scheduled.why.empty()) effect.AlsoBecause(scheduled.why);
  return effect;
}

Effect ApplySchedule(const Job& job, const ScaledJob& scaled, Edit& edit) {
  if (const auto* call = std::get_if<ScenarioCall>(&scaled.schedule))
    return ApplyScenario(job, scaled.exchange, *call, edit);
  if (const auto* sharding = std::get_if<ZeroSharding>(&scaled.schedule))
    return InsertShardedExchange(job, scaled.exchange, *sharding, edit);
  if (const auto* server = std::get_if<ServerSchedule>(&scaled.schedule))
    return InsertServerExchange(job, scaled.exchange, server->servers, edit);
  return InsertExchange(job, scaled.exchange, edit);
}

}  // namespace

Effect ApplyScaledJob(const Job& job, const GpusOfJob& recorded, const ScaledJob& scaled,
                      Edit& edit) {
  Effect all = ApplyAll(job, scaled.changes, edit);
  if (!all.applies) return all;
  const Placement& target = scaled.exchange.placement;
  const bool communicates = recorded.placement.gpus > 1;
  const TensorSharing& tensor = scaled.tensor;
  if (tensor.layers != nullptr) {
    const Effect shared = tensor.layers->Apply(tensor.group, all.memory_change.batch_ratio, edit);
    all.gpu_error = std::max(all.gpu_error, shared.gpu_error);
    all.transfer_error = std::max(all.transfer_error, shared.transfer_error);
    all.validated = Validity::kNo;
    all.memory_delta_bytes.reset();
    all.AlsoBecause(shared.why);
  }
  if (!communicates && target.gpus == 1) return all;
  if (communicates && !std::holds_alternative<BucketSchedule>(scaled.schedule)) {
    return Effect::Abstain(
        "the recorded job already exchanges gradients; another schedule requires a recording on "
        "one GPU");
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
  // The change in memory is unknown, because the estimate excludes buckets and the communication
  // library's own memory.
  all.memory_delta_bytes.reset();
  if (!exchange.why.empty()) all.AlsoBecause(exchange.why);
  return all;
}

}  // namespace headroom
