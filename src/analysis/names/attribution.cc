#include "analysis/names/attribution.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "analysis/names/feeders.h"
#include "base/interval_set.h"
#include "store/natural_sort.h"
#include "store/trace_formats.h"

namespace headroom {

bool IsWorkOf(const TraceStore& store, ProcessId process, GpuTaskId task) {
  const HostEventId launch = store.gpu_tasks.launch[task.index()];
  return !process.valid() || !launch.valid() ||
         store.threads.process[store.host_events.thread[launch.index()].index()] == process;
}

Attribution::Attribution(const TraceStore& store, NameFacts& names, OperatorCosts& costs)
    : store_(store) {
  FindThreads(names);
  IndexForwardOperators(names);
  contexts_.resize(store.host_events.rows());
  // Backward inherits the layers and lines of forward, so forward comes first.
  for (const bool autograd : {false, true}) {
    for (std::size_t t = 0; t < store.threads.rows(); ++t) {
      if (autograd_threads_[t] == autograd) AttributeThread(ThreadId(t), names, costs);
    }
  }
  AttributeBareCalls();
  if (store_.replay_thread().valid()) CompleteReplayed();
}

void Attribution::AttributeBareCalls() {
  const auto& events = store_.host_events;
  std::vector<bool> bare(store_.threads.rows(), true);
  std::set<ProcessId> with_operators;
  std::map<ProcessId, std::vector<Interval>> ranges;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventKind kind = events.kind[row];
    if (kind != HostEventKind::kOperator && kind != HostEventKind::kAnnotation &&
        kind != HostEventKind::kPythonFrame)
      continue;
    const ProcessId process = ProcessOf(events.thread[row]);
    bare[events.thread[row].index()] = false;
    if (kind == HostEventKind::kOperator) with_operators.insert(process);
    if (kind == HostEventKind::kAnnotation && contexts_[row].phase == Phase::kBackward)
      ranges[process].push_back({events.start[row], store_.HostEnd(HostEventId(row))});
  }
  std::map<ProcessId, IntervalSet> backward;
  for (auto& [process, of_process] : ranges) {
    if (!with_operators.contains(process))
      backward[process] = IntervalSet::UnionOf(std::move(of_process));
  }
  if (backward.empty()) return;
  const auto is_inside = [&](HostEventId call, const IntervalSet& set) {
    const TimeNs start = events.start[call.index()];
    return set.MeasureWithin({start, start + DurationNs(1)}).ns() > 0;
  };
  // A thread that prefetches batches launches at any time, so few of its launches are inside
  // backward ranges.
  struct Launches {
    std::int64_t inside = 0, all = 0;
  };
  std::map<ThreadId, Launches> launches;
  for (const HostEventId launch : store_.gpu_tasks.launch.values()) {
    if (!launch.valid() || !bare[events.thread[launch.index()].index()]) continue;
    const ThreadId thread = events.thread[launch.index()];
    const auto found = backward.find(ProcessOf(thread));
    if (found == backward.end()) continue;
    Launches& of_thread = launches[thread];
    ++of_thread.all;
    of_thread.inside += is_inside(launch, found->second) ? 1 : 0;
  }
  for (const auto& [thread, counts] : launches) {
    constexpr std::int64_t kMinInsidePct = 90;
    if (counts.inside * 100 < counts.all * kMinInsidePct) continue;
    const IntervalSet& set = backward.at(ProcessOf(thread));
    const TraceStore::RowRange calls = store_.HostEventsOf(thread);
    for (std::uint32_t row = calls.first; row < calls.last; ++row) {
      if (is_inside(HostEventId(row), set)) contexts_[row].phase = Phase::kBackward;
    }
  }
}

void Attribution::CompleteReplayed() {
  for (std::size_t i = 0; i < store_.gpu_tasks.rows(); ++i) {
    const HostEventId launch = store_.gpu_tasks.launch[i];
    const HostEventId replayed = store_.RanBy(GpuTaskId(i));
    if (replayed == launch) continue;
    HostContext& context = contexts_[replayed.index()];
    const HostContext& of_launch = contexts_[launch.index()];
    if (!context.op.valid()) context.op = of_launch.op;
    if (!context.line.valid()) context.line = of_launch.line;
    if (!context.layer.valid()) context.layer = of_launch.layer;
    // Operators without another phase default to forward, so a range or node around the launch is
    // more reliable.
    const bool launch_knows =
        of_launch.phase != Phase::kOther && of_launch.phase != Phase::kForward;
    if (launch_knows || context.phase == Phase::kOther) context.phase = of_launch.phase;
  }
}

