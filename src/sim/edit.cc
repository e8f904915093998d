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

/// Gap after an inserted kernel, as after any kernel (measured: 1 to 2.7 us on several GPUs).
constexpr std::int64_t kKernelGap = 1'500;

/// A task that starts this long after its dependencies has waited because other work filled the
/// GPU.
constexpr std::int64_t kContention = 10'000;

/// Time from the end of a kernel to the return of the call that waits for it (measured: 1.5 us).
constexpr std::int64_t kWaitTail = 1'500;

/// Limits each task to 25 hours, so that the sum of 10^5 tasks fits into an integer of nanoseconds.
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
  // An edge that an insertion adds to a task's recorded edges is a wait for another task.
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
  assert(base.tasks() == graph.tasks.size() &&
         "the plan belongs to this graph and has no inserted tasks");
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
  if (const auto added = added_work_.find(call); added != added_work_.end())
    added->second = Scaled(added->second, factor);
}

void Edit::ScalePieces(TaskIndex call, std::span<const double> ns,
                       std::span<const double> factors) {
  if (!HasTrackEdge(call)) return;
  if (pieces_left_.empty()) pieces_left_.assign(graph_.pieces.size(), 1.0);
  double before = 0, after = 0;
  for (std::size_t i = 0; i < ns.size(); ++i) {
    double& left = pieces_left_[graph_.tasks[call].pieces_begin + i];
    before += ns[i] * left;
    left *= factors[i];
    after += ns[i] * left;
  }
  if (before <= 0) return;
  std::int64_t& lag = plan_.lag[TrackEdge(call)];
  const auto known = added_work_.find(call);
  const std::int64_t added = known == added_work_.end() ? 0 : std::min(known->second, lag);
  lag = added + Scaled(lag - added, after / before);
}

