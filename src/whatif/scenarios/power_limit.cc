// power-limit: the step under another power limit of the GPU, such as that of `nvidia-smi -pl`. The
// GPU lowers its clock until the average power of the step fits (kernels/power_limit.h).
//
// A waiting card draws a share of its limit, running kernels draw more, and kernels at full rate
// draw the rest, as in the model of energy: products draw much, kernels that move bytes less.
// Products follow the clock. Other kernels mostly wait for memory, so a smaller share of their time
// does: with products for half of the time, both make the measured share (kClockShare). Copies and
// collectives keep their times. Each clock is tried on a replay, because a host-bound step hides a
// part of the longer kernels.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/verdict/remedies.h"
#include "kernels/operator_time.h"
#include "kernels/power_limit.h"
#include "sim/schedule.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

constexpr double kProductsFollowClock = 1;
constexpr double kOthersFollowClock = 2 * kClockShare - kProductsFollowClock;

/// No card accepts a smaller share of its power limit.
constexpr double kMinLimitShare = 0.1;
constexpr double kMinClock = 0.15;

/// Half-widths of the slowed kernels' times, at most the slowdown: a limit makes nothing faster.
/// 80 % of epochs of left-out jobs were within 7 %; the uncertain power at the full limit adds as
/// much.
constexpr double kLimitError = 0.15, kUnmeasuredLimitError = 0.4;

/// A GPU task at the full clock.
struct TaskPower {
  double follows_clock = 0;  ///< Share of its time that grows as 1 / clock.
  double dynamic = 0;        ///< Dynamic power, as a share of the card's limit.

  double TimeFactor(double clock) const { return 1 + follows_clock * (1 / clock - 1); }
};

/// Returns the mean of `full_rate` over the time of tasks with a known cost, which also applies to
/// other tasks and to inserted kernels; nullopt if no cost is known.
///
/// @param full_rate  receives the share of each task's time that its work would take at full power;
/// -1 if the cost is unknown
std::optional<double> FullRates(const Job& job, const Edit& edit, std::vector<double>& full_rate) {
  full_rate.assign(job.graph().tasks.size(), -1);
  double known = 0, active = 0;
  for (const LaunchingOperator& op : LaunchingOperators(job)) {
    TaskIndex longest = op.tasks.front();
    double ns = 0;
    for (const TaskIndex task : op.tasks) {
      if (edit.IsRemoved(task)) continue;
      ns += static_cast<double>(edit.DurationOf(task).ns());
      if (edit.DurationOf(task) > edit.DurationOf(longest)) longest = task;
    }
    const OperatorWork work{
        .call = job.CallOf(op.op), .cost = job.CostOf(op.op), .longest = job.ClassOf(longest)};
    if (work.call == nullptr || ns <= 0) continue;
    const std::optional<double> full = OperatorOnGpu(work, *job.rates()).FullPowerNs();
    if (!full) continue;
    known += ns;
    active += std::min(ns, *full);
    for (const TaskIndex task : op.tasks) full_rate[task] = std::min(1.0, *full / ns);
  }
  return known > 0 ? std::optional(active / known) : std::nullopt;
}

double FollowsClock(const Job& job, TaskIndex task) {
  if (job.store().gpu_tasks.kind[job.graph().tasks[task].row] != GpuTaskKind::kKernel) return 0;
  const WorkFamily family = job.ClassOf(task).family;
  if (family == WorkFamily::kCommunication) return 0;
  return MultipliesMatrices(family) ? kProductsFollowClock : kOthersFollowClock;
}

/// The step at lower clocks.
class ClockedStep {
 public:
  /// Average power, as a share of the card's limit.
  struct Point {
    double step_ms = 0, power = 0;
  };

  ClockedStep(const Job& job, const Edit& edit, const std::vector<double>& full_rate,
              double other_rate)
      : job_(job), edit_(edit), tasks_(job.graph().tasks.size()) {
    const KernelConstants& constants = job.kernel_constants();
    idle_ = WaitingPowerShare(*job.rates()->device, constants.energy_idle);
    const double at_full_rate = std::max(0.0, 1 - idle_ - constants.energy_busy);
    std::set<DeviceId> devices;
    for (TaskIndex task = 0; task < tasks_.size(); ++task) {
      const Task& recorded = job.graph().tasks[task];
      if (recorded.kind != TaskKind::kGpu || edit.IsRemoved(task)) continue;
      const double rate = full_rate[task] < 0 ? other_rate : full_rate[task];
      tasks_[task] = {.follows_clock = FollowsClock(job, task),
                      .dynamic = constants.energy_busy + at_full_rate * rate};
      devices.insert(job.store().DeviceOf(GpuTaskId(recorded.row)));
    }
    inserted_ = {.follows_clock = kOthersFollowClock,
                 .dynamic = constants.energy_busy + at_full_rate * other_rate};
    devices_ = static_cast<double>(std::max<std::size_t>(1, devices.size()));
  }

