#include "sim/schedule.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace headroom {
namespace {

/// Before everything, and far enough from the ends of the type that lags can be added.
constexpr std::int64_t kNever = INT64_MIN / 4;

/// The end of the last GPU task, or of everything where there is none.
std::int64_t EndOfWork(const Plan& plan, const std::int64_t* moments) {
  std::int64_t gpu = kNever, any = kNever;
  for (std::size_t task = 0; task < plan.tasks(); ++task) {
    const std::int64_t end = moments[2 * task + 1];
    any = std::max(any, end);
    if (plan.shape->gpu[task] != 0) gpu = std::max(gpu, end);
  }
  return gpu != kNever ? gpu : any;
}

}  // namespace

Plan MakePlan(const Graph& graph) {
  auto shape = std::make_shared<PlanShape>();
  Plan plan;
  const auto moments = static_cast<std::int64_t>(graph.moments());
  shape->edge_begin = graph.edge_begin;
  shape->steps = graph.steps;
  shape->periodic = graph.periodic;
  shape->gpu.reserve(graph.tasks.size());
  shape->step.reserve(graph.tasks.size());
  plan.duration.reserve(graph.tasks.size());
  for (const Task& task : graph.tasks) {
    plan.duration.push_back(task.duration.ns());
    shape->gpu.push_back(task.kind == TaskKind::kGpu ? 1 : 0);
    shape->step.push_back(task.step);
  }
  shape->from.reserve(graph.edges.size());
  plan.lag.reserve(graph.edges.size());
  for (const Edge& edge : graph.edges) {
    plan.lag.push_back(edge.lag.ns());
    shape->from.push_back(2 * std::int64_t{edge.from} + (edge.from_end ? 1 : 0) -
                          moments * edge.cycles_back);
    shape->most_cycles_back = std::max<std::int32_t>(shape->most_cycles_back, edge.cycles_back);
  }
  plan.shape = std::move(shape);
  return plan;
}

void Replayer::Prepare(const Plan& plan, int cycles) {
  const std::size_t cycle = 2 * plan.tasks();
  const auto before = static_cast<std::size_t>(plan.shape->most_cycles_back) * cycle;
  moments_.resize(before + cycle * static_cast<std::size_t>(cycles));
  std::fill(moments_.begin(), moments_.begin() + static_cast<std::ptrdiff_t>(before), kNever);
}

const std::int64_t* Replayer::Cycle(const Plan& plan, int cycle) const {
  return moments_.data() +
         static_cast<std::size_t>(plan.shape->most_cycles_back + cycle) * 2 * plan.tasks();
}

void Replayer::RunCycle(const Plan& plan, int cycle) {
  std::int64_t* const moments = moments_.data() + (Cycle(plan, cycle) - moments_.data());
  const std::size_t tasks = plan.tasks();
  const std::uint32_t* const edge_begin = plan.shape->edge_begin.data();
  const std::int64_t* const from = plan.shape->from.data();
  const std::int64_t* const lag = plan.lag.data();
  const std::int64_t* const duration = plan.duration.data();
  std::uint32_t edge = edge_begin[0];
  for (std::size_t task = 0; task < tasks; ++task) {
    const std::uint32_t end = edge_begin[task + 1];
    std::int64_t start = 0;
    // The first cycle begins at 0; nothing comes before.
    for (; edge < end; ++edge) start = std::max(start, moments[from[edge]] + lag[edge]);
    moments[2 * task] = start;
    moments[2 * task + 1] = start + duration[task];
  }
}

std::span<const std::int64_t> Replayer::RunOnce(const Plan& plan) {
  Prepare(plan, 1);
  RunCycle(plan, 0);
  cycles_ = 1;
  return {Cycle(plan, 0), 2 * plan.tasks()};
}

Replayed Replayer::Run(const Plan& plan) {
  Replayed out;
  if (plan.tasks() == 0) return out;
  if (!plan.shape->periodic) {
    RunOnce(plan);
    out.step_ns = static_cast<double>(EndOfWork(plan, Cycle(plan, 0)));
    out.step_walls_ns = {out.step_ns};
    return out;
  }
  Prepare(plan, kMostCycles);
  double before = -1, period = 0;
  std::int64_t end = 0;
  int cycle = 0;
  for (; cycle < kMostCycles; ++cycle) {
    RunCycle(plan, cycle);
    const std::int64_t now = EndOfWork(plan, Cycle(plan, cycle));
    before = period;
    period = static_cast<double>(now - end);
    end = now;
    if (cycle >= kFirstToSettle && std::abs(period - before) <= kSettled * period) break;
  }
  out.settled = cycle < kMostCycles;
  const int last = std::min(cycle, kMostCycles - 1);
  cycles_ = last + 1;
  out.step_ns = period / plan.shape->steps;

  // Ends of the steps' GPU work, those of the cycle before first.
  std::vector<std::int64_t> ends(static_cast<std::size_t>(plan.shape->steps), kNever);
  const std::int64_t* const moments = Cycle(plan, last);
  for (std::size_t task = 0; task < plan.tasks(); ++task) {
    const std::int32_t step = plan.shape->step[task];
    if (plan.shape->gpu[task] == 0 || step < 0 || step >= plan.shape->steps) continue;
    std::int64_t& step_end = ends[static_cast<std::size_t>(step)];
    step_end = std::max(step_end, moments[2 * task + 1]);
  }
  std::int64_t previous = end - static_cast<std::int64_t>(period);
  for (const std::int64_t step_end : ends) {
    if (step_end == kNever) continue;
    out.step_walls_ns.push_back(static_cast<double>(step_end - previous));
    previous = step_end;
  }
  return out;
}

}  // namespace headroom
