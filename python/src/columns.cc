#include "columns.h"

#include <cstdint>
#include <string>

#include "errors.h"
#include "whatif/job/gradients.h"

namespace headroom::python {
namespace {

std::string_view NameOfKind(TaskKind kind) {
  switch (kind) {
    case TaskKind::kCall:
      return "call";
    case TaskKind::kReturn:
      return "return";
    case TaskKind::kGpu:
      return "gpu";
  }
  return "";
}

/// Returns a column that the graph does not store: value_of(task) for each task.
template <typename ValueOf>
headroom_array IntegerColumn(std::size_t rows, const ValueOf& value_of) {
  std::vector<std::int64_t> values(rows);
  for (std::size_t row = 0; row < rows; ++row) values[row] = value_of(row);
  return OwnArray(std::move(values));
}

/// Returns the task number for Python; -1 for kNoTask.
std::int64_t NumberOf(TaskIndex task) { return task == kNoTask ? -1 : std::int64_t{task}; }

[[noreturn]] void ThrowNoColumn(std::string_view name) {
  ThrowUsage("no such column: " + std::string(name));
}

}  // namespace

std::string_view NameOfPhase(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kOptimizer:
      return "optimizer";
    case Phase::kDataWait:
      return "data_wait";
    case Phase::kHostToDevice:
      return "host_to_device";
    case Phase::kCommunication:
      return "communication";
    case Phase::kCallback:
      return "callback";
    case Phase::kOther:
      return "other";
  }
  return "";
}

Column TaskColumn(const std::shared_ptr<const Recording>& recording, std::string_view name) {
  const Job& job = recording->job();
  const TraceStore& store = job.store();
  const std::vector<Task>& tasks = job.graph().tasks;
  static_assert(sizeof(TimeNs) == sizeof(std::int64_t) &&
                sizeof(DurationNs) == sizeof(std::int64_t));
  if (name == "start_ns") return MemberView<std::int64_t>(tasks, &tasks.data()->start, recording);
  if (name == "duration_ns")
    return MemberView<std::int64_t>(tasks, &tasks.data()->duration, recording);
  if (name == "step") {
    const std::vector<std::int64_t>& steps = recording->step_numbers();
    return MemberView<std::int64_t>(steps, steps.data(), recording);
  }

  const std::unique_lock lock = recording->Lock();
  const auto is_gpu = [&](std::size_t task) { return tasks[task].kind == TaskKind::kGpu; };
  const auto name_of_event = [&](HostEventId event) {
    return event.valid() ? store.Text(store.host_events.name[event.index()]) : std::string_view();
  };
  const auto index = [](std::size_t task) { return static_cast<TaskIndex>(task); };
  if (name == "kind")
    return TextColumn(tasks.size(), [&](std::size_t t) { return NameOfKind(tasks[t].kind); });
  if (name == "name")
    return TextColumn(tasks.size(), [&](std::size_t t) { return job.NameOf(index(t)); });
  if (name == "operator") {
    return TextColumn(tasks.size(),
                      [&](std::size_t t) { return name_of_event(job.ContextOf(index(t)).op); });
  }
  if (name == "layer") {
    return TextColumn(tasks.size(),
                      [&](std::size_t t) { return name_of_event(job.ContextOf(index(t)).layer); });
  }
  if (name == "phase") {
    return TextColumn(tasks.size(),
                      [&](std::size_t t) { return NameOfPhase(job.ContextOf(index(t)).phase); });
  }
  if (name == "family") {
    return TextColumn(tasks.size(), [&](std::size_t t) {
      return is_gpu(t) ? Name(job.ClassOf(index(t)).family) : std::string_view();
    });
  }
  if (name == "thread") {
    return TextColumn(tasks.size(), [&](std::size_t t) {
      if (is_gpu(t)) return std::string_view();
      return store.Text(store.threads.tid[store.host_events.thread[tasks[t].row].index()]);
    });
  }
  if (name == "stream") {
    return IntegerColumn(tasks.size(), [&](std::size_t t) {
      return is_gpu(t) ? store.streams.number[store.gpu_tasks.stream[tasks[t].row].index()] : -1;
    });
  }
  if (name == "device") {
    return IntegerColumn(tasks.size(), [&](std::size_t t) {
      return is_gpu(t) ? store.devices.ordinal[store.DeviceOf(GpuTaskId(tasks[t].row)).index()]
                       : -1;
    });
  }
  if (name == "launch") {
    return IntegerColumn(tasks.size(),
                         [&](std::size_t t) { return NumberOf(job.LaunchOf(index(t))); });
  }
  ThrowNoColumn(name);
}

Column EdgeColumn(const std::shared_ptr<const Recording>& recording, std::string_view name) {
  const Graph& graph = recording->job().graph();
  const std::vector<Edge>& edges = graph.edges;
  if (name == "from_task") return MemberView<std::uint32_t>(edges, &edges.data()->from, recording);
  if (name == "from_end") return MemberView<bool>(edges, &edges.data()->from_end, recording);
  if (name == "cycles_back")
    return MemberView<std::uint8_t>(edges, &edges.data()->cycles_back, recording);
  if (name == "lag_ns") return MemberView<std::int64_t>(edges, &edges.data()->lag, recording);
  if (name == "to_task") {
    std::vector<std::uint32_t> to(edges.size());
    for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
      for (std::uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e)
        to[e] = task;
    }
    return OwnArray(std::move(to));
  }
  if (name == "kind")
    return TextColumn(edges.size(), [&](std::size_t e) { return Name(edges[e].kind); });
  if (name == "provenance")
    return TextColumn(edges.size(), [&](std::size_t e) { return Name(edges[e].provenance); });
  ThrowNoColumn(name);
}

Column GradientColumn(const std::shared_ptr<const Recording>& recording, std::string_view name) {
  std::vector<GradientStep> steps;
  {
    const std::unique_lock lock = recording->Lock();
    steps = FindGradients(recording->job());
  }
  std::vector<std::int64_t> values;
  for (const GradientStep& step : steps) {
    for (const Gradient& gradient : step.gradients) {
      if (name == "step") {
        values.push_back(recording->step_numbers()[gradient.ready]);
      } else if (name == "ready") {
        values.push_back(NumberOf(gradient.ready));
      } else if (name == "forward") {
        values.push_back(NumberOf(gradient.forward));
      } else if (name == "bytes") {
        values.push_back(static_cast<std::int64_t>(gradient.bytes));
      } else {
        ThrowNoColumn(name);
      }
    }
  }
  return OwnArray(std::move(values));
}

}  // namespace headroom::python
