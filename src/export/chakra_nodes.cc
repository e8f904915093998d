#include "export/chakra_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "export/chrome_events.h"
#include "graph/build_graph.h"

namespace headroom {
namespace {

constexpr std::int64_t kNsPerMicro = 1000;

/// Silent intervals of a thread up to this length count as host work without a recorded event, as
/// in graph/host_chain.
constexpr DurationNs kLongSilence{20'000};

class ChakraMaker {
 public:
  ChakraMaker(const TraceStore& store, const StepAnalysis& steps, const Graph& graph)
      : store_(store),
        steps_(steps),
        graph_(graph),
        launches_(store.host_events.rows()),
        first_of_event_(store.host_events.rows(), kNoChakraNode),
        task_done_(store.gpu_tasks.rows()),
        end_of_(graph.tasks.size(), kNoChakraNode),
        launch_of_(graph.tasks.size(), kNoChakraNode),
        last_on_thread_(store.threads.rows(), kNoChakraNode),
        newest_on_stream_(store.streams.rows(), kNoChakraNode),
        is_opened_(store.host_events.rows()),
        chain_call_(store.host_events.rows()) {
    out_.zero = FirstTime(store);
  }

  Result<ChakraNodes> Make() {
    FindLaunchingOperators();
    FindCuts();
    FindLooseTasks();
    for (std::size_t i = 0; i < graph_.tasks.size(); ++i) {
      const auto task = static_cast<TaskIndex>(i);
      switch (graph_.tasks[i].kind) {
        case TaskKind::kCall:
          AddCall(task);
          break;
        case TaskKind::kReturn:
          AddReturn(task);
          break;
        case TaskKind::kGpu:
          AddLooseTasks(graph_.tasks[i].start);
          AddGraphTask(task);
          break;
      }
    }
    AddLooseTasks(TimeNs(INT64_MAX));
    for (const Tail& tail : tails_) AddTail(tail);
    if (Status status = Check(); !status.ok()) return status;
    return std::move(out_);
  }

 private:
  using Candidates = std::vector<ChakraNodeIndex>;

  const Task& TaskAt(TaskIndex task) const { return graph_.tasks[task]; }
  std::span<const Edge> EdgesInto(TaskIndex task) const {
    return std::span(graph_.edges)
        .subspan(graph_.edge_begin[task], graph_.edge_begin[task + 1] - graph_.edge_begin[task]);
  }
  std::int64_t EndOf(ChakraNodeIndex node) const { return out_.Micros(out_.nodes[node].end); }

  void FindLaunchingOperators() {
    for (const HostEventId launch : store_.gpu_tasks.launch.values()) {
      for (HostEventId at = launch; at.valid() && !launches_[at.index()];
           at = store_.host_events.parent[at.index()])
        launches_[at.index()] = true;
    }
  }
  bool MustBeNode(HostEventId event) const {
    return launches_[event.index()] &&
           store_.host_events.kind[event.index()] == HostEventKind::kOperator;
  }

  /// Finds the points at which to split calls. A call is split at the start of a task that starts
  /// before the call returns.
  void FindCuts() {
    cut_.assign(graph_.tasks.size(), TimeNs(INT64_MAX));
    for (std::size_t i = 0; i < graph_.tasks.size(); ++i) {
      for (const Edge& edge : EdgesInto(static_cast<TaskIndex>(i))) {
        if (edge.kind != EdgeKind::kLaunch || edge.cycles_back > 0) continue;
        if (graph_.tasks[i].start > TaskAt(edge.from).start)
          cut_[edge.from] = std::min(cut_[edge.from], graph_.tasks[i].start);
      }
    }
  }

  /// Collects the tasks that the graph omits, because no recorded call or no call in a chain
  /// launched them.
  void FindLooseTasks() {
    std::vector<bool> in_graph(store_.gpu_tasks.rows());
    for (const Task& task : graph_.tasks) {
      if (task.kind == TaskKind::kGpu) in_graph[task.row] = true;
      if (task.kind == TaskKind::kCall) chain_call_[task.row] = HostEventId(task.row);
    }
    chain_call_ = store_.InheritFromParents(std::move(chain_call_), HostEventId());
    for (std::size_t row = 0; row < in_graph.size(); ++row) {
      if (!in_graph[row]) loose_.emplace_back(row);
    }
  }

  /// Returns the track of a node: its thread, its stream, or its kind of delay. On one track, the
  /// node that ended last represents all earlier ones.
  std::size_t TrackOf(const ChakraNode& node) const {
    const std::size_t threads = store_.threads.rows(), streams = store_.streams.rows();
    if (node.work == ChakraWork::kDelay) return threads + streams + (node.on_cpu ? 1 : 0);
    if (node.work == ChakraWork::kTask)
      return threads + store_.gpu_tasks.stream[node.task.index()].index();
    return node.thread.index();
  }

  /// Returns the dependencies of a node that begins at `start`. A candidate that still runs at that
  /// time cannot have delayed the node, so the candidate's own dependencies replace it.
  ///
  /// Keeps only the last replacement on each track, and only the kMostRerouted that end last.
  /// Otherwise each of n overlapping kernels would depend on the launches of all kernels before it.
  Candidates Resolve(const Candidates& candidates, std::int64_t start) {
    constexpr std::size_t kMostRerouted = 16;
    Candidates deps, running;
    std::map<std::size_t, ChakraNodeIndex> rerouted;  // Indexed by track.
    std::set<ChakraNodeIndex> seen{kNoChakraNode};
    for (const ChakraNodeIndex from : candidates) {
      if (seen.insert(from).second) (EndOf(from) <= start ? deps : running).push_back(from);
    }
    while (!running.empty()) {
      const ChakraNodeIndex from = running.back();
      running.pop_back();
      ++out_.rerouted;
      for (const ChakraNodeIndex dep : out_.DepsOf(out_.nodes[from])) {
        if (!seen.insert(dep).second) continue;
        if (EndOf(dep) > start) {
          running.push_back(dep);
          continue;
        }
        ChakraNodeIndex& last = rerouted.try_emplace(TrackOf(out_.nodes[dep]), dep).first->second;
        if (EndOf(dep) > EndOf(last)) last = dep;
      }
    }
    Candidates further;
    for (const auto& [track, node] : rerouted) further.push_back(node);
    if (further.size() > kMostRerouted) {
      std::nth_element(further.begin(), further.begin() + kMostRerouted, further.end(),
                       [&](ChakraNodeIndex a, ChakraNodeIndex b) { return EndOf(a) > EndOf(b); });
      further.resize(kMostRerouted);
    }
    deps.insert(deps.end(), further.begin(), further.end());
    return deps;
  }

  std::string_view DelayName(bool on_cpu, ChakraNodeIndex after) const {
    if (after == kNoChakraNode) return "(before its first event)";
    if (on_cpu) return "(host waits)";
    return out_.nodes[after].on_cpu ? "(launch latency)" : "(gap on the GPU)";
  }

  ChakraNodeIndex Append(ChakraNode node, const Candidates& deps) {
    node.deps_begin = static_cast<std::uint32_t>(out_.deps.size());
    out_.deps.insert(out_.deps.end(), deps.begin(), deps.end());
    node.deps_end = static_cast<std::uint32_t>(out_.deps.size());
    out_.nodes.push_back(node);
    return static_cast<ChakraNodeIndex>(out_.nodes.size() - 1);
  }

  ChakraNodeIndex Add(ChakraNode node, const Candidates& candidates) {
    const std::int64_t start = out_.Micros(node.start);
    Candidates deps = Resolve(candidates, start);
    ChakraNodeIndex last = kNoChakraNode;
    for (const ChakraNodeIndex dep : deps) {
      if (last == kNoChakraNode || EndOf(dep) > EndOf(last)) last = dep;
    }
    const TimeNs free = last == kNoChakraNode ? out_.zero : out_.nodes[last].end;
    if (out_.Micros(free) < start) {
      ++out_.delays;
      ChakraNode delay;
      delay.work = ChakraWork::kDelay;
      delay.on_cpu = node.on_cpu;
      delay.start = free;
      delay.end = node.start;
      delay.name = DelayName(node.on_cpu, last);
      deps.push_back(Append(delay, last == kNoChakraNode ? Candidates() : Candidates{last}));
    }
    return Append(node, deps);
  }

  /// Returns the first node of the innermost enclosing event whose first node ends by `start`.
  /// Looks at no more levels than a real call stack has.
  ChakraNodeIndex CallerOf(HostEventId event, TimeNs start) const {
    constexpr int kDeepest = 4096;
    for (int depth = 0; event.valid() && depth < kDeepest;
         event = store_.host_events.parent[event.index()], ++depth) {
      const ChakraNodeIndex node = first_of_event_[event.index()];
      if (node != kNoChakraNode && EndOf(node) <= out_.Micros(start)) return node;
    }
    return kNoChakraNode;
  }

  /// Adds a node of a host event. The enclosing event's node calls the event's first node, which
  /// calls the event's later nodes.
  ChakraNodeIndex AddHost(ChakraWork work, HostEventId event, ThreadId thread, TimeNs start,
                          TimeNs end, const Candidates& deps) {
    ChakraNode node;
    node.work = work;
    node.start = start;
    node.end = end;
    node.event = event;
    node.thread = thread;
    node.name = event.valid() ? store_.Text(store_.host_events.name[event.index()])
                              : std::string_view("(host, no event recorded)");
    node.is_first = event.valid() && first_of_event_[event.index()] == kNoChakraNode;
    node.caller = CallerOf(event, start);
    const ChakraNodeIndex index = Add(node, deps);
    if (node.is_first) first_of_event_[event.index()] = index;
    ended_on_host_.insert_or_assign(end, index);
    return index;
  }

  /// Adds empty nodes for enclosing operators that launch work and have no node yet, because their
  /// earlier work is shorter than 1 us. Returns the last node, or `previous`.
  ChakraNodeIndex OpenOperators(HostEventId event, ThreadId thread, TimeNs start,
                                ChakraNodeIndex previous) {
    std::vector<HostEventId> missing;
    for (; event.valid() && !is_opened_[event.index()];
         event = store_.host_events.parent[event.index()]) {
      is_opened_[event.index()] = true;  // The enclosing events are opened too.
      if (MustBeNode(event) && first_of_event_[event.index()] == kNoChakraNode)
        missing.push_back(event);
    }
    std::reverse(missing.begin(), missing.end());  // Adds the outermost first.
    for (const HostEventId at : missing)
      previous = AddHost(ChakraWork::kHost, at, thread, start, start, {previous});
    return previous;
  }

  /// Nodes by end time; if several have equal ends, only the newest.
  using EndedNodes = std::map<TimeNs, ChakraNodeIndex>;

  /// Returns the node that ended last in (from, until], or none. Nodes still running at `until` do
  /// not count.
  static ChakraNodeIndex EndedLast(const EndedNodes& nodes, TimeNs from, TimeNs until) {
    const auto after = nodes.upper_bound(until);
    if (after == nodes.begin()) return kNoChakraNode;
    const auto [end, node] = *std::prev(after);
    return end > from ? node : kNoChakraNode;
  }

  /// Adds the host work between calls, with one node for consecutive pieces of one event. Returns
  /// the last node, or `previous`.
  ChakraNodeIndex AddPieces(std::uint32_t begin, std::uint32_t end, ChakraNodeIndex previous) {
    while (begin < end) {
      const HostPiece& piece = graph_.pieces[begin];
      TimeNs until = piece.end;
      for (++begin;
           begin < end && graph_.pieces[begin].owner == piece.owner &&
           graph_.pieces[begin].thread == piece.thread && graph_.pieces[begin].start == until;
           ++begin)
        until = graph_.pieces[begin].end;
      if (piece.owner.valid()) {
        const HostEventId around = store_.host_events.parent[piece.owner.index()];
        previous = OpenOperators(around, piece.thread, piece.start, previous);
      }
      TimeNs from = piece.start;
      ChakraNodeIndex other = kNoChakraNode;
      if (!piece.owner.valid() && until - from > kLongSilence) {
        // The trace does not show what a silent thread waits for, so assume the host work that
        // ended last.
        other = EndedLast(ended_on_host_, from, until);
        if (other != kNoChakraNode) from = out_.nodes[other].end;
      }
      const bool is_short = out_.Micros(from) == out_.Micros(until);
      const bool is_missing = piece.owner.valid() && MustBeNode(piece.owner) &&
                              first_of_event_[piece.owner.index()] == kNoChakraNode;
      if (is_short && !is_missing && other == kNoChakraNode) continue;
      previous =
          AddHost(ChakraWork::kHost, piece.owner, piece.thread, from, until, {previous, other});
    }
    return previous;
  }

  /// Host work after the last call of a chain.
  struct Tail {
    std::uint32_t begin, end;  ///< Range in the graph's pieces.
    TaskIndex after;
  };

  /// Drops silence at the end, which delays no other work.
  void AddTail(Tail tail) {
    while (tail.end > tail.begin && !graph_.pieces[tail.end - 1].owner.valid()) --tail.end;
    AddPieces(tail.begin, tail.end, end_of_[tail.after]);
  }

  void AddCall(TaskIndex index) {
    const Task& task = TaskAt(index);
    const HostEventId event(task.row);
    const ThreadId thread = store_.host_events.thread[task.row];
    ChakraNodeIndex previous = kNoChakraNode;
    Candidates waits;
    std::uint32_t begin = task.pieces_begin;
    for (const Edge& edge : EdgesInto(index)) {
      const bool is_chain = edge.kind == EdgeKind::kHost || edge.kind == EdgeKind::kHandOver;
      if (is_chain && edge.cycles_back > 0) {
        // The graph is cyclic, so work after the chain's last call comes before its first call.
        const std::uint32_t tail = begin;
        while (begin < task.pieces_end && graph_.pieces[begin].start >= task.start) ++begin;
        if (begin > tail) tails_.push_back({tail, begin, edge.from});
      }
      if (edge.cycles_back > 0) continue;
      if (is_chain) {
        previous = end_of_[edge.from];
      } else if (edge.kind == EdgeKind::kQueue) {
        // The call waits until that task starts, which is when all dependencies of the task have
        // ended.
        const ChakraNodeIndex freed = end_of_[edge.from];
        for (const ChakraNodeIndex dep : out_.DepsOf(out_.nodes[freed])) waits.push_back(dep);
      }
    }
    previous = AddPieces(begin, task.pieces_end, previous);
    previous = OpenOperators(store_.host_events.parent[task.row], thread, task.start, previous);
    waits.push_back(previous);
    const TimeNs end = task.start + task.duration;
    const bool is_cut = cut_[index] < end;
    ChakraNodeIndex node =
        AddHost(ChakraWork::kCall, event, thread, task.start, is_cut ? cut_[index] : end, waits);
    launch_of_[index] = node;
    if (is_cut) node = AddHost(ChakraWork::kCall, event, thread, cut_[index], end, {node});
    end_of_[index] = node;
  }

  /// Adds a node for the return of a waiting call: the time between the last end of its
  /// dependencies and the return.
  void AddReturn(TaskIndex index) {
    const Task& task = TaskAt(index);
    Candidates deps;
    for (const Edge& edge : EdgesInto(index)) {
      if (edge.cycles_back == 0) deps.push_back(end_of_[edge.from]);
    }
    TimeNs start = out_.zero;
    for (const ChakraNodeIndex dep : deps) {
      if (EndOf(dep) <= out_.Micros(task.start)) start = std::max(start, out_.nodes[dep].end);
    }
    end_of_[index] =
        AddHost(ChakraWork::kCall, HostEventId(task.row), store_.host_events.thread[task.row],
                std::min(start, task.start), task.start, deps);
  }

  void AddTask(GpuTaskId task, ChakraNodeIndex launch, Candidates deps) {
    ChakraNode node;
    node.work = ChakraWork::kTask;
    node.on_cpu = false;
    node.start = store_.gpu_tasks.start[task.index()];
    node.end = store_.TaskEnd(task);
    node.name = store_.Text(store_.gpu_tasks.name[task.index()]);
    node.task = task;
    node.step = steps_.step_of_task.empty() ? -1 : steps_.step_of_task[task.index()];
    if (launch != kNoChakraNode) {
      deps.push_back(launch);
      if (EndOf(launch) <= out_.Micros(node.start)) node.caller = launch;
      OpenOperatorsInCall(task, launch);
    }
    const std::size_t stream = store_.gpu_tasks.stream[task.index()].index();
    newest_on_stream_[stream] = Add(node, deps);
    ended_on_gpu_.insert_or_assign(node.end, newest_on_stream_[stream]);
    task_done_[task.index()] = true;
  }

  /// Opens operators that enclose the recorded launch and are inside the call whose node is
  /// `launch`. This happens when a call contains an operator that contains a call.
  void OpenOperatorsInCall(GpuTaskId task, ChakraNodeIndex launch) {
    const HostEventId call = store_.gpu_tasks.launch[task.index()];
    if (!call.valid()) return;
    OpenOperators(store_.host_events.parent[call.index()], store_.host_events.thread[call.index()],
                  out_.nodes[launch].end, launch);
  }

  void AddGraphTask(TaskIndex index) {
    const GpuTaskId task(TaskAt(index).row);
    Candidates deps;
    ChakraNodeIndex launch = kNoChakraNode;
    bool is_first_on_stream = true;
    for (const Edge& edge : EdgesInto(index)) {
      if (edge.cycles_back > 0) continue;
      is_first_on_stream &= edge.kind != EdgeKind::kStream;
      if (edge.kind == EdgeKind::kLaunch) {
        launch = launch_of_[edge.from];
      } else {
        deps.push_back(end_of_[edge.from]);
      }
    }
    const std::size_t stream = store_.gpu_tasks.stream[task.index()].index();
    if (is_first_on_stream)
      deps.push_back(newest_on_stream_[stream]);  // Orders the task after tasks that were launched
                                                  // before the first recorded call.
    if (launch == kNoChakraNode) launch = FirstNodeOfLaunch(task);
    if (const HostEventId call = store_.gpu_tasks.launch[task.index()];
        launch == kNoChakraNode && call.valid())
      launch = LooseLaunch(call);
    AddTask(task, launch, std::move(deps));
    end_of_[index] = newest_on_stream_[stream];
  }

  /// Returns the first node of the chain's call that encloses the launch. Later nodes of a launched
  /// graph get their launch edge only here.
  ChakraNodeIndex FirstNodeOfLaunch(GpuTaskId task) const {
    const HostEventId launch = store_.gpu_tasks.launch[task.index()];
    const HostEventId call = launch.valid() ? chain_call_[launch.index()] : HostEventId();
    return call.valid() ? first_of_event_[call.index()] : kNoChakraNode;
  }

  /// Adds tasks that are not in the graph and start by `until`. Each depends on the previous task
  /// of its stream, and on its launch if a thread without a chain made it.
  void AddLooseTasks(TimeNs until) {
    for (; next_loose_ < loose_.size() &&
           store_.gpu_tasks.start[loose_[next_loose_].index()] <= until;
         ++next_loose_) {
      const GpuTaskId task = loose_[next_loose_];
      const HostEventId launch = store_.gpu_tasks.launch[task.index()];
      const std::size_t stream = store_.gpu_tasks.stream[task.index()].index();
      // The trace does not show its other dependencies, so assume the task that ended last.
      const ChakraNodeIndex other =
          EndedLast(ended_on_gpu_, out_.zero, store_.gpu_tasks.start[task.index()]);
      AddTask(task, launch.valid() ? LooseLaunch(launch) : kNoChakraNode,
              {newest_on_stream_[stream], other});
    }
  }

  ChakraNodeIndex LooseLaunch(HostEventId launch) {
    if (first_of_event_[launch.index()] != kNoChakraNode) return first_of_event_[launch.index()];
    const ThreadId thread = store_.host_events.thread[launch.index()];
    const TimeNs start = store_.host_events.start[launch.index()];
    ChakraNodeIndex& last = last_on_thread_[thread.index()];
    last = OpenOperators(store_.host_events.parent[launch.index()], thread, start, last);
    last = AddHost(ChakraWork::kCall, launch, thread, start, store_.HostEnd(launch), {last});
    return last;
  }

  Status Check() const {
    for (std::size_t i = 0; i < out_.nodes.size(); ++i) {
      const ChakraNode& node = out_.nodes[i];
      for (const ChakraNodeIndex dep : out_.DepsOf(node)) {
        if (dep >= i || EndOf(dep) > out_.Micros(node.start))
          return Wrong(fmt::format(
              "node {0} depends on node {1}, which ends after the start of node {0}", i, dep));
      }
      if (node.caller != kNoChakraNode &&
          (node.caller >= i || EndOf(node.caller) > out_.Micros(node.start)))
        return Wrong(
            fmt::format("node {0} is called by node {1}, which ends after the start of node {0}", i,
                        node.caller));
    }
    for (std::size_t row = 0; row < task_done_.size(); ++row) {
      if (!task_done_[row]) return Wrong(fmt::format("GPU task {} has no node", row));
    }
    for (std::size_t row = 0; row < launches_.size(); ++row) {
      if (MustBeNode(HostEventId(row)) && first_of_event_[row] == kNoChakraNode)
        return Wrong(fmt::format("operator {} has no node", row));
    }
    return Status::Ok();
  }
  static Status Wrong(const std::string& what) {
    return Status::Environment(
        fmt::format("cannot export as a Chakra trace: {}; use --to perfetto instead", what));
  }

  const TraceStore& store_;
  const StepAnalysis& steps_;
  const Graph& graph_;
  std::vector<bool> launches_;  ///< By host event: true if it contains the launch of a GPU task.
  std::vector<ChakraNodeIndex> first_of_event_;
  std::vector<bool> task_done_;
  std::vector<ChakraNodeIndex> end_of_, launch_of_;  ///< Indexed by task of the graph.
  std::vector<TimeNs> cut_;                          ///< Indexed by task of the graph.
  std::vector<ChakraNodeIndex> last_on_thread_;      ///< Only for loose launches.
  std::vector<ChakraNodeIndex> newest_on_stream_;
  EndedNodes ended_on_host_, ended_on_gpu_;
  /// By host event: true once OpenOperators() has visited it and its enclosing events.
  std::vector<bool> is_opened_;
  /// By host event: the call of the graph that equals or encloses it.
  std::vector<HostEventId> chain_call_;
  std::vector<GpuTaskId> loose_;
  std::size_t next_loose_ = 0;
  std::vector<Tail> tails_;
  ChakraNodes out_;
};

}  // namespace

std::int64_t ChakraNodes::Micros(TimeNs time) const {
  const std::int64_t ns = (time - zero).ns();
  return ns >= 0 ? ns / kNsPerMicro : -((-ns + kNsPerMicro - 1) / kNsPerMicro);
}

Result<ChakraNodes> MakeChakraNodes(const TraceStore& store, NameFacts& names,
                                    const StepAnalysis& steps) {
  if (store.gpu_tasks.rows() == 0) return NothingToReplay(store);
  StepAnalysis whole;  // Has no steps, so that the graph covers the whole recording.
  whole.before_recording = steps.before_recording;
  const Result<Graph> graph = BuildGraph(store, names, whole);
  if (!graph.ok()) return graph.status();
  return ChakraMaker(store, steps, graph.value()).Make();
}

}  // namespace headroom
