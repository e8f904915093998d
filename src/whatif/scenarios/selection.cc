#include "whatif/scenarios/selection.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/interval_set.h"

namespace headroom {

std::vector<TaskIndex> SelectTasks(const Job& job, const std::function<bool(TaskIndex)>& wanted) {
  std::vector<TaskIndex> selected;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind == TaskKind::kGpu && wanted(task)) selected.push_back(task);
  }
  return selected;
}

std::vector<bool> SelectHost(const Job& job, const std::function<bool(HostEventId)>& wanted) {
  const auto& events = job.store().host_events;
  std::vector<bool> selected(events.rows());
  // Parents precede their children.
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventId parent = events.parent[row];
    selected[row] = (parent.valid() && selected[parent.index()]) || wanted(HostEventId(row));
  }
  return selected;
}

std::vector<bool> SelectLoaders(const Job& job) {
  const auto& threads = job.store().host_events.thread;
  return SelectHost(job, [&](HostEventId event) {
    return job.RolesOf(event).Has(HostRole::kDataWait) &&
           !job.attribution().IsFeeder(threads[event.index()]);
  });
}

namespace {

/// Scales a part of the work before each call. `part` returns the time of a piece to scale, from 0
/// to its length. Returns the number of calls with such work.
template <typename Part>
std::int64_t ScaleParts(const Job& job, double factor, Edit& edit, Part part) {
  const Graph& graph = job.graph();
  std::int64_t scaled = 0;
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    const Task& call = graph.tasks[task];
    if (call.kind != TaskKind::kCall) continue;
    std::vector<double> ns, factors;
    bool any = false;
    for (std::uint32_t p = call.pieces_begin; p < call.pieces_end; ++p) {
      const HostPiece& piece = graph.pieces[p];
      const auto inside = static_cast<double>(part(piece).ns());
      any |= inside > 0;
      ns.push_back(job.WorkIn(piece));
      const double share =
          inside / static_cast<double>(std::max<std::int64_t>(1, piece.length().ns()));
      factors.push_back(1 - (1 - factor) * share);
    }
    if (!any) continue;
    ++scaled;
    edit.ScalePieces(task, ns, factors);
  }
  return scaled;
}

}  // namespace

std::int64_t ScaleHostWork(const Job& job, const std::vector<bool>& selected, double factor,
                           Edit& edit) {
  return ScaleParts(job, factor, edit, [&](const HostPiece& piece) {
    return piece.owner.valid() && selected[piece.owner.index()] ? piece.length() : DurationNs(0);
  });
}

std::int64_t ScaleHostTime(const Job& job, ThreadId thread, const IntervalSet& time, double factor,
                           Edit& edit) {
  return ScaleParts(job, factor, edit, [&](const HostPiece& piece) {
    return piece.thread == thread ? time.MeasureWithin({piece.start, piece.end}) : DurationNs(0);
  });
}

void RemoveDispatch(const Job& job, const std::vector<bool>& selected, Edit& edit) {
  const Graph& graph = job.graph();
  const std::vector<bool> loaders = SelectLoaders(job);
  const std::vector<bool> callbacks = SelectHost(
      job, [&](HostEventId event) { return job.RolesOf(event).Has(HostRole::kCallback); });
  const UnmarkedLoading unmarked = job.FindLoading();
  const Edit unchanged(graph, job.corrected());
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    const Task& call = graph.tasks[task];
    if (call.kind != TaskKind::kCall) continue;
    DurationNs all, stays;
    for (std::uint32_t p = call.pieces_begin; p < call.pieces_end; ++p) {
      const HostPiece& piece = graph.pieces[p];
      all += piece.length();
      const bool goes = selected.empty() || (piece.owner.valid() && selected[piece.owner.index()]);
      if (!goes || (piece.owner.valid() &&
                    (loaders[piece.owner.index()] || callbacks[piece.owner.index()]))) {
        stays += piece.length();
      } else if (piece.thread == unmarked.thread) {
        stays += unmarked.time.MeasureWithin({piece.start, piece.end});
      }
    }
    if (!selected.empty() && all.ns() == 0) continue;  // Nothing recorded is selected.
    double left = 0;
    if (stays.ns() > 0) {
      // Another scenario may already have removed the data loader's part.
      const double share = static_cast<double>(stays.ns()) / static_cast<double>(all.ns());
      const auto before = static_cast<double>(unchanged.WorkBefore(task).ns());
      const auto now = static_cast<double>(edit.WorkBefore(task).ns());
      if (now > 0) left = std::max(0.0, now - before * (1 - share)) / now;
    }
    edit.ScaleWorkBefore(task, left);
  }
}

void ScaleHost(const Job& job, const std::vector<bool>& selected, double factor, Edit& edit) {
  ScaleHostWork(job, selected, factor, edit);
  const Graph& graph = job.graph();
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    const Task& call = graph.tasks[task];
    if (call.kind != TaskKind::kCall || !selected[call.row]) continue;
    if (factor == 0) {
      edit.Remove(task);
    } else {
      edit.Scale(task, factor);
    }
  }
}

