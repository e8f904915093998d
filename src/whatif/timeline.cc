#include "whatif/timeline.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sim/schedule.h"

namespace headroom {
namespace {

constexpr std::string_view kInsertedLaunch = "cudaLaunchKernel";
constexpr std::string_view kInsertedSpan = "inserted kernel";
constexpr std::string_view kGraphLaunch = "cudaGraphLaunch";

constexpr std::int64_t kBehindLastCall = 1'000;

class Predictor {
 public:
  Predictor(const Job& job, const EditedPlan& edited)
      : job_(job), edited_(edited), plan_(edited.plan), shape_(*edited.plan.shape) {
    replayed_step_ns_ = replayer_.Run(plan_).step_ns;
    const int last = replayer_.cycles() - 1;
    now_ = replayer_.Cycle(plan_, last);
    before_ = last > 0 ? replayer_.Cycle(plan_, last - 1) : nullptr;
  }

  Timeline Run() {
    IndexHost();
    IndexStreams();
    IndexGraphs();
    host_delay_ = HostDelay();
    AddCalls();
    out_.channels = edited_.channels;
    AddGpuTasks();
    AddSteps();
    BeginAtZero();
    StretchToStepTime();
    return std::move(out_);
  }

 private:
  bool IsGpu(TaskIndex task) const { return shape_.gpu[task] != 0; }
  bool IsReturn(TaskIndex task) const {
    const TaskIndex origin = edited_.origin[task];
    return origin != kNoTask && job_.graph().tasks[origin].kind == TaskKind::kReturn;
  }

  /// Fills the threads of all calls, the ends of blocking calls, and the first call of each step.
  /// An inserted launch runs on the thread of the next call.
  void IndexHost() {
    thread_.resize(plan_.tasks());
    correlation_.resize(plan_.tasks());
    ThreadId thread;
    for (TaskIndex task = static_cast<TaskIndex>(plan_.tasks()); task-- > 0;) {
      if (IsGpu(task)) continue;
      if (edited_.origin[task] != kNoTask) {
        const std::uint32_t row = job_.graph().tasks[edited_.origin[task]].row;
        thread = job_.store().host_events.thread[row];
        if (IsReturn(task)) return_of_row_[row] = task;
      }
      thread_[task] = thread;
    }
    std::int64_t next = 1;
    for (TaskIndex task = 0; task < plan_.tasks(); ++task) {
      if (IsGpu(task) || IsReturn(task)) continue;
      correlation_[task] = next++;
      TaskIndex& first = first_of_step_.try_emplace(shape_.step[task], task).first->second;
      if (edited_.removed[first] && !edited_.removed[task]) first = task;
    }
  }

  /// Assigns streams. An inserted kernel runs just before another one of its stream.
  void IndexStreams() {
    stream_.resize(plan_.tasks());
    for (TaskIndex task = static_cast<TaskIndex>(plan_.tasks()); task-- > 0;) {
      if (!IsGpu(task) || edited_.OnChannel(task)) continue;
      if (edited_.origin[task] != kNoTask) {
        const std::uint32_t row = job_.graph().tasks[edited_.origin[task]].row;
        stream_[task] = job_.store().gpu_tasks.stream[row];
      }
      const std::uint32_t track = shape_.edge_begin[task];
      if (track == shape_.edge_begin[task + 1] || shape_.from[track] < 0) continue;
      const auto before = static_cast<TaskIndex>(shape_.from[track] / 2);
      if (IsGpu(before)) stream_[before] = stream_[task];
    }
  }

  /// Returns the call that launches a GPU task of the plan; kNoTask if the recording has none.
  TaskIndex LaunchOf(TaskIndex task) const {
    for (std::uint32_t e = shape_.edge_begin[task]; e < shape_.edge_begin[task + 1]; ++e) {
      if (plan_.lag[e] == kNoEdge || shape_.from[e] < 0) continue;
      if (KindOfEdge(job_.graph(), edited_, task, e) == EdgeKind::kLaunch) {
        const auto call = static_cast<TaskIndex>(shape_.from[e] / 2);
        if (!edited_.removed[call]) return call;
      }
    }
    return GraphLaunchOf(task);
  }

