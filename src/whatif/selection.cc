#include "whatif/selection.h"

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
  // Parents come before what they contain.
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventId parent = events.parent[row];
    selected[row] = (parent.valid() && selected[parent.index()]) || wanted(HostEventId(row));
  }
  return selected;
}

void ScaleHost(const Job& job, const std::vector<bool>& selected, double factor, Edit& edit) {
  const Graph& graph = job.graph();
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    const Task& call = graph.tasks[task];
    if (call.kind != TaskKind::kCall) continue;
    DurationNs all, inside;
    for (std::uint32_t p = call.pieces_begin; p < call.pieces_end; ++p) {
      const HostPiece& piece = graph.pieces[p];
      all += piece.length();
      if (piece.owner.valid() && selected[piece.owner.index()]) inside += piece.length();
    }
    if (inside.ns() > 0) {
      const double share = static_cast<double>(inside.ns()) / static_cast<double>(all.ns());
      edit.ScaleWorkBefore(task, 1 - (1 - factor) * share);
    }
    if (!selected[call.row]) continue;
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

}  // namespace headroom
