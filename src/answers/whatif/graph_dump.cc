#include "answers/whatif/graph_dump.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string_view>

#include "render/escape.h"

namespace headroom {
namespace {

std::string_view NameOf(TaskKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"call", "return", "gpu"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string OrNull(std::int64_t value, bool known) {
  return known ? fmt::format("{}", value) : "null";
}

}  // namespace

std::string RenderGraph(const Job& job, const std::string& path) {
  const Graph& graph = job.graph();
  std::string out;
  const auto to = std::back_inserter(out);
  fmt::format_to(
      to,
      R"({{"schema":"headroom.graph/1","path":{},"tasks":{},"edges":{},"steps":{},"periodic":{},)"
      R"("recorded_step_ns":{},"queue_depth":{},"queue_depth_measured":{},"launch_latency_ns":{},)"
      R"("step_factor":{},"step_offset_ns":{}}})"
      "\n",
      JsonString(path), graph.tasks.size(), graph.edges.size(), graph.steps, graph.periodic,
      graph.recorded_step.ns(), OrNull(graph.queue_depth, graph.queue_depth > 0),
      graph.queue_depth_measured, graph.launch_latency.ns(), job.step_scale().factor(),
      job.step_scale().BeforeNs(job.corrected()));
  // Neighbouring nodes often share a name. Escapes it only once for a series of such nodes.
  std::string_view name;
  std::string escaped = "\"\"";
  for (TaskIndex index = 0; index < graph.tasks.size(); ++index) {
    const Task& task = graph.tasks[index];
    const std::optional<std::int64_t> step = job.StepNumberOf(index);
    if (job.NameOf(index) != name) {
      name = job.NameOf(index);
      escaped = JsonString(name);
    }
    fmt::format_to(
        to,
        R"({{"task":{},"kind":"{}","name":{},"row":{},"step":{},"start_ns":{},"duration_ns":{},)"
        R"("corrected_duration_ns":{},"edges":[)",
        index, NameOf(task.kind), escaped, task.row, OrNull(step.value_or(0), step.has_value()),
        task.start.ns(), task.duration.ns(), job.corrected().duration[index]);
    for (std::uint32_t e = graph.edge_begin[index]; e < graph.edge_begin[index + 1]; ++e) {
      const Edge& edge = graph.edges[e];
      fmt::format_to(
          to,
          R"({}{{"from":{},"moment":"{}","cycles_back":{},"kind":"{}","provenance":"{}",)"
          R"("lag_ns":{},"corrected_lag_ns":{}}})",
          e == graph.edge_begin[index] ? "" : ",", edge.from, edge.from_end ? "end" : "start",
          edge.cycles_back, Name(edge.kind), Name(edge.provenance), edge.lag.ns(),
          job.corrected().lag[e]);
    }
    out += "]}\n";
  }
  return out;
}

}  // namespace headroom
