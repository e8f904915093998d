#include "export/chakra_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "export/chrome_events.h"
#include "graph/build_graph.h"

namespace headroom {
namespace {

constexpr std::int64_t kNsPerMicro = 1000;

/// Shorter silences of a thread are its own work that no event covers (as in graph/host_chain).
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
        nodes_of_thread_(store.threads.rows()),
        nodes_of_stream_(store.streams.rows()) {
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

  /// A task may start before the call that launches it returns: the call is cut there.
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

  /// What the graph leaves out: launched by no recorded call, or by one in no chain.
  void FindLooseTasks() {
    std::vector<bool> in_graph(store_.gpu_tasks.rows());
    for (const Task& task : graph_.tasks) {
      if (task.kind == TaskKind::kGpu) in_graph[task.row] = true;
      if (task.kind == TaskKind::kCall) in_chain_.push_back(task.row);
    }
    std::sort(in_chain_.begin(), in_chain_.end());
    for (std::size_t row = 0; row < in_graph.size(); ++row) {
      if (!in_graph[row]) loose_.emplace_back(row);
    }
  }

  /// What had not ended when the node began, by the recorded times, cannot have held it back: what
  /// that depends on did.
  void Resolve(ChakraNodeIndex from, std::int64_t start, Candidates& deps) {
    if (from == kNoChakraNode || std::find(seen_.begin(), seen_.end(), from) != seen_.end()) return;
    seen_.push_back(from);
    if (EndOf(from) <= start) {
      deps.push_back(from);
      return;
    }
    ++out_.rerouted;
    const Candidates before(out_.DepsOf(out_.nodes[from]).begin(),
                            out_.DepsOf(out_.nodes[from]).end());
    for (const ChakraNodeIndex dep : before) Resolve(dep, start, deps);
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
    Candidates deps;
    seen_.clear();
    for (const ChakraNodeIndex from : candidates) Resolve(from, start, deps);
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

  /// The first node of the innermost event around, which begins before this one does.
  ChakraNodeIndex CallerOf(HostEventId event, TimeNs start) const {
    for (; event.valid(); event = store_.host_events.parent[event.index()]) {
      const ChakraNodeIndex node = first_of_event_[event.index()];
      if (node != kNoChakraNode && EndOf(node) <= out_.Micros(start)) return node;
    }
    return kNoChakraNode;
  }

  /// A node of a host event. The first of an event belongs to the event around it, others to it.
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
    nodes_of_thread_[thread.index()].push_back(index);
    return index;
  }

  /// Operators around an event that launch work and are no nodes yet: what of them came before is
  /// too short for the clock. Returns the last, or `previous`.
  ChakraNodeIndex OpenOperators(HostEventId event, ThreadId thread, TimeNs start,
                                ChakraNodeIndex previous) {
    std::vector<HostEventId> missing;
    for (; event.valid(); event = store_.host_events.parent[event.index()]) {
      if (MustBeNode(event) && first_of_event_[event.index()] == kNoChakraNode)
        missing.push_back(event);
    }
    std::reverse(missing.begin(), missing.end());  // The outermost first.
    for (const HostEventId at : missing)
      previous = AddHost(ChakraWork::kHost, at, thread, start, start, {previous});
    return previous;
  }

  /// The node of a thread or stream that ended last by `until`, if after `from`: none of those that
  /// still run then.
  ChakraNodeIndex EndedLast(const std::vector<std::vector<ChakraNodeIndex>>& tracks, TimeNs from,
                            TimeNs until) const {
    ChakraNodeIndex last = kNoChakraNode;
    for (const std::vector<ChakraNodeIndex>& nodes : tracks) {
      const auto after = std::upper_bound(
          nodes.begin(), nodes.end(), until,
          [&](TimeNs time, ChakraNodeIndex node) { return time < out_.nodes[node].end; });
      if (after == nodes.begin() || out_.nodes[*(after - 1)].end <= from) continue;
      if (last == kNoChakraNode || EndOf(*(after - 1)) > EndOf(last)) last = *(after - 1);
    }
    return last;
  }

  /// Host work between calls, one node for what follows each other under one event. Returns the
  /// last node, or `previous`.
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
        // A silent thread waits: for the one that has worked meanwhile, as far as anyone can tell.
        other = EndedLast(nodes_of_thread_, from, until);
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

  /// Host work behind the last call of a chain.
  struct Tail {
    std::uint32_t begin, end;  ///< Of the graph's pieces.
    TaskIndex after;
  };

  /// Silence at the end holds nothing back.
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
        // The graph goes round: what lies behind the chain's last call comes before its first.
        const std::uint32_t tail = begin;
        while (begin < task.pieces_end && graph_.pieces[begin].start >= task.start) ++begin;
        if (begin > tail) tails_.push_back({tail, begin, edge.from});
      }
      if (edge.cycles_back > 0) continue;
      if (is_chain) {
        previous = end_of_[edge.from];
      } else if (edge.kind == EdgeKind::kQueue) {
        // It waits for that task's start, which is when all that the task waits for has ended.
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

  /// Where a call that waited returns: the time between the last end of what it waited for and the
  /// return.
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

  ChakraNodeIndex NewestOn(std::size_t stream) const {
    return nodes_of_stream_[stream].empty() ? kNoChakraNode : nodes_of_stream_[stream].back();
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
    }
    const std::size_t stream = store_.gpu_tasks.stream[task.index()].index();
    nodes_of_stream_[stream].push_back(Add(node, deps));
    task_done_[task.index()] = true;
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
    if (is_first_on_stream) deps.push_back(NewestOn(stream));  // Launched before all calls.
    if (launch == kNoChakraNode) launch = FirstNodeOfLaunch(task);
    AddTask(task, launch, std::move(deps));
    end_of_[index] = NewestOn(stream);
  }