bool Attribution::IsBackwardNode(std::size_t row, NameFacts& names) const {
  return store_.host_events.kind[row] == HostEventKind::kOperator &&
         (store_.host_events.forward_thread[row] > 0 ||
          names.Roles(store_.host_events.name[row]).Has(HostRole::kBackward));
}

void Attribution::FindThreads(NameFacts& names) {
  const auto& events = store_.host_events;
  feeders_ = FindFeeders(store_, names);
  std::vector<bool> has_loop(store_.threads.rows());
  for (const ThreadId thread : store_.steps.thread.values()) has_loop[thread.index()] = true;
  autograd_threads_.resize(store_.threads.rows());
  std::vector<bool> inside_backward(events.rows());
  for (std::size_t t = 0; t < store_.threads.rows(); ++t) {
    bool has_backward = false;
    const TraceStore::RowRange range = store_.HostEventsOf(ThreadId(t));
    for (std::uint32_t row = range.first; row < range.last && !has_loop[t]; ++row) {
      const HostEventId parent = events.parent[row];
      inside_backward[row] =
          (parent.valid() && inside_backward[parent.index()]) || IsBackwardNode(row, names);
      const HostEventKind kind = events.kind[row];
      if (kind != HostEventKind::kOperator && kind != HostEventKind::kAnnotation) continue;
      const HostRoles roles = names.Roles(events.name[row]);
      if (roles.Has(HostRole::kOptimizer) || roles.Has(HostRole::kDataWait)) has_loop[t] = true;
      if (kind == HostEventKind::kAnnotation) continue;
      has_backward = has_backward || inside_backward[row];
      // Operators with a sequence number enter the autograd graph, so they run forward. The
      // engine's threads run them only inside a backward node, to recompute activations.
      if (events.sequence[row] >= 0 && !inside_backward[row]) has_loop[t] = true;
    }
    autograd_threads_[t] = has_backward && !has_loop[t];
  }
}

void Attribution::IndexForwardOperators(NameFacts& names) {
  const auto& events = store_.host_events;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.sequence[row] < 0 || events.kind[row] != HostEventKind::kOperator) continue;
    if (IsBackwardNode(row, names)) continue;
    forward_operators_.push_back({events.sequence[row], events.thread[row], HostEventId(row)});
  }
  // Rows are in order of thread and start, which a stable sort keeps.
  NaturalStableSort(forward_operators_, [](const ForwardOperator& a, const ForwardOperator& b) {
    return a.sequence != b.sequence ? a.sequence < b.sequence : a.thread < b.thread;
  });
  MatchForwardThreads();
}

std::size_t Attribution::FirstForward(std::int64_t sequence, ThreadId thread) const {
  const auto first = std::partition_point(
      forward_operators_.begin(), forward_operators_.end(), [&](const ForwardOperator& f) {
        return f.sequence != sequence ? f.sequence < sequence : f.thread < thread;
      });
  return static_cast<std::size_t>(first - forward_operators_.begin());
}

HostEventId Attribution::LastForward(std::int64_t sequence, ThreadId thread, TimeNs before) const {
  // An operator records the next number on entry, so several operators share a number. The operator
  // that created the node entered last.
  const auto after = std::partition_point(forward_operators_.begin(), forward_operators_.end(),
                                          [&](const ForwardOperator& f) {
                                            if (f.sequence != sequence)
                                              return f.sequence < sequence;
                                            if (f.thread != thread) return f.thread < thread;
                                            return store_.host_events.start[f.op.index()] <= before;
                                          });
  if (after == forward_operators_.begin()) return HostEventId::None();
  const ForwardOperator& last = *(after - 1);
  return last.sequence == sequence && last.thread == thread ? last.op : HostEventId::None();
}

/// Limits the work on colliding numbers of a damaged trace.
constexpr int kMaxThreadsTried = 64;
constexpr int kMaxVotes = 256;

