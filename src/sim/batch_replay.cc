#include "sim/batch_replay.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

/// Before everything; lags can be added.
constexpr double kNever = -1e18;

}  // namespace

BatchReplayer::BatchReplayer(const Plan& plan)
    : shape_(plan.shape),
      duration_(plan.duration.begin(), plan.duration.end()),
      lag_(plan.lag.begin(), plan.lag.end()),
      task_part_(plan.duration.size()),
      edge_part_(plan.lag.size()),
      any_gpu_(std::any_of(shape_->gpu.begin(), shape_->gpu.end(),
                           [](std::uint8_t gpu) { return gpu != 0; })) {}

void BatchReplayer::Apply(const PlanPart& part, double scale) {
  for (const auto& [task, share] : part.tasks) duration_[task] *= 1 - share * (1 - scale);
  for (const auto& [edge, share] : part.edges) lag_[edge] *= 1 - share * (1 - scale);
}

BatchReplayer::Lanes BatchReplayer::RunCycle(std::size_t cycle, const Lanes& change) {
  const std::size_t tasks = duration_.size();
  const auto moments = static_cast<std::int64_t>(2 * tasks);
  const auto ring = static_cast<std::size_t>(shape_->most_cycles_back) + 1;
  const auto slot = [&](std::size_t of_cycle) {
    return moments_.data() + of_cycle % ring * 2 * tasks;
  };
  Lanes* const now = slot(cycle);
  Lanes end_of_work;
  end_of_work.fill(kNever);
  std::uint32_t edge = 0;
  for (std::size_t task = 0; task < tasks; ++task) {
    Lanes start{};  // The first cycle begins at 0; nothing comes before.
    for (const std::uint32_t end = shape_->edge_begin[task + 1]; edge < end; ++edge) {
      std::int64_t from = shape_->from[edge];
      const Lanes* before = now;
      for (std::size_t back = 1; from < 0; ++back, from += moments)
        before = slot(cycle + ring - back);
      const Lanes& then = before[from];
      const double lag = lag_[edge], part = edge_part_[edge];
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        start[lane] = std::max(start[lane], then[lane] + (lag + part * change[lane]));
    }
    const double duration = duration_[task], part = task_part_[task];
    Lanes& end = now[2 * task + 1];
    now[2 * task] = start;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      end[lane] = start[lane] + (duration + part * change[lane]);
    if (any_gpu_ && shape_->gpu[task] == 0) continue;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      end_of_work[lane] = std::max(end_of_work[lane], end[lane]);
  }
  return end_of_work;
}

BatchReplayer::Lanes BatchReplayer::Run(const PlanPart& part, const Lanes& scales) {
  Lanes step{};
  replays_ += kLanes;
  if (duration_.empty()) return step;
  for (const auto& [task, share] : part.tasks) task_part_[task] = share * duration_[task];
  for (const auto& [edge, share] : part.edges) edge_part_[edge] = share * lag_[edge];
  Lanes change, never;
  for (std::size_t lane = 0; lane < kLanes; ++lane) change[lane] = scales[lane] - 1;
  never.fill(kNever);
  const auto ring = static_cast<std::size_t>(shape_->most_cycles_back) + 1;
  moments_.assign(ring * 2 * duration_.size(), never);

  if (!shape_->periodic) {
    step = RunCycle(0, change);
  } else {
    Lanes end{}, period{};
    std::array<bool, kLanes> settled{};
    for (int cycle = 0; cycle < Replayer::kMostCycles; ++cycle) {
      const Lanes now = RunCycle(static_cast<std::size_t>(cycle), change);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        if (settled[lane]) continue;
        const double before = period[lane];
        period[lane] = now[lane] - end[lane];
        end[lane] = now[lane];
        settled[lane] = cycle >= Replayer::kFirstToSettle &&
                        std::abs(period[lane] - before) <= Replayer::kSettled * period[lane];
      }
      if (std::all_of(settled.begin(), settled.end(), [](bool is) { return is; })) break;
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) step[lane] = period[lane] / shape_->steps;
  }
  for (const auto& [task, share] : part.tasks) task_part_[task] = 0;
  for (const auto& [edge, share] : part.edges) edge_part_[edge] = 0;
  return step;
}

}  // namespace headroom
