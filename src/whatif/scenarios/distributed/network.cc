#include "whatif/scenarios/distributed/network.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "analysis/verdict/remedies.h"
#include "whatif/job/gradients.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {

DurationNs CopyTime(const Job& job, double bytes) {
  const double passes = 2 * bytes;  // One pass reads, one writes.
  const bool known = job.device() != nullptr && job.device()->memory_bandwidth_gbs.has_value();
  return known ? MemoryPassTime(passes, *job.device()) : Nanoseconds(kKernelStart);
}

void InsertBucketCopies(const Job& job, const GradientStep& step, const GradientTransfer& transfer,
                        Edit& edit) {
  std::vector<bool> ends_bucket(step.gradients.size());
  for (const std::size_t last : BucketEnds(transfer.Sent(step), transfer.bucket_bytes))
    ends_bucket[last] = true;
  for (std::size_t g = 0; g < step.gradients.size(); ++g) {
    const TaskIndex behind = NextOnStream(job, step.gradients[g].ready);
    if (behind == kNoTask) continue;
    Edit::NewKernel copy = KernelBefore(job, behind, CopyTime(job, step.gradients[g].bytes));
    if (ends_bucket[g]) {
      const double call =
          kOperatorsPerBucketCall * static_cast<double>((copy.host_work + copy.launch).ns());
      copy.host_work += transfer.bucket_call.value_or(DurationNs(std::llround(call)));
    }
    edit.Insert(std::move(copy));
  }
  if (step.next == kNoTask || job.LaunchOf(step.next) == kNoTask) return;
  for (const Gradient& gradient : step.gradients)
    edit.Insert(KernelBefore(job, step.next, CopyTime(job, gradient.bytes)));
}

std::vector<GradientStep> ExchangedGradients(const Job& job, const Edit& edit) {
  std::vector<GradientStep> steps = FindGradients(job);
  for (GradientStep& step : steps) {
    std::erase_if(step.gradients, [&](Gradient& gradient) {
      const std::optional<double> replaced = edit.ReplacedGradient(gradient.op);
      if (replaced) gradient.bytes = *replaced;
      return !replaced && edit.IsSkipped(gradient.op);
    });
  }
  std::erase_if(steps, [](const GradientStep& step) { return step.gradients.empty(); });
  return steps;
}

bool Communicates(const Job& job) {
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind == TaskKind::kGpu &&
        job.ClassOf(task).family == WorkFamily::kCommunication)
      return true;
  }
  return false;
}

DurationNs TransferTime(double bytes, const Channel& channel) {
  return DurationNs(std::llround(bytes / channel.bytes_per_ns));
}

Edit::ChannelTask RingAllReduce(double bytes, const Channel& channel) {
  const auto n = static_cast<double>(channel.members);
  Edit::ChannelTask task;
  task.bytes = bytes;
  task.latency = DurationNs(2 * (channel.members - 1) * channel.latency.ns());
  task.duration = task.latency + TransferTime(2 * (n - 1) / n * bytes, channel);
  return task;
}

OpenedExchange OpenExchange(const Job& job, const Exchange& exchange, Edit& edit) {
  OpenedExchange opened;
  if (Communicates(job)) {
    opened.effect = Effect::Abstain(
        "the recorded job already communicates; use network-speed or headroom scale");
    return opened;
  }
  opened.steps = ExchangedGradients(job, edit);
  if (opened.steps.empty() && !FindGradients(job).empty()) {
    opened.effect = Effect::Abstain(
        "all recorded parameters are frozen, and the size of other gradients is unknown");
    return opened;
  }
  if (opened.steps.empty()) {
    opened.effect = Effect::Abstain(
        HasBackward(job)
            ? WhyNotFound(job, "no operator's shapes show a parameter's gradient",
                          {"operators of the backward",
                           [&](const LaunchingOperator& op) {
                             return job.ContextOf(op.tasks.front()).phase == Phase::kBackward;
                           }})
            : WhyNotFound(
                  job, fmt::format(
                           "the recorded steps have no backward, so no gradients: record "
                           "training steps, with shapes ({})",
                           RemedyOf(ImportIssue::kNoShapes, job.store().metadata.recorded_as()))));
    return opened;
  }
  for (GradientStep& step : opened.steps) {
    for (Gradient& gradient : step.gradients) {
      if (exchange.gradient_shares != nullptr && gradient.forward != kNoTask)
        gradient.bytes *= (*exchange.gradient_shares)[gradient.forward];
    }
  }
  const Placement& placement = exchange.placement;
  const Link link = placement.nodes > 1 ? exchange.topology.BetweenNodes(placement.nodes)
                                        : exchange.topology.inside;
  opened.channel =
      edit.AddChannel({.name = kNetwork,
                       .policy = Policy::kFifo,
                       .bytes_per_ns = link.bytes_per_ns,
                       .latency = link.latency,
                       .members = placement.gpus,
                       .members_per_link = placement.nodes > 1 ? placement.PerNode() : 1});
  Effect& effect = opened.effect;
  effect.transfer_error = kNetworkError;
  effect.why = fmt::format("{:.1f} MB of gradients per step",
                           exchange.transfer.Sent(opened.steps.front()).Bytes() / 1e6);
  if (const std::string missing =
          WhatShapesMiss(job, Phase::kBackward, kAccumulateGrad, "gradients");
      !missing.empty()) {
    effect.AlsoBecause(missing);
  }
  effect.work = static_cast<double>(placement.gpus);
  return opened;
}

Effect InsertExchange(const Job& job, const Exchange& exchange, Edit& edit) {
  OpenedExchange opened = OpenExchange(job, exchange, edit);
  if (!opened.effect.applies) return opened.effect;
  const ExchangeTime time = [&](double bytes) {
    return FastestTime(Collective::kAllReduce, bytes, exchange.topology, exchange.placement);
  };
  for (const GradientStep& step : opened.steps) {
    InsertBucketCopies(job, step, exchange.transfer, edit);
    InsertBuckets(job.graph(), step, exchange.transfer, opened.channel, time, edit);
  }
  return opened.effect;
}

Effect MakeExchange(const Job& job, const Arguments& arguments, double bucket_bytes, Edit& edit) {
  if (edit.FindChannel(kNetwork)) {
    Effect effect;
    effect.transfer_error = kNetworkError;
    return effect;
  }
  const auto gpus = static_cast<std::int64_t>(arguments.Number("gpus"));
  if (gpus < 2) return Effect::Abstain("one GPU exchanges no gradients; give gpus=2 or more");
  const Exchange exchange = {
      .topology = FlatTopology(arguments.Number("bandwidth-gbps"),
                               DurationNs(std::llround(arguments.Number("latency-us") * 1e3)), 1),
      .placement = {.gpus = gpus, .nodes = gpus},
      .transfer = {.bucket_bytes = bucket_bytes}};
  Effect effect = InsertExchange(job, exchange, edit);
  if (!effect.applies) return effect;
  effect.why = fmt::format(
      "{} GPUs with the recorded batch each, one per machine, over links of {} Gbit/s each way and "
      "{} us per message; {}",
      gpus, arguments.Text("bandwidth-gbps"), arguments.Text("latency-us"), effect.why);
  return effect;
}

}  // namespace headroom
