#include "sim/edit.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "sim/queue_edges.h"
#include "sim/task_order.h"

namespace headroom {
namespace {

/// Behind an inserted kernel, as behind any (measured: 1 to 2.7 us on several GPUs).
constexpr std::int64_t kKernelGap = 1'500;

/// A task that starts later than this behind what it waits for found the GPU full of other work.
constexpr std::int64_t kContention = 10'000;

/// From the end of a kernel to the return of the call that waits for it (measured: 1.5 us).
constexpr std::int64_t kWaitTail = 1'500;

/// Of 10^5 tasks, these take no more than an integer of nanoseconds holds: 25 hours each.
constexpr double kLongest = 9e13;

std::int64_t Scaled(std::int64_t ns, double factor) {
  return std::llround(std::min(static_cast<double>(ns) * factor, kLongest));
}

}  // namespace

EdgeKind KindOfEdge(const Graph& graph, const EditedPlan& edited, TaskIndex task,
                    std::uint32_t edge) {
  const std::uint32_t place = edge - edited.plan.shape->edge_begin[task];
  const TaskIndex origin = edited.origin[task];
  const PlanShape& shape = *edited.plan.shape;
  // What was inserted beyond the edges of its own kind: a wait for another task.
  const EdgeKind wait = shape.gpu[task] != 0 ? EdgeKind::kCrossStream : EdgeKind::kSync;
  if (edited.OnChannel(task)) return wait;
  if (origin == kNoTask) {
    if (place > 1) return wait;
    if (place > 0) return EdgeKind::kLaunch;
    return edited.plan.shape->gpu[task] != 0 ? EdgeKind::kStream : EdgeKind::kHost;
  }
  const std::uint32_t own = graph.edge_begin[origin + 1] - graph.edge_begin[origin];
  return place < own ? graph.edges[graph.edge_begin[origin] + place].kind : wait;
}

Edit::Edit(const Graph& graph, const Plan& base)
    : graph_(graph),
      base_(base),
      plan_(base),
      removed_(base.tasks()),
      next_number_(static_cast<TaskIndex>(base.tasks())) {
  assert(base.tasks() == graph.tasks.size() && "the plan is of this graph, without inserted tasks");
}

DurationNs Edit::WorkBefore(TaskIndex call) const {
  return DurationNs(HasTrackEdge(call) ? plan_.lag[TrackEdge(call)] : 0);
}

void Edit::SetDuration(TaskIndex task, DurationNs duration) {
  if (removed_[task] && graph_.tasks[task].kind == TaskKind::kCall && duration.ns() != 0) {
    removed_[task] = false;
    --counts_.removed;
  }
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
  if (removed_[task]) return;
  plan_.duration[task] = 0;
  removed_[task] = true;
  ++counts_.removed;
  if (graph_.tasks[task].kind != TaskKind::kGpu) return;
  for (std::uint32_t edge = graph_.edge_begin[task]; edge < graph_.edge_begin[task + 1]; ++edge) {
    plan_.lag[edge] = graph_.edges[edge].kind == EdgeKind::kStream ? 0 : kNoEdge;
  }
}

bool Edit::Waits(TaskIndex return_task) const {
  for (std::uint32_t edge = graph_.edge_begin[return_task];
       edge < graph_.edge_begin[return_task + 1]; ++edge) {
    if (graph_.edges[edge].kind == EdgeKind::kSync && plan_.lag[edge] != kNoEdge) return true;
  }
  return false;
}

void Edit::ReplaceWork(TaskIndex task, DurationNs duration, std::optional<DurationNs> in_16_bits) {
  SetDuration(task, duration);
  other_work_[task] = in_16_bits;
}

void Edit::Detach(TaskIndex task, DurationNs gap) {
  for (std::uint32_t edge = graph_.edge_begin[task]; edge < graph_.edge_begin[task + 1]; ++edge) {
    if (graph_.edges[edge].kind == EdgeKind::kLaunch) {
      plan_.lag[edge] = kNoEdge;
    } else if (plan_.lag[edge] < kContention) {
      plan_.lag[edge] = std::min(plan_.lag[edge], gap.ns());
    }
  }
}

void Edit::CloseGap(TaskIndex task) {
  for (std::uint32_t edge = graph_.edge_begin[task]; edge < graph_.edge_begin[task + 1]; ++edge) {
    const std::int64_t most =
        graph_.edges[edge].kind == EdgeKind::kLaunch ? graph_.launch_latency.ns() : 0;
    plan_.lag[edge] = std::min(plan_.lag[edge], most);
  }
}

void Edit::RemoveWait(TaskIndex return_task) {
  for (std::uint32_t edge = graph_.edge_begin[return_task];
       edge < graph_.edge_begin[return_task + 1]; ++edge) {
    if (graph_.edges[edge].kind == EdgeKind::kSync) plan_.lag[edge] = kNoEdge;
  }
}

TaskIndex Edit::Insert(NewKernel kernel) {
  assert(kernel.before_call < kernel.before_task);
  kernel.number = next_number_++;
  inserted_.push_back(std::move(kernel));
  ++counts_.inserted;
  return inserted_.back().number;
}

TaskIndex Edit::FrontOf(TaskIndex task) const {
  const NewKernel* front = nullptr;
  for (const NewKernel& kernel : inserted_) {
    if (kernel.before_task != task) continue;
    if (front == nullptr || (kernel.in_front && !front->in_front)) front = &kernel;
  }
  return front == nullptr ? task : front->number;
}

TaskIndex Edit::InFrontOf(TaskIndex kernel) const {
  if (kernel < removed_.size()) return kernel;
  const auto found = std::find_if(inserted_.begin(), inserted_.end(),
                                  [&](const NewKernel& k) { return k.number == kernel; });
  return found == inserted_.end() ? kernel : found->before_task;
}

std::optional<std::uint32_t> Edit::FindChannel(std::string_view name) const {
  const auto found = std::find_if(channels_.begin(), channels_.end(),
                                  [&](const Channel& channel) { return channel.name == name; });
  if (found == channels_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - channels_.begin());
}

std::uint32_t Edit::AddChannel(const Channel& channel) {
  if (const std::optional<std::uint32_t> known = FindChannel(channel.name)) return *known;
  channels_.push_back(channel);
  return static_cast<std::uint32_t>(channels_.size() - 1);
}

void Edit::ChannelTask::Scale(double factor) {
  duration = DurationNs(Scaled(duration.ns(), factor));
  latency = DurationNs(Scaled(latency.ns(), factor));
}

TaskIndex Edit::Insert(ChannelTask task) {
  assert(task.channel < channels_.size());
  for ([[maybe_unused]] const Dependency& on : task.after) {
    for ([[maybe_unused]] const Dependency& by : task.before) {
      assert((on.cycles > 0 || by.cycles > 0 || by.task >= removed_.size() || on.task < by.task ||
              on.task >= removed_.size()) &&
             "what waits comes before what it waits for");
    }
  }
  task.number = next_number_++;
  channel_tasks_.push_back(std::move(task));
  ++counts_.inserted;
  return channel_tasks_.back().number;
}

std::vector<Edit::ChannelTask> Edit::Clear(std::uint32_t channel) {
  const auto begin =
      std::stable_partition(channel_tasks_.begin(), channel_tasks_.end(),
                            [&](const ChannelTask& task) { return task.channel != channel; });
  std::vector<ChannelTask> cleared(std::make_move_iterator(begin),
                                   std::make_move_iterator(channel_tasks_.end()));
  channel_tasks_.erase(begin, channel_tasks_.end());
  counts_.inserted -= static_cast<std::int64_t>(cleared.size());
  return cleared;
}

std::vector<bool> Edit::Present() const {
  std::vector<bool> present(next_number_);
  std::fill_n(present.begin(), removed_.size(), true);
  for (const NewKernel& kernel : inserted_) present[kernel.number] = true;
  for (const ChannelTask& task : channel_tasks_) present[task.number] = true;
  return present;
}

std::multimap<TaskIndex, Edit::NewEdge> Edit::NewEdges() const {
  std::multimap<TaskIndex, NewEdge> edges;
  for (const NewKernel& kernel : inserted_) {
    if (kernel.waiting_call != kNoTask)
      edges.insert({kernel.waiting_call, {kernel.number, kWaitTail, 0, false}});
    for (const Dependency& on : kernel.after)
      edges.insert({kernel.number, {on.task, on.lag.ns(), on.cycles, on.from_start}});
  }
  for (const ChannelTask& task : channel_tasks_) {
    for (const Dependency& on : task.after)
      edges.insert({task.number, {on.task, on.lag.ns(), on.cycles, on.from_start}});
    for (const Dependency& by : task.before)
      edges.insert({by.task, {task.number, by.lag.ns(), by.cycles, by.from_start}});
  }
  return edges;
}

EditedPlan Edit::Finish() const {
  std::optional<EditedPlan> edited = TryFinish();
  assert(edited && "an edit made a cycle");
  return std::move(edited).value();
}

std::optional<EditedPlan> Edit::TryFinish() const {
  const PlanShape& old = *plan_.shape;
  const std::size_t tasks = plan_.tasks();
  const auto is_changed = [&](std::size_t task) {
    return old.gpu[task] != 0 && plan_.duration[task] != base_.duration[task];
  };
  EditedPlan out;
  if (inserted_.empty() && channel_tasks_.empty()) {
    out.plan = plan_;
    for (std::size_t task = 0; task < tasks; ++task) out.changed.push_back(is_changed(task));
    out.origin.resize(tasks);
    std::iota(out.origin.begin(), out.origin.end(), TaskIndex{0});
    out.number = out.origin;
    out.removed = removed_;
    if (counts_.removed > 0 && !RecountQueues(graph_, out)) return std::nullopt;
    return out;
  }

  // Everything that goes before a task, in order of insertion: new launches and new kernels.
  struct Arrival {
    TaskIndex before;
    std::uint32_t kernel;
    bool is_launch;
  };
  std::vector<Arrival> arrivals;
  for (std::uint32_t k = 0; k < inserted_.size(); ++k) {
    arrivals.push_back({inserted_[k].before_call, k, true});
    arrivals.push_back({inserted_[k].before_task, k, false});
  }
  std::stable_sort(arrivals.begin(), arrivals.end(), [&](const Arrival& a, const Arrival& b) {
    if (a.before != b.before) return a.before < b.before;
    return inserted_[a.kernel].in_front && !inserted_[b.kernel].in_front;
  });

  // New places of the old tasks and of the new ones by their numbers, and of the new launches.
  std::vector<std::int64_t> place(next_number_, -1), launch_place(inserted_.size());
  {
    std::size_t next = 0;
    for (std::size_t task = 0; task < tasks; ++task) {
      for (; next < arrivals.size() && arrivals[next].before == task; ++next) {
        const std::uint32_t kernel = arrivals[next].kernel;
        (arrivals[next].is_launch ? launch_place[kernel] : place[inserted_[kernel].number]) =
            static_cast<std::int64_t>(task + next);
      }
      place[task] = static_cast<std::int64_t>(task + next);
    }
    // Tasks of channels go last for now.
    for (const ChannelTask& task : channel_tasks_)
      place[task.number] = static_cast<std::int64_t>(tasks + next++);
  }
  const std::multimap<TaskIndex, NewEdge> new_edges = NewEdges();
  const auto moments_before = static_cast<std::int64_t>(2 * tasks);
  const auto moments =
      static_cast<std::int64_t>(2 * (tasks + arrivals.size() + channel_tasks_.size()));
  const auto moved = [&](std::int64_t from) {
    std::int64_t back = 0;
    while (from < 0) {
      from += moments_before;
      ++back;
    }
    return 2 * place[static_cast<std::size_t>(from / 2)] + from % 2 - back * moments;
  };

  auto shape = std::make_shared<PlanShape>();
  shape->steps = old.steps;
  shape->most_cycles_back = old.most_cycles_back;
  shape->periodic = old.periodic;
  if (!channel_tasks_.empty()) {
    for (const Channel& channel : channels_) {
      shape->channels.push_back(channel.policy);
      out.channels.emplace_back(channel.name);
    }
    shape->channel.assign(tasks + arrivals.size(), kNoChannel);
    shape->priority.assign(tasks + arrivals.size(), 0);
  }
  const auto begin_task = [&](std::int64_t duration, bool gpu, std::int32_t step, bool changed,
                              TaskIndex number) {
    shape->edge_begin.push_back(static_cast<std::uint32_t>(shape->from.size()));
    shape->gpu.push_back(gpu ? 1 : 0);
    shape->step.push_back(step);
    out.plan.duration.push_back(duration);
    out.changed.push_back(changed);
    const TaskIndex origin = number < tasks ? number : kNoTask;
    out.origin.push_back(origin);
    out.number.push_back(number);
    out.removed.push_back(origin != kNoTask && removed_[origin]);
  };
  const auto add_edge = [&](std::int64_t from, std::int64_t lag) {
    shape->from.push_back(from);
    out.plan.lag.push_back(lag);
  };
  const auto add_new_edges = [&](TaskIndex task) {
    const auto [first, last] = new_edges.equal_range(task);
    for (auto edge = first; edge != last; ++edge) {
      const NewEdge& on = edge->second;
      assert(place[on.from] >= 0 && "the task was taken off its channel");
      add_edge(2 * place[on.from] + (on.from_start ? 0 : 1) - moments * on.cycles, on.lag);
      shape->most_cycles_back = std::max<std::int32_t>(shape->most_cycles_back, on.cycles);
    }
  };
  auto next = arrivals.begin();
  for (std::size_t task = 0; task < tasks; ++task) {
    const std::uint32_t track = old.edge_begin[task];
    const bool has_track = track < old.edge_begin[task + 1];
    std::int64_t previous = has_track ? moved(old.from[track]) : 0;
    for (; next != arrivals.end() && next->before == task; ++next) {
      const NewKernel& kernel = inserted_[next->kernel];
      if (next->is_launch) {
        begin_task(kernel.launch.ns(), false, old.step[task], false, kNoTask);
        if (has_track) add_edge(previous, kernel.host_work.ns());
        previous = 2 * launch_place[next->kernel] + 1;
      } else {
        begin_task(kernel.duration.ns(), true, old.step[task], true, kernel.number);
        if (has_track) add_edge(previous, kKernelGap);
        add_edge(2 * launch_place[next->kernel], graph_.launch_latency.ns());
        add_new_edges(kernel.number);
        previous = 2 * place[kernel.number] + 1;
      }
    }
    begin_task(plan_.duration[task], old.gpu[task] != 0, old.step[task], is_changed(task),
               static_cast<TaskIndex>(task));
    for (std::uint32_t edge = track; edge < old.edge_begin[task + 1]; ++edge)
      add_edge(edge == track ? previous : moved(old.from[edge]), plan_.lag[edge]);
    add_new_edges(static_cast<TaskIndex>(task));
  }
  for (const ChannelTask& task : channel_tasks_) {
    begin_task(task.duration.ns(), true, task.step, true, task.number);
    shape->channel.push_back(static_cast<std::int32_t>(task.channel));
    shape->priority.push_back(task.priority);
    add_new_edges(task.number);
  }
  shape->edge_begin.push_back(static_cast<std::uint32_t>(shape->from.size()));
  out.plan.shape = std::move(shape);
  // Where something waits now for what it ran ahead of, the recorded order is none any more.
  if (!new_edges.empty() && !PutInOrder(out)) return std::nullopt;
  if (!RecountQueues(graph_, out)) return std::nullopt;
  return out;
}

}  // namespace headroom