  /// Of the outermost call around the launch: later nodes of a launched graph have that edge only
  /// here.
  ChakraNodeIndex FirstNodeOfLaunch(GpuTaskId task) const {
    for (HostEventId at = store_.gpu_tasks.launch[task.index()]; at.valid();
         at = store_.host_events.parent[at.index()]) {
      if (std::binary_search(in_chain_.begin(), in_chain_.end(), at.index()))
        return first_of_event_[at.index()];
    }
    return kNoChakraNode;
  }

  /// Tasks that are not in the graph and start by `until`: behind what ran before them on their
  /// stream, and behind a launch of a thread that has no chain.
  void AddLooseTasks(TimeNs until) {
    for (; next_loose_ < loose_.size() &&
           store_.gpu_tasks.start[loose_[next_loose_].index()] <= until;
         ++next_loose_) {
      const GpuTaskId task = loose_[next_loose_];
      const HostEventId launch = store_.gpu_tasks.launch[task.index()];
      const std::size_t stream = store_.gpu_tasks.stream[task.index()].index();
      // Nobody knows what else it waited for: for what ended last, as far as anyone can tell.
      const ChakraNodeIndex other =
          EndedLast(nodes_of_stream_, out_.zero, store_.gpu_tasks.start[task.index()]);
      AddTask(task, launch.valid() ? LooseLaunch(launch) : kNoChakraNode,
              {NewestOn(stream), other});
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
          return Wrong(fmt::format("node {} depends on node {}, which ends later", i, dep));
      }
      if (node.caller != kNoChakraNode &&
          (node.caller >= i || EndOf(node.caller) > out_.Micros(node.start)))
        return Wrong(fmt::format("node {} is called by node {}, which ends later", i, node.caller));
    }
    for (std::size_t row = 0; row < task_done_.size(); ++row) {
      if (!task_done_[row]) return Wrong(fmt::format("GPU task {} is no node", row));
    }
    for (std::size_t row = 0; row < launches_.size(); ++row) {
      if (MustBeNode(HostEventId(row)) && first_of_event_[row] == kNoChakraNode)
        return Wrong(fmt::format("operator {} is no node", row));
    }
    return Status::Ok();
  }
  static Status Wrong(const std::string& what) {
    return Status::Environment(
        fmt::format("the Chakra trace would be wrong: {}; please report this", what));
  }

  const TraceStore& store_;
  const StepAnalysis& steps_;
  const Graph& graph_;
  std::vector<bool> launches_;  ///< By host event: a GPU task was launched in it.
  std::vector<ChakraNodeIndex> first_of_event_;
  std::vector<bool> task_done_;
  std::vector<ChakraNodeIndex> end_of_, launch_of_;  ///< By task of the graph.
  std::vector<TimeNs> cut_;                          ///< Likewise.
  std::vector<ChakraNodeIndex> last_on_thread_;      ///< Of the loose launches alone.
  std::vector<std::vector<ChakraNodeIndex>> nodes_of_thread_, nodes_of_stream_;
  std::vector<std::uint32_t> in_chain_;  ///< Calls of the graph, sorted.
  std::vector<GpuTaskId> loose_;
  std::size_t next_loose_ = 0;
  std::vector<Tail> tails_;
  Candidates seen_;  ///< Of the node being added.
  ChakraNodes out_;
};

}  // namespace

std::int64_t ChakraNodes::Micros(TimeNs time) const {
  const std::int64_t ns = (time - zero).ns();
  return ns >= 0 ? ns / kNsPerMicro : -((-ns + kNsPerMicro - 1) / kNsPerMicro);
}

Result<ChakraNodes> MakeChakraNodes(const TraceStore& store, NameFacts& names,
                                    const StepAnalysis& steps) {
  StepAnalysis whole;  // No steps: the graph is that of all that was recorded.
  whole.before_recording = steps.before_recording;
  const Result<Graph> graph = BuildGraph(store, names, whole);
  if (!graph.ok()) return graph.status();
  return ChakraMaker(store, steps, graph.value()).Make();
}

}  // namespace headroom
