#include "scale/work_chain.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/units.h"
#include "network/collectives.h"
#include "network/gradient_exchange.h"
#include "sim/edit.h"
#include "whatif/scenarios/distributed/network.h"

namespace headroom {

WorkChain::WorkChain(const std::vector<ChainStep>& steps, std::int64_t tensor)
    : split_{.tensor = tensor} {
  graph_.edge_begin.push_back(0);
  DurationNs all{};
  for (const ChainStep& step : steps) {
    const std::size_t first = graph_.tasks.size();
    GradientStep exchange;
    const auto append_copy = [&](DurationNs copy) {
      if (copy <= DurationNs(0)) return;
      copies_.push_back(Append(copy));
    };
    for (const WorkToGradient& gradient : step.gradients) {
      AppendSums(gradient.sums);
      exchange.gradients.push_back({.bytes = gradient.bytes, .ready = Append(gradient.work)});
      append_copy(gradient.copy);
    }
    AppendSums(step.rest_sums);
    Append(step.rest_of_backward);
    exchange.next = static_cast<TaskIndex>(graph_.tasks.size());
    for (const WorkToGradient& gradient : step.gradients) append_copy(gradient.copy);
    Append(step.rest);
    for (std::size_t task = first; task < graph_.tasks.size(); ++task)
      graph_.tasks[task].step = graph_.steps;
    exchanges_.push_back(std::move(exchange));
    ++graph_.steps;
  }
  for (const Task& task : graph_.tasks) all += task.duration;
  graph_.edges.front() = {.from = static_cast<TaskIndex>(graph_.tasks.size() - 1),
                          .cycles_back = 1,
                          .kind = EdgeKind::kStream};
  graph_.recorded_step = DurationNs(all.ns() / graph_.steps);
}

/// Appends a task after the last one; tasks do not overlap.
TaskIndex WorkChain::Append(DurationNs duration) {
  const auto task = static_cast<TaskIndex>(graph_.tasks.size());
  const TimeNs start =
      task == 0 ? TimeNs(0) : graph_.tasks.back().start + graph_.tasks.back().duration;
  graph_.tasks.push_back(
      {.kind = TaskKind::kGpu, .start = start, .duration = std::max(DurationNs(0), duration)});
  // The first task follows the last of the previous cycle, which is known only at the end.
  graph_.edges.push_back({.from = task == 0 ? kNoTask : task - 1, .kind = EdgeKind::kStream});
  graph_.edge_begin.push_back(static_cast<std::uint32_t>(graph_.edges.size()));
  return task;
}

void WorkChain::AppendSums(const std::vector<double>& bytes) {
  if (!bytes.empty()) sums_.push_back({.task = Append(DurationNs(0)), .bytes = bytes});
}

WorkChain::Times WorkChain::Replay(const Topology& topology, const Placement& placement,
                                   const GradientTransfer& transfer, ChainFactors factors) {
  const Plan plan = MakePlan(graph_);
  Edit edit(graph_, plan);
  for (TaskIndex task = 0; task < graph_.tasks.size(); ++task) edit.Scale(task, factors.work);
  Times times;
  const auto all_reduce = [&](double bytes, const GpuGroup& group) {
    CollectiveTime taken =
        FastestTime(Collective::kAllReduce, bytes, group.topology, group.placement);
    const auto scaled = [&](DurationNs part) {
      return DurationNs(std::llround(static_cast<double>(part.ns()) * factors.network));
    };
    taken.latency = scaled(taken.latency);
    taken.transfer = scaled(taken.transfer);
    times.transfers_ms += taken.Total().ms();
    return taken;
  };
  if (placement.gpus > 1) {
    const GpuGroup group = TensorGroup(topology, placement, split_);
    for (const Sums& sums : sums_) {
      DurationNs time{0};
      for (const double bytes : sums.bytes) time += all_reduce(bytes, group).Total();
      edit.SetDuration(sums.task, time);
    }
  }
  if (placement.gpus <= split_.Gpus()) {
    for (const TaskIndex task : copies_) edit.SetDuration(task, DurationNs(0));
  } else {
    const GpuGroup replicas = DataGroup(topology, placement, split_);
    const std::uint32_t channel = edit.AddChannel({.name = kNetwork});
    const ExchangeTime time = [&](double bytes) { return all_reduce(bytes, replicas); };
    for (const GradientStep& exchange : exchanges_)
      InsertBuckets(graph_, exchange, transfer, channel, time, edit);
  }
  times.transfers_ms /= graph_.steps;
  times.step_ms = replayer_.Run(edit.Finish().plan).step_ns / kNsPerMs;
  return times;
}

ScaledStep WorkChain::On(const Topology& topology, const Placement& placement,
                         const GradientTransfer& transfer, double least_work, double most_work) {
  const auto step_ms = [&](const Topology& over, ChainFactors factors) {
    return Replay(over, placement, transfer, factors).step_ms;
  };
  const Times mid = Replay(topology, placement, transfer);
  ScaledStep step;
  step.step_ms = {
      .low = step_ms(AtFastest(topology).value_or(topology), {1 - kNetworkError, least_work}),
      .mid = mid.step_ms,
      .high = step_ms(AtSlowest(topology).value_or(topology), {1 + kNetworkError, most_work})};
  const double alone = Replay(topology, Placement(), transfer).step_ms;
  step.limits.exposed_ms = std::max(0.0, mid.step_ms - alone);
  step.limits.transfers_ms = mid.transfers_ms;
  step.without_latency_ms = step_ms(WithoutLatency(topology), {});
  step.without_bytes_ms = step_ms(WithoutLimit(topology), {});
  return step;
}

}  // namespace headroom