void RemoveTasks(const Job& job, const std::vector<TaskIndex>& tasks, Edit& edit) {
  std::vector<std::int64_t> left(job.graph().tasks.size());
  for (const TaskIndex task : tasks) {
    edit.Remove(task);
    const TaskIndex call = job.LaunchOf(task);
    if (call != kNoTask && ++left[call] == job.LaunchedBy(call)) edit.Remove(call);
  }
}

void RemoveOperators(const Job& job, const std::vector<LaunchingOperator>& operators, Edit& edit) {
  const auto& parent = job.store().host_events.parent;
  std::vector<std::int32_t> launching(parent.size());  // Number of operators inside each event.
  for (const LaunchingOperator& op : LaunchingOperators(job)) {
    if (op.op.valid()) ++launching[op.op.index()];
  }
  for (std::size_t row = launching.size(); row-- > 0;) {  // Children follow their parent.
    if (parent[row].valid()) launching[parent[row].index()] += launching[row];
  }
  std::vector<bool> gone(parent.size());
  std::vector<TaskIndex> tasks;
  for (const LaunchingOperator& op : operators) {
    HostEventId event = op.op;
    for (HostEventId around = parent[event.index()];
         around.valid() && launching[around.index()] == 1 &&
         NameOfOperator(job, around).starts_with("aten::");
         around = parent[event.index()]) {
      event = around;
    }
    gone[event.index()] = true;
    tasks.insert(tasks.end(), op.tasks.begin(), op.tasks.end());
  }
  RemoveTasks(job, tasks, edit);
  ScaleHost(job, SelectHost(job, [&](HostEventId event) { return gone[event.index()]; }), 0, edit);
}

bool IsReplaced(const std::vector<TaskIndex>& tasks, const Edit& edit) {
  return std::all_of(tasks.begin(), tasks.end(), [&](TaskIndex task) {
    return edit.IsRemoved(task) || edit.HasOtherWork(task);
  });
}

DurationNs SpanOf(const Job& job, const std::vector<TaskIndex>& tasks) {
  TimeNs first(INT64_MAX), last(INT64_MIN);
  double recorded = 0, here = 0;
  for (const TaskIndex task : tasks) {
    const Task& one = job.graph().tasks[task];
    first = std::min(first, one.start);
    last = std::max(last, one.start + one.duration);
    recorded += static_cast<double>(one.duration.ns());
    here += static_cast<double>(job.corrected().duration[task]);
  }
  if (recorded <= 0) return DurationNs(0);
  return DurationNs(std::llround(static_cast<double>((last - first).ns()) * here / recorded));
}

bool ReplaceTasks(const Job& job, const std::vector<TaskIndex>& tasks, DurationNs time,
                  Edit& edit) {
  const auto stream_of = [&](TaskIndex task) {
    return job.store().gpu_tasks.stream[job.graph().tasks[task].row];
  };
  DurationNs sum;
  TaskIndex longest = tasks.front();
  bool one_stream = true;
  for (const TaskIndex task : tasks) {
    sum += edit.DurationOf(task);
    if (edit.DurationOf(task) > edit.DurationOf(longest)) longest = task;
    one_stream &= stream_of(task) == stream_of(tasks.front());
  }
  if (one_stream) {
    if (time >= sum || sum.ns() == 0) return false;
    const double factor = static_cast<double>(time.ns()) / static_cast<double>(sum.ns());
    for (const TaskIndex task : tasks) edit.Scale(task, factor);
    return true;
  }
  if (time >= SpanOf(job, tasks)) return false;
  std::vector<TaskIndex> others;
  for (const TaskIndex task : tasks) {
    if (task != longest) others.push_back(task);
  }
  edit.SetDuration(longest, time);
  RemoveTasks(job, others, edit);
  return true;
}

void CloseGapsDuring(const Job& job, const std::vector<TaskIndex>& gone, Edit& edit) {
  const Graph& graph = job.graph();
  std::vector<Interval> ran;
  for (const TaskIndex task : gone) {
    const Task& recorded = graph.tasks[task];
    ran.push_back({recorded.start, recorded.start + recorded.duration});
  }
  const IntervalSet busy = IntervalSet::UnionOf(std::move(ran));
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    if (graph.tasks[task].kind != TaskKind::kGpu) continue;
    DurationNs gap;
    for (std::uint32_t edge = graph.edge_begin[task]; edge < graph.edge_begin[task + 1]; ++edge)
      gap = std::max(gap, graph.edges[edge].lag);
    const TimeNs start = graph.tasks[task].start;
    if (2 * busy.MeasureWithin({start - gap, start}).ns() > gap.ns()) edit.CloseGap(task);
  }
}

}  // namespace headroom