  /// Returns the launch of a GPU task that no longer waits for its own launch. It is the last
  /// remaining call before the removed launch, or the first call of the step.
  TaskIndex GraphLaunchOf(TaskIndex task) const {
    const TaskIndex origin = edited_.origin[task];
    if (origin == kNoTask || job_.LaunchOf(origin) == kNoTask) return kNoTask;
    const auto left = left_at_.find(job_.LaunchOf(origin));
    if (left != left_at_.end() && shape_.step[left->second] == shape_.step[task])
      return left->second;
    const auto first = first_of_step_.find(shape_.step[task]);
    return first != first_of_step_.end() ? first->second : kNoTask;
  }

  /// Finds the calls that launch graphs: remaining calls that stand for the removed launches of a
  /// part of the step.
  void IndexGraphs() {
    std::map<ThreadId, TaskIndex> last;  // Last remaining call.
    for (TaskIndex task = 0; task < plan_.tasks(); ++task) {
      if (IsGpu(task) || IsReturn(task)) continue;
      if (!edited_.removed[task]) last[thread_[task]] = task;
      const auto left = last.find(thread_[task]);
      if (edited_.origin[task] != kNoTask && left != last.end())
        left_at_[edited_.origin[task]] = left->second;
    }
    for (TaskIndex task = 0; task < plan_.tasks(); ++task) {
      if (!IsGpu(task) || edited_.removed[task] || edited_.OnChannel(task)) continue;
      const TaskIndex launch = LaunchOf(task);
      if (launch != kNoTask && launch == GraphLaunchOf(task) &&
          edited_.origin[launch] != job_.LaunchOf(edited_.origin[task]))
        graph_launches_.insert(launch);
    }
  }

  void AddCalls() {
    for (TaskIndex task = 0; task < plan_.tasks(); ++task) {
      if (IsGpu(task) || IsReturn(task)) continue;
      const TaskIndex origin = edited_.origin[task];
      const auto first = first_of_step_.find(shape_.step[task]);
      const bool for_graph = edited_.removed[task] && first->second == task;
      if (edited_.removed[task] && !for_graph) continue;
      TimelineSpan span{.name = for_graph || graph_launches_.contains(task) ? kGraphLaunch
                                : origin == kNoTask                         ? kInsertedLaunch
                                                                            : job_.NameOf(origin),
                        .origin = origin,
                        .start_ns = ReadyAt(task),
                        .correlation = correlation_[task],
                        .thread = thread_[task]};
      std::int64_t end = now_[2 * task + 1] + host_delay_;
      if (origin == kNoTask) {
        span.mark = SpanMark::kInserted;
      } else {
        const auto returns = return_of_row_.find(job_.graph().tasks[origin].row);
        if (returns != return_of_row_.end())
          end = std::max(end, now_[2 * returns->second + 1] + host_delay_);
        if (plan_.duration[task] != job_.corrected().duration[origin])
          span.mark = SpanMark::kChanged;
      }
      span.duration_ns = end - span.start_ns;
      out_.calls.push_back(span);
    }
  }

  /// Returns the delay of all calls in the timeline, in ns; 0 if a queue limits the host. A queue
  /// does not limit the host if each call launches a whole step, for example. The host in the
  /// replay then runs ahead by an arbitrary number of cycles. The timeline shows it one cycle
  /// ahead, or less if a GPU task would have to wait.
  std::int64_t HostDelay() const {
    if (before_ == nullptr) return 0;
    std::int64_t calls_begin = INT64_MAX, work_begins = INT64_MAX, slack = INT64_MAX;
    for (TaskIndex task = 0; task < plan_.tasks(); ++task) {
      if (!IsGpu(task)) {
        if (HasQueueEdge(task)) return 0;
        if (!IsReturn(task)) calls_begin = std::min(calls_begin, ReadyAt(task));
      } else if (!edited_.removed[task]) {
        work_begins = std::min(work_begins, before_[2 * task]);
        const TaskIndex launch = LaunchOf(task);
        if (launch == kNoTask) continue;
        slack =
            std::min(slack, now_[2 * task] - now_[2 * launch] - job_.graph().launch_latency.ns());
      }
    }
    if (calls_begin == INT64_MAX || slack == INT64_MAX) return 0;
    return std::max<std::int64_t>(0, std::min(work_begins - calls_begin, slack));
  }

