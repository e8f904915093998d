#include "sim/queue_edges.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/task_order.h"

namespace headroom {
namespace {

/// A queue may span many cycles if steps have few launches. Tasks further back delay nothing.
constexpr std::int64_t kMaxCyclesBack = 8;

/// The tasks of each stream in order, and the place of each task.
struct Streams {
  std::vector<std::vector<TaskIndex>> tasks;
  std::vector<std::uint32_t> of;    ///< By task; kNone if the task is on no stream.
  std::vector<std::int64_t> place;  ///< By task: number of earlier tasks on its stream.

  static constexpr std::uint32_t kNone = UINT32_MAX;

  explicit Streams(std::size_t count) : of(count, kNone), place(count) {}

  /// @param previous  the task before `task` on its stream; kNoTask if `task` is the first
  /// @param counts  false for a removed task, which occupies no place
  void Append(TaskIndex task, TaskIndex previous, bool counts) {
    if (previous == kNoTask) tasks.emplace_back();
    of[task] = previous == kNoTask ? static_cast<std::uint32_t>(tasks.size() - 1) : of[previous];
    std::vector<TaskIndex>& stream = tasks[of[task]];
    place[task] = static_cast<std::int64_t>(stream.size());
    if (counts) stream.push_back(task);
  }
};

/// Returns the streams as recorded.
Streams StreamsOf(const Graph& graph) {
  Streams streams(graph.tasks.size());
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    if (graph.tasks[task].kind != TaskKind::kGpu) continue;
    const std::uint32_t track = graph.edge_begin[task];
    const bool follows = track < graph.edge_begin[task + 1] &&
                         graph.edges[track].kind == EdgeKind::kStream &&
                         graph.edges[track].cycles_back == 0;
    streams.Append(task, follows ? graph.edges[track].from : kNoTask, true);
  }
  return streams;
}

/// Returns the streams as edited. A removed task occupies no place and gets that of the next task.
Streams StreamsOf(const Graph& graph, const EditedPlan& edited) {
  const PlanShape& shape = *edited.plan.shape;
  Streams streams(edited.plan.tasks());
  for (TaskIndex task = 0; task < edited.plan.tasks(); ++task) {
    if (shape.gpu[task] == 0 || edited.OnChannel(task)) continue;
    const std::uint32_t track = shape.edge_begin[task];
    const bool follows = track < shape.edge_begin[task + 1] && shape.from[track] >= 0 &&
                         KindOfEdge(graph, edited, task, track) == EdgeKind::kStream;
    streams.Append(task, follows ? static_cast<TaskIndex>(shape.from[track] / 2) : kNoTask,
                   !edited.removed[task]);
  }
  return streams;
}

/// Returns the first task that each call launches, or kNoTask, by task of the graph.
std::vector<TaskIndex> FirstLaunched(const Graph& graph) {
  std::vector<TaskIndex> launched(graph.tasks.size(), kNoTask);
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    for (std::uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
      const Edge& edge = graph.edges[e];
      if (edge.kind == EdgeKind::kLaunch && edge.cycles_back == 0 && launched[edge.from] == kNoTask)
        launched[edge.from] = task;
    }
  }
  return launched;
}

}  // namespace

bool RecountQueues(const Graph& graph, EditedPlan& edited) {
  const Streams before = StreamsOf(graph);
  const Streams after = StreamsOf(graph, edited);
  const std::vector<TaskIndex> launched = FirstLaunched(graph);
  std::vector<TaskIndex> now(graph.tasks.size(), kNoTask);  // Number in the plan, by task.
  for (TaskIndex task = 0; task < edited.plan.tasks(); ++task) {
    if (edited.origin[task] != kNoTask) now[edited.origin[task]] = task;
  }
  auto shape = std::make_shared<PlanShape>(*edited.plan.shape);
  const auto moments = static_cast<std::int64_t>(2 * edited.plan.tasks());
  bool in_order = true;
  for (TaskIndex call = 0; call < graph.tasks.size(); ++call) {
    const TaskIndex own = launched[call];
    for (std::uint32_t e = graph.edge_begin[call]; e < graph.edge_begin[call + 1]; ++e) {
      const Edge& edge = graph.edges[e];
      if (edge.kind != EdgeKind::kQueue) continue;
      const std::uint32_t place = shape->edge_begin[now[call]] + (e - graph.edge_begin[call]);
      if (edited.removed[now[call]]) {
        edited.plan.lag[place] = kNoEdge;
        continue;
      }
      if (own == kNoTask || before.of[own] != before.of[edge.from]) continue;
      const auto recorded = static_cast<std::int64_t>(before.tasks[before.of[own]].size());
      const std::int64_t depth =
          before.place[own] - before.place[edge.from] + edge.cycles_back * recorded;
      const std::vector<TaskIndex>& stream = after.tasks[after.of[now[own]]];
      const auto length = static_cast<std::int64_t>(stream.size());
      std::int64_t wanted = after.place[now[own]] - depth, back = 0;
      for (; wanted < 0 && length > 0 && back <= kMaxCyclesBack; ++back) wanted += length;
      if (wanted < 0 || back > kMaxCyclesBack || wanted >= length ||
          (back > 0 && !shape->periodic)) {
        edited.plan.lag[place] = kNoEdge;
        continue;
      }
      const TaskIndex from = stream[static_cast<std::size_t>(wanted)];
      shape->from[place] = 2 * static_cast<std::int64_t>(from) - back * moments;
      shape->most_cycles_back = std::max(shape->most_cycles_back, static_cast<std::int32_t>(back));
      in_order &= back > 0 || from < now[call];
    }
  }
  edited.plan.shape = std::move(shape);
  return in_order || PutInOrder(edited);
}

}  // namespace headroom