void Attribution::MatchForwardThreads() {
  const auto& events = store_.host_events;
  struct Votes {
    int asked = 0;
    std::map<ThreadId, int> found;
  };
  // With one forward thread there is no ambiguity.
  const auto other = std::find_if(
      forward_operators_.begin(), forward_operators_.end(),
      [&](const ForwardOperator& f) { return f.thread != forward_operators_.front().thread; });
  if (other == forward_operators_.end()) return;
  std::map<std::pair<ProcessId, std::int32_t>, Votes> votes;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const std::int64_t sequence = events.sequence[row];
    if (sequence < 0 || events.forward_thread[row] <= 0) continue;
    const ProcessId process = ProcessOf(events.thread[row]);
    Votes& of_number = votes[{process, events.forward_thread[row]}];
    if (++of_number.asked > kMaxVotes) continue;
    std::size_t at = FirstForward(sequence, ThreadId(0u));
    for (int tried = 0; tried < kMaxThreadsTried && at < forward_operators_.size() &&
                        forward_operators_[at].sequence == sequence;
         ++tried) {
      const ThreadId thread = forward_operators_[at].thread;
      if (ProcessOf(thread) == process &&
          LastForward(sequence, thread, events.start[row]).valid()) {
        ++of_number.found[thread];
      }
      at = FirstForward(sequence, ThreadId(thread.index() + 1));
    }
  }
  // The framework numbers threads in order of their first record, so the training loop's thread
  // comes first. Each thread has one number.
  std::vector<bool> taken(store_.threads.rows());
  for (const auto& [number, of_number] : votes) {
    ThreadId best;
    std::tuple<int, bool, bool> best_rank;
    for (const auto& [thread, count] : of_number.found) {
      const std::tuple rank(count, !taken[thread.index()], !IsAutogradThread(thread));
      if (best.valid() && rank <= best_rank) continue;
      best = thread;
      best_rank = rank;
    }
    if (!best.valid()) continue;
    taken[best.index()] = true;
    forward_threads_[number] = best;
  }
}

HostEventId Attribution::ForwardOperatorOf(HostEventId backward) const {
  const auto& events = store_.host_events;
  const std::int64_t sequence = events.sequence[backward.index()];
  const TimeNs before = events.start[backward.index()];
  const ProcessId process = ProcessOf(events.thread[backward.index()]);
  if (!forward_threads_.empty()) {
    const auto known = forward_threads_.find({process, events.forward_thread[backward.index()]});
    if (known != forward_threads_.end()) return LastForward(sequence, known->second, before);
  }
  // Without a thread number, search all threads. Prefer a thread that runs the loop over a thread
  // of the autograd engine.
  HostEventId best;
  std::size_t at = FirstForward(sequence, ThreadId(0u));
  for (int tried = 0; tried < kMaxThreadsTried && at < forward_operators_.size() &&
                      forward_operators_[at].sequence == sequence;
       ++tried) {
    const ThreadId thread = forward_operators_[at].thread;
    const HostEventId found =
        ProcessOf(thread) == process ? LastForward(sequence, thread, before) : HostEventId::None();
    if (found.valid() && (!best.valid() || (IsAutogradThread(events.thread[best.index()]) &&
                                            !IsAutogradThread(thread)))) {
      best = found;
    }
    at = FirstForward(sequence, ThreadId(thread.index() + 1));
  }
  return best;
}

namespace {

/// Returns the phase of an operation that JAX differentiated, from the path in its name.
/// "transpose" marks the backward pass, "jvp" alone the forward pass. Returns kOther for other
/// operations.
Phase PhaseOfXlaOperation(const TraceStore& store, StringId args) {
  for (const std::string_view key : {"name", "tf_op"}) {
    const std::string_view path = store.Arg(args, key);
    if (path.find("transpose(") != std::string_view::npos) return Phase::kBackward;
    if (path.find("jvp(") != std::string_view::npos) return Phase::kForward;
  }
  return Phase::kOther;
}

/// Returns the phase inside a range or operator with these roles. Phases other than forward and
/// backward include everything inside. Exception: an optimizer may call a closure, whose passes are
/// in ranges.
Phase PhaseInside(Phase around, HostRoles roles, HostEventKind kind, bool autograd_thread) {
  if (roles.Has(HostRole::kDataWait)) return Phase::kDataWait;
  if (roles.Has(HostRole::kCallback)) return Phase::kCallback;
  if (roles.Has(HostRole::kHostToDevice)) return Phase::kHostToDevice;
  if (roles.Has(HostRole::kCommunication)) return Phase::kCommunication;
  if (roles.Has(HostRole::kOptimizer)) return Phase::kOptimizer;
  if (around == Phase::kOptimizer && kind == HostEventKind::kAnnotation) {
    if (roles.Has(HostRole::kBackward)) return Phase::kBackward;
    if (roles.Has(HostRole::kForward)) return Phase::kForward;
  }
  const bool holds =
      around != Phase::kOther && around != Phase::kForward && around != Phase::kBackward;
  if (!holds && (roles.Has(HostRole::kBackward) || roles.Has(HostRole::kBackwardOperator)))
    return Phase::kBackward;
  if (around == Phase::kOther &&
      (kind == HostEventKind::kOperator || roles.Has(HostRole::kForward))) {
    return autograd_thread ? Phase::kBackward : Phase::kForward;
  }
  return around;
}

}  // namespace

