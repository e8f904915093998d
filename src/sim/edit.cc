#include "sim/edit.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace headroom {
namespace {

/// Behind an inserted kernel, as behind any (measured: 1 to 2.7 us on several GPUs).
constexpr std::int64_t kKernelGap = 1'500;

std::int64_t Scaled(std::int64_t ns, double factor) {
  return std::llround(static_cast<double>(ns) * factor);
}

}  // namespace

Edit::Edit(const Graph& graph, const Plan& base) : graph_(graph), base_(base), plan_(base) {
  assert(base.tasks() == graph.tasks.size() && "the plan is of this graph, without inserted tasks");
}

DurationNs Edit::WorkBefore(TaskIndex call) const {
  return DurationNs(HasTrackEdge(call) ? plan_.lag[TrackEdge(call)] : 0);
}

void Edit::SetDuration(TaskIndex task, DurationNs duration) {
  if (duration.ns() == plan_.duration[task]) return;
  plan_.duration[task] = duration.ns();
  if (graph_.tasks[task].kind == TaskKind::kGpu) ++counts_.tasks;
}

void Edit::Scale(TaskIndex task, double factor) {
  SetDuration(task, DurationNs(Scaled(plan_.duration[task], factor)));
}

void Edit::ScaleWorkBefore(TaskIndex call, double factor) {
  if (!HasTrackEdge(call)) return;
  std::int64_t& lag = plan_.lag[TrackEdge(call)];
  lag = Scaled(lag, factor);
}

void Edit::AddWorkBefore(TaskIndex call, DurationNs work) {
  if (!HasTrackEdge(call)) return;
  std::int64_t& lag = plan_.lag[TrackEdge(call)];
  lag = std::max<std::int64_t>(0, lag + work.ns());
}

void Edit::Remove(TaskIndex task) {
  plan_.duration[task] = 0;
  ++counts_.removed;
  if (graph_.tasks[task].kind != TaskKind::kGpu) return;
  for (std::uint32_t edge = graph_.edge_begin[task]; edge < graph_.edge_begin[task + 1]; ++edge) {
    plan_.lag[edge] = graph_.edges[edge].kind == EdgeKind::kStream ? 0 : kNoEdge;
  }
}

void Edit::RemoveWait(TaskIndex return_task) {
  for (std::uint32_t edge = graph_.edge_begin[return_task];
       edge < graph_.edge_begin[return_task + 1]; ++edge) {
    if (graph_.edges[edge].kind == EdgeKind::kSync) plan_.lag[edge] = kNoEdge;
  }
}

void Edit::Insert(const NewKernel& kernel) {
  assert(kernel.before_call < kernel.before_task);
  inserted_.push_back(kernel);
  ++counts_.inserted;
}

std::vector<Edit::Arrival> Edit::Arrivals() const {
  std::vector<Arrival> arrivals;
  for (std::uint32_t k = 0; k < inserted_.size(); ++k) {
    arrivals.push_back({inserted_[k].before_call, k, true});
    arrivals.push_back({inserted_[k].before_task, k, false});
  }
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [](const Arrival& a, const Arrival& b) { return a.before < b.before; });
  return arrivals;
}

std::vector<bool> Edit::ChangedTasks() const {
  const std::vector<Arrival> arrivals = Arrivals();
  std::vector<bool> changed;
  changed.reserve(plan_.tasks() + arrivals.size());
  auto next = arrivals.begin();
  for (TaskIndex task = 0; task < plan_.tasks(); ++task) {
    for (; next != arrivals.end() && next->before == task; ++next)
      changed.push_back(!next->is_launch);
    changed.push_back(plan_.shape->gpu[task] != 0 && plan_.duration[task] != base_.duration[task]);
  }
  return changed;
}

Plan Edit::Finish() const {
  if (inserted_.empty()) return plan_;
  const std::vector<Arrival> arrivals = Arrivals();
  const PlanShape& old = *plan_.shape;
  const std::size_t tasks = plan_.tasks();
  std::vector<std::uint32_t> place(tasks);  // New numbers.
  std::vector<std::uint32_t> launch_place(inserted_.size());
  {
    std::size_t next = 0;
    for (std::size_t task = 0; task < tasks; ++task) {
      while (next < arrivals.size() && arrivals[next].before == task) ++next;
      place[task] = static_cast<std::uint32_t>(task + next);
    }
  }
  const auto moments_before = static_cast<std::int64_t>(2 * tasks);
  const auto moments = static_cast<std::int64_t>(2 * (tasks + arrivals.size()));
  const auto moved = [&](std::int64_t from) {
    std::int64_t back = 0;
    while (from < 0) {
      from += moments_before;
      ++back;
    }
    return 2 * std::int64_t{place[static_cast<std::size_t>(from / 2)]} + from % 2 - back * moments;
  };

  auto shape = std::make_shared<PlanShape>();
  shape->steps = old.steps;
  shape->most_cycles_back = old.most_cycles_back;
  Plan plan;
  const auto begin_task = [&](std::int64_t duration, bool gpu, std::int32_t step) {
    shape->edge_begin.push_back(static_cast<std::uint32_t>(shape->from.size()));
    shape->gpu.push_back(gpu ? 1 : 0);
    shape->step.push_back(step);
    plan.duration.push_back(duration);
  };
  const auto add_edge = [&](std::int64_t from, std::int64_t lag) {
    shape->from.push_back(from);
    plan.lag.push_back(lag);
  };
  std::size_t next = 0;
  for (std::size_t task = 0; task < tasks; ++task) {
    const std::uint32_t track = old.edge_begin[task];
    const bool has_track = track < old.edge_begin[task + 1];
    std::int64_t previous = has_track ? moved(old.from[track]) : -1;
    for (; next < arrivals.size() && arrivals[next].before == task; ++next) {
      const NewKernel& kernel = inserted_[arrivals[next].kernel];
      const auto self = static_cast<std::uint32_t>(plan.duration.size());
      if (arrivals[next].is_launch) {
        launch_place[arrivals[next].kernel] = self;
        begin_task(kernel.launch.ns(), false, old.step[task]);
        if (has_track) add_edge(previous, kernel.host_work.ns());
      } else {
        begin_task(kernel.duration.ns(), true, old.step[task]);
        if (has_track) add_edge(previous, kKernelGap);
        add_edge(2 * std::int64_t{launch_place[arrivals[next].kernel]}, graph_.launch_latency.ns());
      }
      previous = 2 * std::int64_t{self} + 1;
    }
    begin_task(plan_.duration[task], old.gpu[task] != 0, old.step[task]);
    for (std::uint32_t edge = track; edge < old.edge_begin[task + 1]; ++edge) {
      add_edge(edge == track ? previous : moved(old.from[edge]), plan_.lag[edge]);
    }
  }
  shape->edge_begin.push_back(static_cast<std::uint32_t>(shape->from.size()));
  plan.shape = std::move(shape);
  return plan;
}

}  // namespace headroom