void Edit::AddWorkBefore(TaskIndex call, DurationNs work) {
  if (!HasTrackEdge(call)) return;
  std::int64_t& lag = plan_.lag[TrackEdge(call)];
  lag = std::max<std::int64_t>(0, lag + work.ns());
  if (work.ns() > 0) added_work_[call] += work.ns();
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

void Edit::ScaleUnrecordedWaits(TaskIndex task, double factor) {
  for (std::uint32_t edge = graph_.edge_begin[task]; edge < graph_.edge_begin[task + 1]; ++edge) {
    const std::int64_t wait = std::min(plan_.lag[edge], UnrecordedWaitOf(graph_, edge).ns());
    if (wait > 0) plan_.lag[edge] += Scaled(wait, factor) - wait;
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

void Edit::Withdraw(const std::function<bool(TaskIndex before)>& gone) {
  std::unordered_set<TaskIndex> needed;
  const auto need = [&](const std::vector<Dependency>& dependencies) {
    for (const Dependency& on : dependencies) needed.insert(on.task);
  };
  for (const NewKernel& kernel : inserted_) need(kernel.after);
  for (const ChannelTask& task : channel_tasks_) {
    need(task.after);
    need(task.before);
  }
  counts_.inserted -= static_cast<std::int64_t>(std::erase_if(inserted_, [&](const auto& kernel) {
    return gone(kernel.before_task) && !needed.contains(kernel.number);
  }));
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
             "a task comes after the tasks that it waits for");
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
  assert(edited && "the edit created a cycle");
  return std::move(edited).value();
}

EditedPlan Edit::WithoutInsertions() const {
  EditedPlan out;
  out.plan = plan_;
  out.origin.resize(plan_.tasks());
  std::iota(out.origin.begin(), out.origin.end(), TaskIndex{0});
  for (const TaskIndex task : out.origin) out.changed.push_back(HasChangedGpuDuration(task));
  out.number = out.origin;
  out.removed = removed_;
  return out;
}

/// Places the inserted tasks among the old ones, renumbers all tasks by place, and builds the plan.
class Edit::Assembly {
 public:
  explicit Assembly(const Edit& edit)
      : edit_(edit),
        old_(*edit.plan_.shape),
        tasks_(edit.plan_.tasks()),
        new_edges_(edit.NewEdges()),
        shape_(std::make_shared<PlanShape>()) {
    FindArrivals();
    PlaceTasks();
  }

  EditedPlan Make() &&;
  bool has_new_edges() const { return !new_edges_.empty(); }

 private:
  /// A new launch or kernel that is placed before an old task.
  struct Arrival {
    TaskIndex before;
    std::uint32_t kernel;  ///< Index into `inserted_`.
    bool is_launch;
  };

  void FindArrivals();
  void PlaceTasks();
  void BeginShape();
  /// Adds the new tasks before `task`. Returns the moment that `task` then follows on its track.
  std::int64_t AddArrivals(TaskIndex task);
  void AddOldTask(TaskIndex task, std::int64_t follows);
  void AddChannelTasks();

  /// @param number  number of the task in the edit; kNoTask for a launch
  void BeginTask(std::int64_t duration, bool gpu, std::int32_t step, bool changed,
                 TaskIndex number);
  void AddEdge(std::int64_t from, std::int64_t lag) {
    shape_->from.push_back(from);
    out_.plan.lag.push_back(lag);
  }
  void AddNewEdges(TaskIndex number);
  /// Returns the moment in the new numbering. A moment is twice the task's number, plus one for its
  /// end; negative moments belong to earlier cycles.
  std::int64_t Moved(std::int64_t moment) const;

  const Edit& edit_;
  const PlanShape& old_;
  const std::size_t tasks_;  ///< Number of old tasks.
  const std::multimap<TaskIndex, NewEdge> new_edges_;
  std::vector<Arrival> arrivals_;  ///< In order of the tasks that they precede.
  std::size_t next_arrival_ = 0;
  /// Indexed by number in the edit; -1 if the task was cleared from its channel.
  std::vector<std::int64_t> place_;
  std::vector<std::int64_t> launch_place_;  ///< Places of launches, by kernel.
  std::int64_t moments_ = 0;                ///< Moments per cycle.
  std::shared_ptr<PlanShape> shape_;
  EditedPlan out_;
};

void Edit::Assembly::FindArrivals() {
  const std::vector<NewKernel>& inserted = edit_.inserted_;
  for (std::uint32_t k = 0; k < inserted.size(); ++k) {
    arrivals_.push_back({inserted[k].before_call, k, true});
    arrivals_.push_back({inserted[k].before_task, k, false});
  }
  std::stable_sort(arrivals_.begin(), arrivals_.end(), [&](const Arrival& a, const Arrival& b) {
    if (a.before != b.before) return a.before < b.before;
    return inserted[a.kernel].in_front && !inserted[b.kernel].in_front;
  });
}

void Edit::Assembly::PlaceTasks() {
  place_.assign(edit_.next_number_, -1);
  launch_place_.resize(edit_.inserted_.size());
  std::size_t next = 0;
  for (std::size_t task = 0; task < tasks_; ++task) {
    for (; next < arrivals_.size() && arrivals_[next].before == task; ++next) {
      const std::uint32_t kernel = arrivals_[next].kernel;
      (arrivals_[next].is_launch ? launch_place_[kernel] : place_[edit_.inserted_[kernel].number]) =
          static_cast<std::int64_t>(task + next);
    }
    place_[task] = static_cast<std::int64_t>(task + next);
  }
  // Initially places channel tasks at the end; PutInOrder() moves them.
  for (const ChannelTask& task : edit_.channel_tasks_)
    place_[task.number] = static_cast<std::int64_t>(tasks_ + next++);
  moments_ =
      static_cast<std::int64_t>(2 * (tasks_ + arrivals_.size() + edit_.channel_tasks_.size()));
}

std::int64_t Edit::Assembly::Moved(std::int64_t moment) const {
  const auto moments_before = static_cast<std::int64_t>(2 * tasks_);
  std::int64_t back = 0;
  while (moment < 0) {
    moment += moments_before;
    ++back;
  }
  return 2 * place_[static_cast<std::size_t>(moment / 2)] + moment % 2 - back * moments_;
}

void Edit::Assembly::BeginShape() {
  shape_->steps = old_.steps;
  shape_->most_cycles_back = old_.most_cycles_back;
  shape_->periodic = old_.periodic;
  if (edit_.channel_tasks_.empty()) return;
  for (const Channel& channel : edit_.channels_) {
    shape_->channels.push_back(channel.policy);
    out_.channels.emplace_back(channel.name);
  }
  shape_->channel.assign(tasks_ + arrivals_.size(), kNoChannel);
  shape_->priority.assign(tasks_ + arrivals_.size(), 0);
}

void Edit::Assembly::BeginTask(std::int64_t duration, bool gpu, std::int32_t step, bool changed,
                               TaskIndex number) {
  shape_->edge_begin.push_back(static_cast<std::uint32_t>(shape_->from.size()));
  shape_->gpu.push_back(gpu ? 1 : 0);
  shape_->step.push_back(step);
  out_.plan.duration.push_back(duration);
  out_.changed.push_back(changed);
  const TaskIndex origin = number < tasks_ ? number : kNoTask;
  out_.origin.push_back(origin);
  out_.number.push_back(number);
  out_.removed.push_back(origin != kNoTask && edit_.removed_[origin]);
}

void Edit::Assembly::AddNewEdges(TaskIndex number) {
  const auto [first, last] = new_edges_.equal_range(number);
  for (auto edge = first; edge != last; ++edge) {
    const NewEdge& on = edge->second;
    assert(place_[on.from] >= 0 && "the dependency was cleared from its channel");
    AddEdge(2 * place_[on.from] + (on.from_start ? 0 : 1) - moments_ * on.cycles, on.lag);
    shape_->most_cycles_back = std::max<std::int32_t>(shape_->most_cycles_back, on.cycles);
  }
}

std::int64_t Edit::Assembly::AddArrivals(TaskIndex task) {
  const std::uint32_t track = old_.edge_begin[task];
  const bool has_track = track < old_.edge_begin[task + 1];
  std::int64_t previous = has_track ? Moved(old_.from[track]) : 0;
  for (; next_arrival_ < arrivals_.size() && arrivals_[next_arrival_].before == task;
       ++next_arrival_) {
    const Arrival& arrival = arrivals_[next_arrival_];
    const NewKernel& kernel = edit_.inserted_[arrival.kernel];
    if (arrival.is_launch) {
      BeginTask(kernel.launch.ns(), false, old_.step[task], false, kNoTask);
      if (has_track) AddEdge(previous, kernel.host_work.ns());
      previous = 2 * launch_place_[arrival.kernel] + 1;
    } else {
      BeginTask(kernel.duration.ns(), true, old_.step[task], true, kernel.number);
      if (has_track) AddEdge(previous, kKernelGap);
      AddEdge(2 * launch_place_[arrival.kernel], edit_.graph_.launch_latency.ns());
      AddNewEdges(kernel.number);
      previous = 2 * place_[kernel.number] + 1;
    }
  }
  return previous;
}

void Edit::Assembly::AddOldTask(TaskIndex task, std::int64_t follows) {
  BeginTask(edit_.plan_.duration[task], old_.gpu[task] != 0, old_.step[task],
            edit_.HasChangedGpuDuration(task), task);
  const std::uint32_t track = old_.edge_begin[task];
  for (std::uint32_t edge = track; edge < old_.edge_begin[task + 1]; ++edge)
    AddEdge(edge == track ? follows : Moved(old_.from[edge]), edit_.plan_.lag[edge]);
  AddNewEdges(task);
}

void Edit::Assembly::AddChannelTasks() {
  for (const ChannelTask& task : edit_.channel_tasks_) {
    BeginTask(task.duration.ns(), true, task.step, true, task.number);
    shape_->channel.push_back(static_cast<std::int32_t>(task.channel));
    shape_->priority.push_back(task.priority);
    AddNewEdges(task.number);
  }
}

EditedPlan Edit::Assembly::Make() && {
  BeginShape();
  for (TaskIndex task = 0; task < tasks_; ++task) AddOldTask(task, AddArrivals(task));
  AddChannelTasks();
  shape_->edge_begin.push_back(static_cast<std::uint32_t>(shape_->from.size()));
  out_.plan.shape = std::move(shape_);
  return std::move(out_);
}

std::optional<EditedPlan> Edit::TryFinish() const {
  if (inserted_.empty() && channel_tasks_.empty()) {
    EditedPlan out = WithoutInsertions();
    if (counts_.removed > 0 && !RecountQueues(graph_, out)) return std::nullopt;
    return out;
  }
  Assembly assembly(*this);
  const bool has_new_edges = assembly.has_new_edges();
  EditedPlan out = std::move(assembly).Make();
  // If a task now waits for one that it preceded, the recorded order is invalid.
  if (has_new_edges && !PutInOrder(out)) return std::nullopt;
  if (!RecountQueues(graph_, out)) return std::nullopt;
  return out;
}

}  // namespace headroom