void Attribution::EnterOperator(HostEventId op, NameFacts& names, OperatorCosts& costs,
                                HostContext& context) const {
  const auto& events = store_.host_events;
  const std::size_t row = op.index();
  const HostEventId parent = events.parent[row];
  context.op = op;
  if (costs.Of(op) != nullptr) context.costed = op;
  // Nodes nest if the engine is entered again (checkpoints); the innermost one counts. A node with
  // two records (the engine's and the function's) requires one search.
  const bool same_node = parent.valid() &&
                         events.sequence[parent.index()] == events.sequence[row] &&
                         events.forward_thread[parent.index()] == events.forward_thread[row];
  if (events.sequence[row] < 0 || same_node || context.phase != Phase::kBackward) return;
  context.recomputed = !IsBackwardNode(row, names);
  if (context.recomputed) return;
  const HostEventId forward = ForwardOperatorOf(op);
  if (!forward.valid()) return;
  context.forward = forward;
  const HostContext& of_forward = contexts_[forward.index()];
  if (of_forward.layer.valid()) context.layer = of_forward.layer;
  if (of_forward.line.valid()) context.line = of_forward.line;
}

void Attribution::AttributeThread(ThreadId thread, NameFacts& names, OperatorCosts& costs) {
  const auto& events = store_.host_events;
  const bool autograd = autograd_threads_[thread.index()];
  const bool is_feeder = feeders_[thread.index()];
  const bool is_of_xla = IsOfXla(store_.metadata.recorded_as());
  const TraceStore::RowRange range = store_.HostEventsOf(thread);
  for (std::uint32_t row = range.first; row < range.last; ++row) {
    HostContext context;
    const HostEventId parent = events.parent[row];
    if (parent.valid()) context = contexts_[parent.index()];
    const HostEventId self{row};
    const HostEventKind kind = events.kind[row];
    switch (kind) {
      case HostEventKind::kOperator:
      case HostEventKind::kAnnotation: {
        const HostRoles roles = names.Roles(events.name[row]);
        if (kind == HostEventKind::kOperator && is_of_xla) {
          Phase phase = PhaseOfXlaOperation(store_, events.args[row]);
          // TensorFlow states the phase in the name: "gradient_tape/dense/MatMul:MatMul".
          const std::string_view name = store_.Text(events.name[row]);
          if (phase == Phase::kOther &&
              (IsTensorFlowOperator(name) || roles.Has(HostRole::kDataWait)))
            phase = PhaseInside(context.phase, roles, kind, autograd);
          if (phase != Phase::kOther) context.phase = phase;
        } else if (!is_feeder) {
          context.phase = PhaseInside(context.phase, roles, kind, autograd);
        }
        if (roles.Has(HostRole::kLayerRange)) context.layer = self;
        if (kind == HostEventKind::kOperator) EnterOperator(self, names, costs, context);
        break;
      }
      case HostEventKind::kPythonFrame: {
        const HostRoles roles = names.Roles(events.name[row]);
        if (roles.Has(HostRole::kModuleFrame)) {
          context.layer = self;
          if (context.phase == Phase::kOther) context.phase = Phase::kForward;
        } else if (!roles.Has(HostRole::kLibraryFrame)) {
          context.line = self;
        }
        break;
      }
      case HostEventKind::kRuntimeCall:
      case HostEventKind::kDriverCall:
        if (autograd && context.phase == Phase::kOther) context.phase = Phase::kBackward;
        break;
      default:
        break;
    }
    contexts_[row] = context;
  }
}

}  // namespace headroom
