#include "graph/build_graph.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/gpu/syncs.h"
#include "analysis/names/feeders.h"
#include "analysis/verdict/health.h"
#include "analysis/verdict/remedies.h"
#include "base/statistics.h"
#include "graph/host_chain.h"
#include "graph/host_waits.h"
#include "graph/launch_queue.h"
#include "graph/stream_waits.h"
#include "store/natural_sort.h"
#include "store/trace_formats.h"

namespace headroom {
namespace {

/// Default cost of a blocking call, if no call of its name returned without waiting (measured: 2
/// us).
constexpr DurationNs kUsualBlockingCall{2'000};

/// After a wait of kLongWait, the host is slower for kSlowAfterWait. Measured on one H200 machine:
/// 1.3 to 1.6 times slower, because its caches are cold and its clock is low.
constexpr DurationNs kLongWait{50'000}, kSlowAfterWait{3'000'000};

/// Time from the end of a task until another stream or the host continues (measured: 1.5 us).
constexpr DurationNs kUsualTail{1'500};

/// Default launch latency, if no task started on an idle stream (measured: 5 to 12 us).
constexpr DurationNs kUsualLatency{6'000};
/// A task that starts later than this after its launch waited for a busy GPU, even if the trace
/// shows no other work.
constexpr DurationNs kMaxLatency{1'000'000};

/// Tolerance of recorded times: a dependency may seem to end up to this long after the task starts.
constexpr DurationNs kTimesDiffer{500};

/// Python between two operators takes microseconds. A longer interval outside the framework is not
/// dispatch. Without a recorded event, it counts as unexplained.
constexpr DurationNs kLongSilence{200'000};

DurationNs MedianOf(std::vector<DurationNs> values, DurationNs otherwise) {
  if (values.empty()) return otherwise;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string HowToRecordGpu(const TraceStore& store) {
  // If damage removed recorded GPU work, the damage has a separate remedy.
  if (!DamageOf(store).empty()) return {};
  const std::string_view format = store.metadata.recorded_as();
  const bool has_gpu = store.gpu_tasks.rows() > 0;
  // A profiler that recorded host and GPU work but no launches, e.g. of TPU programs, has no
  // option to record launches.
  if (format != kKinetoFormat && has_gpu && store.host_events.rows() > 0) return {};
  if (format != kKinetoFormat)
    return "; " + RemedyOf(has_gpu ? ImportIssue::kNoHost : ImportIssue::kNoGpu, format);
  return "; record with both CPU and CUDA activities, or with `headroom record` on a machine "
         "with a GPU";
}

/// A task before all tasks are sorted.
struct Draft {
  Task task;
  TimeNs key;  ///< Sort key.
  /// Order among equal keys: calls and returns in host order, then GPU tasks.
  std::uint32_t order = 0;
  std::vector<Edge> edges;  ///< Their `from` is an index of drafts.

  static constexpr std::uint32_t kOfGpu = UINT32_MAX;
};

class GraphBuilder {
 public:
  GraphBuilder(const TraceStore& store, NameFacts& names, const StepAnalysis& steps)
      : store_(store), names_(names), steps_(steps) {}

  Result<Graph> Build() {
    FindWindow();
    const ThreadId loop = FindLoop();
    chains_ = FindHostChains(store_, steps_.process, loop, window_);
    const bool on_cpu = RunsOnCpu();
    if (on_cpu) {
      chains_ = {FindChainWithoutCalls(store_, steps_.process, loop, window_, steps_.hosts,
                                       FindFeeders(store_, names_))};
    }
    IndexCalls();
    FindTasks();
    if (launched_.empty() && (!on_cpu || chains_.front().calls.empty())) {
      return NothingToReplay(store_);
    }
    FindQueue();
    AddCalls();
    AddTasks();
    AddQueueEdges();
    AddReturns();
    return Assemble();
  }

 private:
  /// Returns true for a recording of a framework's operators without GPU work and without calls.
  bool RunsOnCpu() const {
    // Damage may have removed GPU work.
    if (store_.gpu_tasks.rows() > 0 || window_.end <= window_.start || !DamageOf(store_).empty())
      return false;
    return std::all_of(chains_.begin(), chains_.end(),
                       [](const HostChain& chain) { return chain.calls.empty(); });
  }

  void FindWindow() {
    if (!steps_.hosts.empty()) {
      window_ = {steps_.hosts.front().start, steps_.hosts.front().end};
      for (const Interval& host : steps_.hosts) {
        window_.start = std::min(window_.start, host.start);
        window_.end = std::max(window_.end, host.end);
      }
      return;
    }
    window_ = {TimeNs(INT64_MAX), TimeNs(INT64_MIN)};
    for (std::size_t row = 0; row < store_.host_events.rows(); ++row) {
      window_.start = std::min(window_.start, store_.host_events.start[row]);
      window_.end = std::max(window_.end, store_.HostEnd(HostEventId(row)));
    }
  }

  /// Returns true if the autograd engine runs a thread's events: nodes of the backward pass, and no
  /// events that only a loop has.
  bool IsAutogradThread(ThreadId thread) {
    const TraceStore::RowRange range = store_.HostEventsOf(thread);
    bool has_nodes = false;
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      if (store_.host_events.kind[row] != HostEventKind::kOperator) continue;
      const HostRoles roles = names_.Roles(store_.host_events.name[row]);
      if (roles.Has(HostRole::kOptimizer) || roles.Has(HostRole::kDataWait)) return false;
      if (roles.Has(HostRole::kBackward)) {
        has_nodes = true;
      } else if (!has_nodes && store_.host_events.sequence[row] >= 0) {
        return false;  // A forward operator precedes all nodes.
      }
    }
    return has_nodes;
  }

  /// Signs of the loop's thread when no steps are annotated.
  struct LoopSigns {
    bool is_autograd = true;
    /// Time in annotations, which a program records only on its own threads.
    DurationNs marked = {};
    TimeNs first;  ///< Start of the first launch; the forward pass comes first.

    auto Rank() const { return std::tuple(!is_autograd, marked.ns() > 0, -first.ns()); }
  };

  /// Returns the likely thread of the loop, if no steps are annotated. The number of calls does not
  /// suffice, because the autograd thread makes as many.
  ThreadId GuessLoop() {
    const auto& events = store_.host_events;
    std::vector<std::int64_t> launches(store_.threads.rows());
    std::vector<LoopSigns> signs(store_.threads.rows(),
                                 LoopSigns{.marked = {}, .first = window_.end});
    std::int64_t most = 0;
    for (std::size_t t = 0; t < signs.size(); ++t) {
      if (steps_.process.valid() && store_.threads.process[t] != steps_.process) continue;
      const TraceStore::RowRange range = store_.HostEventsOf(ThreadId(t));
      TimeNs marked_until(INT64_MIN);
      for (std::uint32_t row = range.first; row < range.last; ++row) {
        if (events.start[row] < window_.start || events.start[row] >= window_.end) continue;
        const HostEventKind kind = events.kind[row];
        if (kind == HostEventKind::kAnnotation && events.start[row] >= marked_until) {
          marked_until = store_.HostEnd(HostEventId(row));
          signs[t].marked += events.duration[row];
        }
        if (kind != HostEventKind::kRuntimeCall && kind != HostEventKind::kDriverCall) continue;
        const HostRoles roles = names_.Roles(events.name[row]);
        if (!roles.Has(HostRole::kKernelLaunch) && !roles.Has(HostRole::kGraphLaunch)) continue;
        signs[t].first = std::min(signs[t].first, events.start[row]);
        most = std::max(most, ++launches[t]);
      }
    }
    if (most == 0) return ThreadId();
    const auto busiest = std::max_element(launches.begin(), launches.end()) - launches.begin();
    const ProcessId process = store_.threads.process[static_cast<std::size_t>(busiest)];
    constexpr std::int64_t kFarFewer = 8;  // Helper threads of a loop launch few tasks.
    ThreadId loop;
    for (std::size_t t = 0; t < signs.size(); ++t) {
      if (launches[t] * kFarFewer < most || store_.threads.process[t] != process) continue;
      signs[t].is_autograd = IsAutogradThread(ThreadId(t));
      if (!loop.valid() || signs[t].Rank() > signs[loop.index()].Rank()) loop = ThreadId(t);
    }
    return loop;
  }

  /// Returns the thread whose annotations are the steps, else the most likely thread.
  ThreadId FindLoop() {
    for (std::size_t row = 0; row < store_.steps.rows(); ++row) {
      const ThreadId thread = store_.steps.thread[row];
      if (store_.steps.start[row] >= window_.start && store_.steps.start[row] < window_.end &&
          (!steps_.process.valid() || store_.threads.process[thread.index()] == steps_.process))
        return thread;
    }
    return GuessLoop();
  }

  std::int32_t StepAt(TimeNs when) const {
    const auto next =
        std::upper_bound(steps_.hosts.begin(), steps_.hosts.end(), when,
                         [](TimeNs t, const Interval& host) { return t < host.start; });
    if (next == steps_.hosts.begin() || when >= (next - 1)->end) return -1;
    return static_cast<std::int32_t>(next - steps_.hosts.begin()) - 1;
  }

  void IndexCalls() {
    draft_of_call_.assign(store_.host_events.rows(), kNoTask);
    TaskIndex next = 0;
    for (const HostChain& chain : chains_) {
      for (const HostCall& call : chain.calls) draft_of_call_[call.event.index()] = next++;
    }
    drafts_.resize(next);
    draft_around_ = store_.InheritFromParents(draft_of_call_, kNoTask);
  }

  /// Returns the draft of the call, or of the enclosing call.
  TaskIndex DraftOf(HostEventId call) const { return draft_around_[call.index()]; }

  /// Collects the GPU tasks of the window, sorted by start: the tasks that its calls launched, and
  /// between them tasks without a launch. The latter follow the previous task on their stream.
  void FindTasks() {
    const auto& tasks = store_.gpu_tasks;
    std::vector<TimeNs> first(store_.streams.rows(), TimeNs(INT64_MAX));
    std::vector<TimeNs> last(store_.streams.rows(), TimeNs(INT64_MIN));
    for (std::size_t i = 0; i < tasks.rows(); ++i) {
      if (!tasks.launch[i].valid() || DraftOf(tasks.launch[i]) == kNoTask) continue;
      const std::size_t stream = tasks.stream[i].index();
      first[stream] = std::min(first[stream], tasks.start[i]);
      last[stream] = std::max(last[stream], tasks.start[i]);
    }
    for (std::size_t i = 0; i < tasks.rows(); ++i) {
      const HostEventId launch = tasks.launch[i];
      if (launch.valid() && DraftOf(launch) != kNoTask) {
        included_.emplace_back(i);
        launched_.emplace_back(i);
      } else if (!launch.valid() && tasks.start[i] > first[tasks.stream[i].index()] &&
                 tasks.start[i] < last[tasks.stream[i].index()]) {
        included_.emplace_back(i);
        ++graph_.ledger.anchored_tasks;
      }
    }
    NaturalStableSort(launched_, [&](GpuTaskId a, GpuTaskId b) {
      return store_.host_events.start[tasks.launch[a.index()].index()] <
             store_.host_events.start[tasks.launch[b.index()].index()];
    });
  }

  /// Lists the commands that calls add to the queues of streams, and finds calls that waited for
  /// space.
  void FindQueue() {
    const auto& tasks = store_.gpu_tasks;
    // First task by draft of the call.
    std::vector<GpuTaskId> first(drafts_.size());
    for (const GpuTaskId task : included_) {
      if (!tasks.launch[task.index()].valid()) continue;
      GpuTaskId& of_call = first[DraftOf(tasks.launch[task.index()])];
      if (!of_call.valid()) of_call = task;
    }
    // Adds the tasks that were in the queues when recording began.
    for (std::size_t i = 0; i < steps_.before_recording.size(); ++i) {
      if (steps_.before_recording[i] && tasks.start[i] > window_.start)
        Issue({tasks.stream[i], window_.start, window_.start, tasks.start[i]}, kNoTask);
    }
    for (const HostChain& chain : chains_) {
      StreamId stream;  // Stream of the chain's last launch.
      std::vector<std::pair<HostCall, TaskIndex>> waits;
      for (const HostCall& call : chain.calls) {
        const TaskIndex draft = draft_of_call_[call.event.index()];
        const std::string_view name = store_.Text(store_.host_events.name[call.event.index()]);
        if (first[draft].valid()) {
          stream = tasks.stream[first[draft].index()];
          // The trace does not record which stream waits. Most likely it is the next stream with a
          // launch.
          for (const auto& [wait, wait_draft] : waits)
            Issue({stream, wait.start, wait.end, std::nullopt}, wait_draft);
          waits.clear();
          Issue({stream, call.start, call.end, tasks.start[first[draft].index()]}, draft);
          uses_hip_ |= name.starts_with("hip");
        } else if (name.find("EventRecord") != std::string_view::npos && stream.valid()) {
          Issue({stream, call.start, call.end, std::nullopt}, draft);
        } else if (name.find("StreamWaitEvent") != std::string_view::npos) {
          waits.emplace_back(call, draft);
        }
      }
    }
    std::vector<std::size_t> order(commands_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    NaturalStableSort(order, [&](std::size_t a, std::size_t b) {
      return commands_[a].call_start < commands_[b].call_start;
    });
    std::vector<QueuedCommand> commands;
    std::vector<TaskIndex> drafts;
    for (const std::size_t i : order) {
      commands.push_back(commands_[i]);
      drafts.push_back(draft_of_command_[i]);
    }
    commands_ = std::move(commands);
    draft_of_command_ = std::move(drafts);

    // AMD's runtime queued 1,848 commands without a wait, so the default depth is unlimited.
    queue_ = FindLaunchQueue(commands_, uses_hip_ ? 0 : kUsualQueueDepth);
    graph_.queue_depth = queue_.depth;
    graph_.queue_depth_measured = queue_.measured;
    blocked_.assign(drafts_.size(), false);
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      if (draft_of_command_[i] == kNoTask) continue;
      blocked_[draft_of_command_[i]] = queue_.blocked[i];
    }
  }

  void Issue(const QueuedCommand& command, TaskIndex draft) {
    commands_.push_back(command);
    draft_of_command_.push_back(draft);
  }

  /// Returns the median duration by name of calls that do not wait. Prefers calls that do not
  /// follow a long wait.
  std::map<StringId, DurationNs> BaseCosts(const std::vector<bool>& blocking) const {
    std::map<StringId, std::vector<DurationNs>> seen, slow;
    for (const HostChain& chain : chains_) {
      TimeNs slow_until(INT64_MIN);
      for (const HostCall& call : chain.calls) {
        const bool waits =
            blocked_[draft_of_call_[call.event.index()]] || blocking[call.event.index()];
        if (waits) {
          slow_until = std::max(slow_until, SlowUntil(call));
          continue;
        }
        auto& durations = call.start < slow_until ? slow : seen;
        durations[store_.host_events.name[call.event.index()]].push_back(call.end - call.start);
      }
    }
    seen.merge(slow);  // Keeps the names that `seen` already has.
    std::map<StringId, DurationNs> costs;
    for (auto& [name, durations] : seen) costs[name] = MedianOf(std::move(durations), {});
    return costs;
  }

  /// Returns the time until which the host is slow after a call that waits.
  static TimeNs SlowUntil(const HostCall& call) {
    return call.end - call.start > kLongWait ? call.end + kSlowAfterWait : TimeNs(INT64_MIN);
  }

  /// Returns true if the framework does the work before a call, without long intervals of Python,
  /// native code, a loader or no event.
  bool IsDispatch(const Task& call) const {
    for (std::uint32_t p = call.pieces_begin; p < call.pieces_end; ++p) {
      const HostPiece& piece = graph_.pieces[p];
      const HostEventKind owner = piece.owner.valid() ? store_.host_events.kind[piece.owner.index()]
                                                      : HostEventKind::kOther;
      const bool of_framework = owner == HostEventKind::kOperator ||
                                owner == HostEventKind::kRuntimeCall ||
                                owner == HostEventKind::kDriverCall;
      if (!of_framework && piece.length() > kLongSilence) return false;
    }
    return true;
  }

  void AddCalls() {
    std::vector<bool> blocking(store_.host_events.rows());
    for (const HostEventId call : FindBlockingCalls(store_, names_, steps_.process))
      blocking[call.index()] = true;
    const std::map<StringId, DurationNs> costs = BaseCosts(blocking);
    const HostWaits waits(store_, launched_);
    for (const HostChain& chain : chains_) AddChain(chain, blocking, costs, waits);
  }

  void AddChain(const HostChain& chain, const std::vector<bool>& blocking,
                const std::map<StringId, DurationNs>& costs, const HostWaits& waits) {
    if (chain.calls.empty()) return;
    // Work after the last call comes before the first call of the next cycle.
    const auto offset = static_cast<std::uint32_t>(graph_.pieces.size());
    const std::uint32_t tail_begin = chain.calls.back().pieces_end;
    graph_.pieces.insert(graph_.pieces.end(), chain.pieces.begin() + tail_begin,
                         chain.pieces.end());
    const auto body = static_cast<std::uint32_t>(graph_.pieces.size());
    graph_.pieces.insert(graph_.pieces.end(), chain.pieces.begin(),
                         chain.pieces.begin() + tail_begin);
    graph_.ledger.host += window_.end - window_.start;

    TaskIndex previous = kNoTask;  // Previous draft of the chain: a call, or the return of a
                                   // blocking call.
    TimeNs slow_until(INT64_MIN);
    for (std::size_t i = 0; i < chain.calls.size(); ++i) {
      const HostCall& call = chain.calls[i];
      const TaskIndex index = draft_of_call_[call.event.index()];
      Draft& draft = drafts_[index];
      draft.task = {.kind = TaskKind::kCall,
                    .row = call.event.index(),
                    .step = StepAt(call.start),
                    .start = call.start,
                    .duration = call.end - call.start,
                    .pieces_begin = i == 0 ? offset : body + call.pieces_begin,
                    .pieces_end = body + call.pieces_end};
      if (call.start < slow_until) {
        draft.task.slow_work = IsDispatch(draft.task);
        draft.task.slow_call = !blocked_[index] && !blocking[call.event.index()];
      }
      draft.key = call.start;
      draft.order = host_drafts_++;
      Edge edge{.from = previous,
                .kind = call.handed_over ? EdgeKind::kHandOver : EdgeKind::kHost,
                .provenance = call.handed_over ? Provenance::kInferred : Provenance::kRecorded};
      for (std::uint32_t p = draft.task.pieces_begin; p < draft.task.pieces_end; ++p) {
        edge.lag += graph_.pieces[p].length();
        if (!graph_.pieces[p].owner.valid() && graph_.pieces[p].length() > kLongSilence)
          graph_.ledger.unexplained_host += graph_.pieces[p].length();
      }
      draft.edges.push_back(edge);  // The track's edge comes first. The `from` of the first call's
                                    // edge is set below.
      previous = index;
      if (blocked_[index] || blocking[call.event.index()])
        slow_until = std::max(slow_until, SlowUntil(call));

      const DurationNs whole = draft.task.duration;
      if (blocked_[index]) {
        const auto cost = costs.find(store_.host_events.name[call.event.index()]);
        if (cost != costs.end()) draft.task.duration = std::min(whole, cost->second);
        graph_.ledger.waits += whole - draft.task.duration;
        // The wait is inside the call. The call's task is at the end of a full queue, so its start
        // does not show when the wait ended.
        draft.task.start = draft.key = call.end - draft.task.duration;
      } else if (blocking[call.event.index()]) {
        previous = AddReturn(call, index, costs, waits.Of(call.event));
      }
    }
    Edge& first = drafts_[draft_of_call_[chain.calls.front().event.index()]].edges.front();
    first.from = previous;
    first.cycles_back = 1;
  }

  /// Adds the return of a blocking call. Returns its draft.
  TaskIndex AddReturn(const HostCall& call, TaskIndex index,
                      const std::map<StringId, DurationNs>& costs, const HostWait& wait) {
    const DurationNs whole = call.end - call.start;
    TimeNs done(INT64_MIN);
    for (const GpuTaskId task : wait.tasks) done = std::max(done, store_.TaskEnd(task));
    DurationNs own = whole;
    if (done > call.start) {
      const auto cost = costs.find(store_.host_events.name[call.event.index()]);
      own = std::min(whole, cost != costs.end() ? std::min(cost->second, kUsualBlockingCall)
                                                : kUsualBlockingCall);
      graph_.ledger.waits += whole - own;
    }
    drafts_[index].task.duration = own;
    Draft back;
    back.task = {.kind = TaskKind::kReturn,
                 .row = call.event.index(),
                 .step = StepAt(call.start),
                 .start = call.end,
                 .duration = DurationNs(0)};
    back.key = call.end;
    back.order = host_drafts_++;
    back.edges.push_back({.from = index});
    const auto draft = static_cast<TaskIndex>(drafts_.size());
    for (const GpuTaskId task : wait.tasks) {
      const DurationNs tail = call.end - store_.TaskEnd(task);
      waits_of_returns_.push_back(
          {draft, task, wait.provenance,
           store_.TaskEnd(task) == done && done > call.start ? tail : std::min(tail, kUsualTail)});
    }
    drafts_.push_back(std::move(back));
    return draft;
  }

  /// Measures two medians: the time from a launch to its task on an idle GPU, and the gap between a
  /// task and the next task on its stream if the next task waited for it.
  void MeasureLags() {
    std::vector<TimeNs> end(store_.streams.rows(), TimeNs(INT64_MIN));
    TimeNs busy_until(INT64_MIN);  // Earlier work may still run.
    for (std::size_t i = 0; i < steps_.before_recording.size(); ++i) {
      if (steps_.before_recording[i])
        busy_until = std::max(busy_until, store_.TaskEnd(GpuTaskId(i)));
    }
    std::vector<DurationNs> latencies, gaps;
    for (const GpuTaskId task : included_) {
      TimeNs& previous = end[store_.gpu_tasks.stream[task.index()].index()];
      const TimeNs start = store_.gpu_tasks.start[task.index()];
      if (const HostEventId launch = store_.gpu_tasks.launch[task.index()]; launch.valid()) {
        const TimeNs call = store_.host_events.start[launch.index()];
        if (busy_until < call) {
          // Work launched before the window may delay the task without being part of the graph.
          if (start - call < kMaxLatency) latencies.push_back(start - call);
        } else if (previous == busy_until && previous - call > kUsualLatency) {
          gaps.push_back(start - previous);
        }
      }
      previous = std::max(previous, store_.TaskEnd(task));
      busy_until = std::max(busy_until, previous);
    }
    latency_ = std::max(DurationNs(0), MedianOf(std::move(latencies), kUsualLatency));
    gap_ = MedianOf(std::move(gaps), kUsualTail);
    graph_.launch_latency = latency_;
  }

  /// The newest task of a stream.
  struct Last {
    TaskIndex first_draft = kNoTask, draft = kNoTask;
    TimeNs end, key;
  };

  TimeNs EndOf(TaskIndex gpu_draft) const {
    return store_.TaskEnd(GpuTaskId(drafts_[gpu_draft].task.row));
  }

  /// Returns the task of another stream that ended last, shortly before `start` and after
  /// `arrival`. A task that starts late without a known cause probably waited for it. Traces of
  /// some GPUs record no waits between streams.
  ///
  /// @param own  newest task of the waiting stream, which is excluded
  TaskIndex EndedJustBefore(TimeNs start, TimeNs arrival, const std::vector<Last>& streams,
                            TaskIndex own) const {
    const TimeNs latest = start + kTimesDiffer;
    TaskIndex best = kNoTask;
    for (const Last& stream : streams) {
      TaskIndex task = stream.draft == own ? kNoTask : stream.draft;
      while (task != kNoTask && EndOf(task) > latest) task = drafts_[task].edges.front().from;
      if (task == kNoTask || EndOf(task) <= arrival || start - EndOf(task) > kLateStart) continue;
      if (best == kNoTask || EndOf(task) > EndOf(best)) best = task;
    }
    return best;
  }

  /// Returns the task of another stream that ended last before `start`, at any time.
  ///
  /// @param own  newest task of the waiting stream, which is excluded
  TaskIndex EndedLast(TimeNs start, const std::vector<Last>& streams, TaskIndex own) const {
    TaskIndex best = kNoTask;
    for (const Last& stream : streams) {
      TaskIndex task = stream.draft == own ? kNoTask : stream.draft;
      while (task != kNoTask && EndOf(task) > start) task = drafts_[task].edges.front().from;
      if (task != kNoTask && (best == kNoTask || EndOf(task) > EndOf(best))) best = task;
    }
    return best;
  }

  void AddTasks() {
    MeasureLags();
    const std::vector<StreamWait> waits =
        FindStreamWaits(store_, chains_, launched_, graph_.ledger.dropped_edges);
    auto wait = waits.begin();
    draft_of_task_.assign(store_.gpu_tasks.rows(), kNoTask);
    std::vector<Last> streams(store_.streams.rows());
    std::map<TaskIndex, std::vector<GpuTaskId>> of_graph_launch;
    for (const GpuTaskId task : included_) {
      while (wait != waits.end() && wait->after < task) ++wait;
      auto wait_end = wait;
      while (wait_end != waits.end() && wait_end->after == task) ++wait_end;

      const auto index = static_cast<TaskIndex>(drafts_.size());
      draft_of_task_[task.index()] = index;
      Draft draft;
      const TimeNs start = store_.gpu_tasks.start[task.index()];
      draft.task = {.kind = TaskKind::kGpu,
                    .row = task.index(),
                    .step = steps_.step_of_task.empty() ? -1 : steps_.step_of_task[task.index()],
                    .start = start,
                    .duration = store_.gpu_tasks.duration[task.index()]};
      draft.key = start;
      draft.order = Draft::kOfGpu;
      Last& last = streams[store_.gpu_tasks.stream[task.index()].index()];
      const bool first_on_stream = last.draft == kNoTask;
      const HostEventId launch = store_.gpu_tasks.launch[task.index()];
      const TaskIndex call = launch.valid() ? DraftOf(launch) : kNoTask;

      // Finds when each dependency released the task. The dependency that released it last keeps
      // its observed lag.
      draft.edges.push_back({.from = last.draft, .kind = EdgeKind::kStream, .lag = gap_});
      TimeNs arrival = first_on_stream ? TimeNs(INT64_MIN) : last.end;
      std::size_t binding = 0;
      if (!first_on_stream) {
        draft.edges[0].lag = start - last.end;
        draft.key = std::max(draft.key, last.key);
      } else {
        last.first_draft = index;
      }
      const auto add = [&](Edge edge, TimeNs lets_go) {
        if (lets_go > arrival) {
          arrival = lets_go;
          binding = draft.edges.size();
        }
        draft.edges.push_back(edge);
      };
      if (call != kNoTask) {
        std::vector<GpuTaskId>& siblings = of_graph_launch[call];
        const GpuTaskId before = SiblingBefore(siblings, task);
        if (before.valid()) {
          // A node of a launched graph follows the graph's earlier nodes, not the launch.
          if (store_.gpu_tasks.stream[before.index()] != store_.gpu_tasks.stream[task.index()]) {
            add({.from = draft_of_task_[before.index()],
                 .kind = EdgeKind::kCrossStream,
                 .provenance = Provenance::kInferred,
                 .lag = start - store_.TaskEnd(before)},
                store_.TaskEnd(before));
          }
        } else {
          const TimeNs launched = drafts_[call].task.start;
          draft.key = std::max(draft.key, drafts_[call].key);
          add({.from = call, .from_end = false, .kind = EdgeKind::kLaunch, .lag = start - launched},
              launched + latency_);
        }
        siblings.push_back(task);
      }
      for (; wait != wait_end; ++wait) {
        if (draft_of_task_[wait->before.index()] == kNoTask) continue;
        add({.from = draft_of_task_[wait->before.index()],
             .kind = EdgeKind::kCrossStream,
             .provenance = wait->provenance,
             .lag = start - store_.TaskEnd(wait->before)},
            store_.TaskEnd(wait->before));
      }
      if (start - arrival > kLateStart) {
        if (const TaskIndex cause = EndedJustBefore(start, arrival, streams, last.draft);
            cause != kNoTask) {
          const TimeNs end = EndOf(cause);
          draft.key = std::max(draft.key, drafts_[cause].key);
          add({.from = cause,
               .kind = EdgeKind::kCrossStream,
               .provenance = Provenance::kInferred,
               .lag = start - end},
              end);
        }
      }
      // No launch takes this long: the task waited for something that the trace lacks, probably for
      // the work that ended last in the meantime.
      if (start - arrival > kUnrecordedWait && draft.edges[binding].kind == EdgeKind::kLaunch) {
        const TaskIndex cause = EndedLast(start, streams, last.draft);
        if (cause != kNoTask && EndOf(cause) > arrival) {
          draft.key = std::max(draft.key, drafts_[cause].key);
          add({.from = cause,
               .kind = EdgeKind::kCrossStream,
               .provenance = Provenance::kInferred,
               .lag = start - EndOf(cause)},
              EndOf(cause));
        }
      }
      // The trace may not record why the first task of a stream was late, so the delay must not
      // count as launch latency.
      const bool unknown = first_on_stream && draft.edges[binding].kind == EdgeKind::kLaunch;
      SetLags(draft, unknown ? 0 : binding);
      last.draft = index;
      last.end = store_.TaskEnd(task);
      last.key = draft.key;
      drafts_.push_back(std::move(draft));
    }
    // The first task of a stream follows the last one of the previous cycle.
    for (const Last& last : streams) {
      if (last.draft == kNoTask) continue;
      Edge& edge = drafts_[last.first_draft].edges.front();
      edge.from = last.draft;
      edge.cycles_back = 1;
    }
  }

  /// Returns the task of the same launch that ended last before this one started, or the first
  /// task.
  GpuTaskId SiblingBefore(const std::vector<GpuTaskId>& siblings, GpuTaskId task) const {
    if (siblings.empty()) return {};
    GpuTaskId best = siblings.front();
    const TimeNs start = store_.gpu_tasks.start[task.index()] + kTimesDiffer;
    // Later siblings usually end later, so the last few suffice.
    const std::size_t from = siblings.size() > 16 ? siblings.size() - 16 : 0;
    for (std::size_t i = from; i < siblings.size(); ++i) {
      if (store_.TaskEnd(siblings[i]) <= start &&
          store_.TaskEnd(siblings[i]) >= store_.TaskEnd(best))
        best = siblings[i];
    }
    return best;
  }

  /// Keeps the observed lag of the binding edge, which released the task last. The other edges get
  /// the typical lag, or the observed lag if it is shorter.
  void SetLags(Draft& draft, std::size_t binding) {
    for (std::size_t i = 0; i < draft.edges.size(); ++i) {
      Edge& edge = draft.edges[i];
      if (i == binding) {
        if (edge.kind != EdgeKind::kLaunch && edge.lag > kLateStart)
          graph_.ledger.unexplained_gpu += edge.lag;
        continue;
      }
      const DurationNs usual = edge.kind == EdgeKind::kLaunch   ? latency_
                               : edge.kind == EdgeKind::kStream ? gap_
                                                                : kUsualTail;
      edge.lag = std::min(edge.lag, usual);
    }
  }

  void AddReturns() {
    for (const PendingWait& wait : waits_of_returns_) {
      const TaskIndex from = draft_of_task_[wait.task.index()];
      if (from == kNoTask) continue;
      Draft& back = drafts_[wait.draft];
      back.key = std::max(back.key, drafts_[from].key);
      back.edges.push_back(
          {.from = from, .kind = EdgeKind::kSync, .provenance = wait.provenance, .lag = wait.lag});
    }
  }

  /// Adds the edges for a full launch queue. A call that issues a command waits until the GPU has
  /// taken the command one queue depth earlier on its stream. Command numbers continue across
  /// cycles.
  ///
  /// If a call visibly waited, its edge comes from the task that started last before the call
  /// returned. The count of commands may miss events of other threads.
  void AddQueueEdges() {
    struct Taken {
      std::int64_t number;
      TimeNs key;
      TaskIndex task;
    };
    struct Queue {
      std::int64_t issued = 0;
      std::vector<Taken> taken;
    };
    std::vector<Queue> queues(store_.streams.rows());
    std::vector<std::int64_t> number(commands_.size());
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      if (draft_of_command_[i] != kNoTask) number[i] = queues[commands_[i].stream.index()].issued++;
    }
    std::vector<std::int64_t> number_of_call(drafts_.size(), -1);
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      if (draft_of_command_[i] != kNoTask) number_of_call[draft_of_command_[i]] = number[i];
    }
    for (const GpuTaskId task : included_) {
      const HostEventId launch = store_.gpu_tasks.launch[task.index()];
      if (!launch.valid()) continue;
      std::int64_t& of_call = number_of_call[DraftOf(launch)];
      if (of_call < 0) continue;  // Already used by the call's first task.
      const TaskIndex draft = draft_of_task_[task.index()];
      queues[store_.gpu_tasks.stream[task.index()].index()].taken.push_back(
          {of_call, drafts_[draft].key, draft});
      of_call = -1;
    }
    for (std::size_t i = 0; i < commands_.size(); ++i) {
      if (draft_of_command_[i] == kNoTask) continue;
      Draft& call = drafts_[draft_of_command_[i]];
      const Queue& queue = queues[commands_[i].stream.index()];
      const auto by_time = static_cast<std::size_t>(
          std::upper_bound(queue.taken.begin(), queue.taken.end(), call.key,
                           [](TimeNs t, const Taken& taken) { return t < taken.key; }) -
          queue.taken.begin());
      if (queue_.blocked[i] && by_time > 0) {
        AddQueueEdge(call, queue.taken[by_time - 1].task, 0);
        continue;
      }
      if (queue_.depth == 0 || queue.taken.empty()) continue;
      std::int64_t wanted = number[i] - queue_.depth, back = 0;
      for (; wanted < 0 && back <= kMaxCyclesBack; ++back) wanted += queue.issued;
      if (back > kMaxCyclesBack) continue;
      // Finds the last task issued at or before that number.
      auto at = static_cast<std::size_t>(
          std::upper_bound(queue.taken.begin(), queue.taken.end(), wanted,
                           [](std::int64_t n, const Taken& taken) { return n < taken.number; }) -
          queue.taken.begin());
      // The recorded times show that the call did not wait for a later task.
      if (back == 0) at = std::min(at, by_time);
      if (at > 0) AddQueueEdge(call, queue.taken[at - 1].task, static_cast<std::uint8_t>(back));
    }
  }

  static void AddQueueEdge(Draft& call, TaskIndex from, std::uint8_t cycles_back) {
    call.edges.push_back({.from = from,
                          .from_end = false,
                          .cycles_back = cycles_back,
                          .kind = EdgeKind::kQueue,
                          .provenance = Provenance::kInferred});
  }

  /// Sorts the drafts and stores them as flat arrays.
  Graph Assemble() {
    std::vector<TaskIndex> order(drafts_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<TaskIndex>(i);
    std::sort(order.begin(), order.end(), [&](TaskIndex a, TaskIndex b) {
      return std::tuple(drafts_[a].key, drafts_[a].order, a) <
             std::tuple(drafts_[b].key, drafts_[b].order, b);
    });
    std::vector<TaskIndex> place(drafts_.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<TaskIndex>(i);
    graph_.tasks.reserve(order.size());
    graph_.edge_begin.reserve(order.size() + 1);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Draft& draft = drafts_[order[i]];
      graph_.tasks.push_back(draft.task);
      graph_.edge_begin.push_back(static_cast<std::uint32_t>(graph_.edges.size()));
      for (Edge edge : draft.edges) {
        if (edge.from == kNoTask) continue;
        edge.from = place[edge.from];
        // The recorded times determine the order, so an edge against it is wrong.
        if (edge.cycles_back == 0 && edge.from >= i) {
          ++graph_.ledger.dropped_edges;
          continue;
        }
        graph_.edges.push_back(edge);
      }
    }
    graph_.edge_begin.push_back(static_cast<std::uint32_t>(graph_.edges.size()));
    graph_.steps = std::max<std::int32_t>(1, static_cast<std::int32_t>(steps_.hosts.size()));
    MeasureSteps();
    return std::move(graph_);
  }

  void MeasureSteps() {
    graph_.periodic = steps_.spans.size() > 1;
    if (launched_.empty()) {
      // The replay has all steps, also the first. That of one step has no work around its calls.
      const std::vector<HostCall>& calls = chains_.front().calls;
      const Interval replayed =
          graph_.periodic ? window_ : Interval{calls.front().start, calls.back().end};
      graph_.recorded_step = DurationNs(replayed.length().ns() / graph_.steps);
      return;
    }
    if (!graph_.periodic) {
      TimeNs end(INT64_MIN), begin(INT64_MAX);
      for (const GpuTaskId task : included_) end = std::max(end, store_.TaskEnd(task));
      for (const Draft& draft : drafts_) begin = std::min(begin, draft.task.start);
      graph_.recorded_step = end - begin - DelayByEarlierWork();
      return;
    }
    // Skips the first step, which begins in the middle of earlier work.
    DurationNs sum;
    for (std::size_t i = 1; i < steps_.spans.size(); ++i) sum += steps_.spans[i].length();
    graph_.recorded_step =
        DurationNs(sum.ns() / static_cast<std::int64_t>(steps_.spans.size() - 1));
  }

  /// Returns the time that the first task waited for work launched before the window.
  DurationNs DelayByEarlierWork() const {
    for (const GpuTaskId task : included_) {
      const HostEventId launch = store_.gpu_tasks.launch[task.index()];
      if (!launch.valid()) continue;
      const DurationNs waited = store_.gpu_tasks.start[task.index()] -
                                store_.host_events.start[launch.index()] - latency_;
      return waited > kMaxLatency ? waited : DurationNs(0);
    }
    return DurationNs(0);
  }

  static constexpr std::int64_t kMaxCyclesBack = 8;

  struct PendingWait {
    TaskIndex draft;
    GpuTaskId task;
    Provenance provenance;
    DurationNs lag;
  };

  const TraceStore& store_;
  NameFacts& names_;
  const StepAnalysis& steps_;
  Interval window_;
  std::vector<HostChain> chains_;
  std::vector<TaskIndex> draft_of_call_;  ///< Indexed by row of host_events.
  /// By row of host_events: its draft, or that of the enclosing call.
  std::vector<TaskIndex> draft_around_;
  std::vector<TaskIndex> draft_of_task_;     ///< Indexed by row of gpu_tasks.
  std::vector<GpuTaskId> included_;          ///< Sorted by start.
  std::vector<GpuTaskId> launched_;          ///< Tasks with a launch, sorted by launch.
  std::vector<QueuedCommand> commands_;      ///< Sorted by call.
  std::vector<TaskIndex> draft_of_command_;  ///< By command; none if issued before the window.
  bool uses_hip_ = false;
  LaunchQueue queue_;
  std::vector<bool> blocked_;  ///< By draft of a call: true if it waited for space in the queue.
  std::vector<PendingWait> waits_of_returns_;
  DurationNs latency_, gap_;
  std::vector<Draft> drafts_;
  std::uint32_t host_drafts_ = 0;  ///< Calls and returns so far, for Draft::order.
  Graph graph_;
};

}  // namespace

DurationNs UnrecordedWaitOf(const Graph& graph, std::uint32_t edge) {
  const Edge& recorded = graph.edges[edge];
  // A launch's lag begins with its call, which may itself take long, e.g. to load a kernel.
  const DurationNs lag = recorded.kind == EdgeKind::kLaunch
                             ? recorded.lag - graph.tasks[recorded.from].duration
                             : recorded.lag;
  return lag >= kUnrecordedWait ? lag : DurationNs(0);
}

std::string_view Name(EdgeKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"host",  "hand-over", "stream",      "launch",
                                                      "queue", "sync",      "cross-stream"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view Name(Provenance provenance) {
  constexpr std::array<std::string_view, 3> kNames = {"recorded", "resolved", "inferred"};
  return kNames[static_cast<std::size_t>(provenance)];
}

Status NothingToReplay(const TraceStore& store) {
  return Status::NoAnswer(
      "nothing to replay: no GPU task can be joined to the call that launched it" +
      HowToRecordGpu(store));
}

Result<Graph> BuildGraph(const TraceStore& store, NameFacts& names, const StepAnalysis& steps) {
  return GraphBuilder(store, names, steps).Build();
}

}  // namespace headroom