  /// Gives the GPU tasks of an edit their times at a clock.
  void Slow(double clock, Edit& edit) const {
    for (TaskIndex task = 0; task < tasks_.size(); ++task) {
      if (tasks_[task].follows_clock == 0) continue;
      edit.Scale(task, tasks_[task].TimeFactor(clock));
      edit.ScaleUnrecordedWaits(task, tasks_[task].TimeFactor(clock));
    }
    for (Edit::NewKernel& kernel : edit.inserted()) {
      kernel.duration =
          Nanoseconds(static_cast<double>(kernel.duration.ns()) * inserted_.TimeFactor(clock));
    }
  }

  /// Returns nullopt if the edit's plan is invalid.
  std::optional<Point> At(double clock) {
    Edit slowed = edit_;
    Slow(clock, slowed);
    const std::optional<EditedPlan> edited = slowed.TryFinish();
    if (!edited) return std::nullopt;
    Point point{.step_ms = job_.step_scale().Ms(edited->plan, replayer_.Run(edited->plan).step_ns)};
    double dynamic_ns = 0;
    for (TaskIndex task = 0; task < tasks_.size(); ++task)
      dynamic_ns += tasks_[task].dynamic * static_cast<double>(slowed.DurationOf(task).ns());
    for (const Edit::NewKernel& kernel : slowed.inserted())
      dynamic_ns += inserted_.dynamic * static_cast<double>(kernel.duration.ns());
    const double step_ns = 1e6 * point.step_ms * job_.graph().steps * devices_;
    point.power = idle_ + factor_ * DynamicPowerShare(clock) * dynamic_ns / step_ns;
    return point;
  }

  /// Lowers the dynamic power so that the step at the full clock draws at most this power.
  void HoldAtFullClock(const Point& full, double power) {
    if (full.power > power) factor_ = (power - idle_) / (full.power - idle_);
  }

 private:
  const Job& job_;
  const Edit& edit_;
  std::vector<TaskPower> tasks_;
  TaskPower inserted_;
  double idle_ = 0, factor_ = 1, devices_ = 1;
  Replayer replayer_;
};

std::string WhyNoPower(const Job& job) {
  if (job.device() == nullptr) return WhyNoDevice(job);
  if (!job.device()->tdp_w) return WhyNoFigure(job, "power limit (tdp_w)");
  return job.rates() == nullptr ? WhyNoFigure(job, "peak and bandwidth") : "";
}

}  // namespace

Effect ApplyPowerLimit(const Job& job, const Arguments& arguments, Edit& edit) {
  if (const std::string why = WhyNoPower(job); !why.empty()) return Effect::Abstain(why);
  const double watts = arguments.Number("watts"), card = *job.device()->tdp_w;
  if (watts < kMinLimitShare * card) {
    return Effect::Abstain(fmt::format(
        "{:.4g} W is below a tenth of the {}'s power limit, which no card accepts; give {:.4g} or "
        "more",
        watts, job.device()->short_name, kMinLimitShare * card));
  }
  if (watts >= card) {
    return {.why = fmt::format("the {} has a power limit of {:.4g} W, so nothing changes",
                               job.device()->short_name, card),
            .memory_delta_bytes = 0};
  }
  std::vector<double> full_rate;
  const std::optional<double> other_rate = FullRates(job, edit, full_rate);
  if (!other_rate) {
    return Effect::Abstain(
        fmt::format("the power of the kernels is unknown, because no shapes of operators were "
                    "recorded ({})",
                    RemedyOf(ImportIssue::kNoShapes, job.store().metadata.recorded_as())));
  }
  ClockedStep step(job, edit, full_rate, *other_rate);
  const double held = HeldWatts(watts, card) / card;
  std::optional<ClockedStep::Point> full = step.At(1);
  if (full) {
    step.HoldAtFullClock(*full, HeldWatts(card, card) / card);
    full = step.At(1);
  }
  if (!full) return Effect::Abstain("the earlier changes make a task wait for itself");
  if (full->power <= held) {
    return {.why = fmt::format("the step draws {:.0f} W on average, which fits into {:.4g} W",
                               card * full->power, watts),
            .memory_delta_bytes = 0};
  }
  double low = kMinClock, high = 1;
  std::optional<ClockedStep::Point> slowed = step.At(low);
  if (!slowed || slowed->power > held) {
    return Effect::Abstain(fmt::format(
        "the {} draws more than {:.4g} W even at {:.0f} % of its clock; give more watts",
        job.device()->short_name, watts, 100 * kMinClock));
  }
  constexpr double kClockPrecision = 1e-3;
  while (high - low > kClockPrecision) {
    const double middle = (low + high) / 2;
    const std::optional<ClockedStep::Point> point = step.At(middle);
    const bool fits = point && point->power <= held;
    if (fits) slowed = point;
    (fits ? low : high) = middle;
  }
  step.Slow(low, edit);
  return {
      .why = fmt::format("at {:.0f} % of its clock the GPU draws {:.0f} W instead of {:.0f} W: "
                         "{:.3g} J per step instead of {:.3g} J, modelled",
                         100 * low, card * slowed->power, card * full->power,
                         card * slowed->power * slowed->step_ms / 1e3,
                         card * full->power * full->step_ms / 1e3),
      .memory_delta_bytes = 0,
      .gpu_error = std::min(watts < kMinMeasuredLimit * card ? kUnmeasuredLimitError : kLimitError,
                            1 - full->step_ms / slowed->step_ms)};
}

}  // namespace headroom