  bool HasQueueEdge(TaskIndex call) const {
    for (std::uint32_t e = shape_.edge_begin[call]; e < shape_.edge_begin[call + 1]; ++e) {
      if (plan_.lag[e] != kNoEdge && KindOfEdge(job_.graph(), edited_, call, e) == EdgeKind::kQueue)
        return true;
    }
    return false;
  }

  /// Returns the time at which the call begins. If the queue is full, the call waits inside, so its
  /// duration includes that wait.
  std::int64_t ReadyAt(TaskIndex task) const {
    const std::int64_t start = now_[2 * task];
    std::int64_t ready = INT64_MIN;
    for (std::uint32_t e = shape_.edge_begin[task]; e < shape_.edge_begin[task + 1]; ++e) {
      if (plan_.lag[e] == kNoEdge) continue;
      if (KindOfEdge(job_.graph(), edited_, task, e) != EdgeKind::kQueue)
        ready = std::max(ready, now_[shape_.from[e]] + plan_.lag[e]);
    }
    return host_delay_ + (ready < 0 ? start : std::min(start, ready));
  }

  TimelineSpan GpuSpan(TaskIndex task) const {
    const TaskIndex origin = edited_.origin[task];
    TimelineSpan span{.name = origin == kNoTask ? kInsertedSpan : job_.NameOf(origin),
                      .origin = origin,
                      .duration_ns = plan_.duration[task]};
    span.mark = origin == kNoTask       ? SpanMark::kInserted
                : edited_.changed[task] ? SpanMark::kChanged
                                        : SpanMark::kNone;
    span.stream = stream_[task];
    if (edited_.OnChannel(task)) {
      span.channel = plan_.shape->channel[task];
      span.name = edited_.channels[static_cast<std::size_t>(span.channel)];
    }
    return span;
  }

  void AddGpuTask(const TimelineSpan& span) {
    (span.channel == kNoChannel ? out_.gpu_tasks : out_.transfers).push_back(span);
  }

  void AddGpuTasks() {
    std::int64_t begin = INT64_MAX;
    for (const TimelineSpan& call : out_.calls) begin = std::min(begin, call.start_ns);
    // Adds tasks of the previous cycle that still run or wait. Their launches are not shown.
    for (TaskIndex task = 0; before_ != nullptr && task < plan_.tasks(); ++task) {
      if (!IsGpu(task) || edited_.removed[task] || before_[2 * task + 1] <= begin) continue;
      TimelineSpan span = GpuSpan(task);
      span.start_ns = before_[2 * task];
      AddGpuTask(span);
    }
    for (TaskIndex task = 0; task < plan_.tasks(); ++task) {
      if (!IsGpu(task) || edited_.removed[task]) continue;
      TimelineSpan span = GpuSpan(task);
      span.start_ns = now_[2 * task];
      const TaskIndex launch = LaunchOf(task);
      if (launch != kNoTask) span.correlation = correlation_[launch];
      AddGpuTask(span);
    }
    // A channel's policy may run transfers in another order than the plan's.
    std::stable_sort(
        out_.transfers.begin(), out_.transfers.end(),
        [](const TimelineSpan& a, const TimelineSpan& b) { return a.start_ns < b.start_ns; });
  }

