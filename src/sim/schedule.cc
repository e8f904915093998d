#include "sim/schedule.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace headroom {
namespace {

/// Earlier than every moment. Adding lags does not overflow.
constexpr std::int64_t kNever = INT64_MIN / 4;

/// Returns the end of the last GPU task, or of the last task if there is no GPU task.
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

void Replayer::RunCycle(const Plan& plan, int cycle, std::span<const std::int64_t> not_before) {
  std::int64_t* const moments = moments_.data() + (Cycle(plan, cycle) - moments_.data());
  const std::size_t tasks = plan.tasks();
  const std::uint32_t* const edge_begin = plan.shape->edge_begin.data();
  const std::int64_t* const from = plan.shape->from.data();
  const std::int64_t* const lag = plan.lag.data();
  const std::int64_t* const duration = plan.duration.data();
  std::uint32_t edge = edge_begin[0];
  for (std::size_t task = 0; task < tasks; ++task) {
    const std::uint32_t end = edge_begin[task + 1];
    // The first cycle begins at 0, with nothing before it.
    std::int64_t start = not_before.empty() ? 0 : not_before[task];
    for (; edge < end; ++edge) start = std::max(start, moments[from[edge]] + lag[edge]);
    moments[2 * task] = start;
    moments[2 * task + 1] = start + duration[task];
  }
}

void Replayer::RunEvents(const Plan& plan, int cycles) {
  events_.Run(plan, cycles, moments_.data() + (Cycle(plan, 0) - moments_.data()));
}

std::int64_t Replayer::HeldBackBy(const Plan& plan, int cycle, TaskIndex task) const {
  if (plan.shape->channels.empty()) return -1;
  return events_.HeldBackBy(cycle * static_cast<std::int64_t>(plan.tasks()) + task);
}

std::span<const std::int64_t> Replayer::RunOnce(const Plan& plan,
                                                std::span<const std::int64_t> not_before) {
  Prepare(plan, 1);
  if (plan.shape->channels.empty()) {
    RunCycle(plan, 0, not_before);
  } else {
    RunEvents(plan, 1);
  }
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
  Prepare(plan, kMaxCycles);
  // Tasks of different cycles compete for channels, so all cycles are replayed together.
  const bool by_events = !plan.shape->channels.empty();
  if (by_events) RunEvents(plan, kMaxCycles);
  double before = -1, period = 0;
  std::int64_t end = 0;
  int cycle = 0;
  for (; cycle < kMaxCycles; ++cycle) {
    if (!by_events) RunCycle(plan, cycle);
    const std::int64_t now = EndOfWork(plan, Cycle(plan, cycle));
    before = period;
    period = static_cast<double>(now - end);
    end = now;
    if (cycle >= kFirstToSettle && std::abs(period - before) <= kSettled * period) break;
  }
  out.settled = cycle < kMaxCycles;
  const int last = std::min(cycle, kMaxCycles - 1);
  cycles_ = last + 1;
  out.step_ns = period / plan.shape->steps;

  // Ends of the steps' GPU work, in order, starting from the end of the previous cycle.
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