  /// A step begins with the work before its first call, and ends where the next begins. The last
  /// step ends just after its last call, which may have zero length.
  void AddSteps() {
    const std::vector<StepRow>& rows = job_.steps().steps.list;
    std::int64_t end = INT64_MIN;
    for (const TimelineSpan& call : out_.calls)
      end = std::max(end, call.start_ns + call.duration_ns);
    end += kBehindLastCall;
    if (!shape_.periodic) {
      // The plan was replayed once from an idle state, so the first call begins at 0.
      if (!out_.calls.empty())
        out_.steps.push_back({.duration_ns = end, .thread = out_.calls.front().thread});
      return;
    }
    std::int64_t behind = INT64_MIN;
    for (const auto& [step, task] : first_of_step_) {
      if (step < 0) continue;
      const std::uint32_t track = shape_.edge_begin[task];
      const std::int64_t work =
          track < shape_.edge_begin[task + 1] ? std::max<std::int64_t>(plan_.lag[track], 0) : 0;
      std::int64_t start = ReadyAt(task) - work;
      // Starts after the previous call, which may have zero length.
      start = std::max(start, behind);
      behind = ReadyAt(task) + 1;
      const auto row = static_cast<std::size_t>(step);
      out_.steps.push_back({.index = row < rows.size() ? rows[row].index : step,
                            .start_ns = start,
                            .thread = thread_[task]});
    }
    for (std::size_t i = 0; i < out_.steps.size(); ++i) {
      const std::int64_t next = i + 1 < out_.steps.size() ? out_.steps[i + 1].start_ns : end;
      out_.steps[i].duration_ns = next - out_.steps[i].start_ns;
    }
  }

  /// Stretches the replayed times to the step time that forecasts give (sim/step_scale.h).
  void StretchToStepTime() {
    const double factor = job_.step_scale().FactorOf(plan_, replayed_step_ns_);
    const double before = job_.step_scale().BeforeNs(plan_);
    const auto stretch = [&](auto& span, double start_shift) {
      const auto at = [&](std::int64_t ns) { return factor * static_cast<double>(ns); };
      const std::int64_t end = std::llround(before + at(span.start_ns + span.duration_ns));
      span.start_ns = std::llround(start_shift + at(span.start_ns));
      span.duration_ns = end - span.start_ns;
    };
    for (TimelineStep& step : out_.steps) stretch(step, 0);
    for (auto* const spans : {&out_.calls, &out_.gpu_tasks, &out_.transfers}) {
      for (TimelineSpan& span : *spans) stretch(span, before);
    }
  }

  void BeginAtZero() {
    std::int64_t begin = INT64_MAX;
    const auto each = [&](auto&& visit) {
      for (TimelineStep& step : out_.steps) visit(step.start_ns);
      for (TimelineSpan& call : out_.calls) visit(call.start_ns);
      for (TimelineSpan& task : out_.gpu_tasks) visit(task.start_ns);
      for (TimelineSpan& transfer : out_.transfers) visit(transfer.start_ns);
    };
    each([&](std::int64_t start) { begin = std::min(begin, start); });
    each([&](std::int64_t& start) { start -= begin; });
  }

  const Job& job_;
  const EditedPlan& edited_;
  const Plan& plan_;
  const PlanShape& shape_;
  Replayer replayer_;
  double replayed_step_ns_ = 0;
  const std::int64_t *now_ = nullptr, *before_ = nullptr;
  std::int64_t host_delay_ = 0;            ///< Delay of all host work, in ns.
  std::vector<ThreadId> thread_;           ///< Threads of calls, by task of the plan.
  std::vector<StreamId> stream_;           ///< Streams of GPU tasks, by task of the plan.
  std::vector<std::int64_t> correlation_;  ///< Correlation ids of calls, by task of the plan.
  std::map<std::uint32_t, TaskIndex> return_of_row_;
  std::map<std::int32_t, TaskIndex> first_of_step_;  ///< First remaining call of each step.
  std::map<TaskIndex, TaskIndex> left_at_;           ///< Last remaining call, by the graph's call.
  std::set<TaskIndex> graph_launches_;
  Timeline out_;
};

}  // namespace

Timeline PredictTimeline(const Job& job, const EditedPlan& edited) {
  return Predictor(job, edited).Run();
}

}  // namespace headroom
