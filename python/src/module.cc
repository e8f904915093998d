// headroom._engine: the functions behind the classes of python/headroom, one per primitive.
// Translates errors of the engine into exceptions, and releases the GIL during long operations.
#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "columns.h"
#include "editable_graph.h"
#include "errors.h"
#include "recording.h"
#include "replay.h"
#include "select.h"
#include "tables.h"

namespace py = pybind11;

namespace headroom::python {
namespace {

using Range = std::optional<std::pair<std::int64_t, std::int64_t>>;

/// Runs a long operation of the engine without the GIL.
template <typename Work>
auto WithoutGil(const Work& work) {
  const py::gil_scoped_release released;
  return work();
}

std::optional<std::vector<bool>> MaskOf(const py::object& where) {
  if (where.is_none()) return std::nullopt;
  const auto array = py::array_t<bool, py::array::c_style>::ensure(where);
  if (!array || !py::isinstance<py::array_t<bool>>(where) || array.ndim() != 1)
    ThrowUsage(
        "where: requires a function of a task, or an array of bool with a value for each task");
  return std::vector<bool>(array.data(), array.data() + array.size());
}

JobOptions OptionsOf(const Range& steps, std::string step_marker, std::optional<std::int64_t> rank,
                     std::optional<double> measured_step_ms, std::string calibration,
                     bool local_state) {
  if (measured_step_ms && !(*measured_step_ms > 0))
    ThrowUsage("measured_step_ms: requires milliseconds above 0");
  return {.steps = {.steps = steps, .step_marker = std::move(step_marker), .rank = rank},
          .measured_step_ms = measured_step_ms,
          .calibration = {.path = std::move(calibration), .no_local_state = !local_state}};
}

void RegisterErrors(py::module_& module) {
  // Never freed: errors may occur during interpreter shutdown.
  const auto add = [&](const char* name, PyObject* base, const char* doc) {
    PyObject* const type = PyErr_NewExceptionWithDoc(fmt::format("headroom.{}", name).c_str(), doc,
                                                     base, /*dict=*/nullptr);
    if (type == nullptr) throw py::error_already_set();
    module.add_object(name, type);
    return type;
  };
  static PyObject* const trace_error =
      add("TraceError", PyExc_Exception, "The file is unreadable or not a trace.");
  static PyObject* const does_not_apply = add(
      "DoesNotApply", PyExc_ValueError,
      "The trace lacks data that a scenario requires; the message names the data and the remedy.");
  // NOLINTNEXTLINE(performance-unnecessary-value-param): pybind11 calls it by value.
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const DoesNotApplyError& error) {
      PyErr_SetString(does_not_apply, error.what());
    } catch (const StatusError& error) {
      PyErr_SetString(error.code() == StatusCode::kBadInput || error.code() == StatusCode::kNoAnswer
                          ? trace_error
                      : error.code() == StatusCode::kUsage ? PyExc_ValueError
                                                           : PyExc_RuntimeError,
                      error.what());
    }
  });
}

void BindTrace(py::module_& module) {
  py::class_<Trace, std::shared_ptr<Trace>>(module, "Trace")
      .def(py::init([](std::string path) {
             return WithoutGil([&] { return std::make_shared<Trace>(std::move(path)); });
           }),
           py::arg("path"))
      .def_property_readonly("path", &Trace::path)
      .def(
          "report_json",
          [](const Trace& trace, const Range& steps, std::string step_marker,
             std::optional<std::int64_t> rank, std::optional<double> measured_step_ms,
             std::string calibration, bool local_state) {
            const JobOptions options =
                OptionsOf(steps, std::move(step_marker), rank, measured_step_ms,
                          std::move(calibration), local_state);
            return WithoutGil([&] { return trace.ReportJson(options); });
          },
          py::arg("steps"), py::arg("step_marker"), py::arg("rank"), py::arg("measured_step_ms"),
          py::arg("calibration"), py::arg("local_state"))
      .def("table_schemas", &TableSchemas)
      .def("table_rows", &TableRows, py::arg("table"))
      .def("table_column", &TableColumnView, py::arg("table"), py::arg("column"))
      .def_property_readonly("texts",
                             [](const Trace& trace) { return trace.store().strings.size(); })
      .def("texts_of", &TextsOf, py::arg("ids"))
      .def(
          "id_of_text",
          [](const Trace& trace, const py::bytes& text) -> std::optional<std::uint32_t> {
            const StringId id = trace.store().strings.Find(std::string_view(text));
            return id.valid() ? std::optional(id.index()) : std::nullopt;
          },
          py::arg("text"))
      .def("query", &RunQuery, py::arg("sql"), py::arg("timeout_s"), py::arg("memory_mb"));

  py::class_<QueryRows, std::shared_ptr<QueryRows>>(module, "QueryRows")
      .def_property_readonly("names", &QueryRows::names)
      .def_property_readonly("rows", &QueryRows::rows)
      .def("column", &QueryRows::Column, py::arg("column"));

  py::class_<Recording, std::shared_ptr<Recording>>(module, "Recording")
      .def(py::init([](std::shared_ptr<Trace> trace, const Range& steps, std::string step_marker,
                       std::optional<double> measured_step_ms, std::string calibration,
                       bool local_state) {
             const JobOptions options =
                 OptionsOf(steps, std::move(step_marker), std::nullopt, measured_step_ms,
                           std::move(calibration), local_state);
             return WithoutGil(
                 [&] { return std::make_shared<Recording>(std::move(trace), options); });
           }),
           py::arg("trace"), py::arg("steps"), py::arg("step_marker"), py::arg("measured_step_ms"),
           py::arg("calibration"), py::arg("local_state"))
      .def_property_readonly("step_ms", &Recording::step_ms)
      .def_property_readonly("recorded_step_ms",
                             [](const Recording& recording) {
                               const Job& job = recording.job();
                               return job.step_time().value_or(job.graph().recorded_step).ms();
                             })
      .def_property_readonly(
          "steps", [](const Recording& recording) { return recording.job().graph().steps; })
      .def_property_readonly(
          "tasks", [](const Recording& recording) { return recording.job().graph().tasks.size(); })
      .def_property_readonly(
          "edges", [](const Recording& recording) { return recording.job().graph().edges.size(); })
      .def_property_readonly("calibration", &Recording::calibration)
      .def("task_column", [](const std::shared_ptr<Recording>& self,
                             const std::string& name) { return TaskColumn(self, name); })
      .def("edge_column", [](const std::shared_ptr<Recording>& self,
                             const std::string& name) { return EdgeColumn(self, name); })
      .def("gradient_column", [](const std::shared_ptr<Recording>& self,
                                 const std::string& name) { return GradientColumn(self, name); })
      .def(
          "whatif_json",
          [](const Recording& recording, const std::vector<std::string>& scenarios) {
            return WithoutGil([&] { return recording.WhatifJson(scenarios); });
          },
          py::arg("scenarios"));
}

void BindGraph(py::module_& module) {
  py::class_<Selected>(module, "Selected")
      .def_property_readonly(
          "tasks",
          [](const Selected& self) {
            return OwnArray(std::vector<std::int64_t>(self.tasks.begin(), self.tasks.end()));
          })
      .def_property_readonly("has_host", [](const Selected& self) {
        return self.everything ||
               std::find(self.host.begin(), self.host.end(), true) != self.host.end();
      });

  py::class_<EditableGraph>(module, "EditableGraph")
      .def(py::init([](std::shared_ptr<Recording> recording) {
             return std::make_unique<EditableGraph>(std::move(recording));
           }),
           py::arg("recording"))
      .def("copy",
           [](const EditableGraph& graph) { return std::make_unique<EditableGraph>(graph); })
      .def("reset", &EditableGraph::Reset)
      .def_property_readonly("counts",
                             [](const EditableGraph& graph) {
                               const EditCounts& counts = graph.counts();
                               return py::make_tuple(counts.tasks, counts.inserted, counts.removed);
                             })
      .def("durations_ns", [](const EditableGraph& graph) { return OwnArray(graph.Durations()); })
      .def("work_before_ns",
           [](const EditableGraph& graph) { return OwnArray(graph.WorkBefore()); })
      .def(
          "select",
          [](const EditableGraph& graph, std::optional<std::string> kernel,
             std::optional<std::string> op, std::optional<std::string> layer,
             std::optional<std::string> phase, std::optional<std::string> family,
             std::optional<std::int64_t> stream, std::optional<std::int64_t> device,
             std::optional<std::int64_t> step, const py::object& where) {
            return Select(*graph.recording(), {.kernel = std::move(kernel),
                                               .op = std::move(op),
                                               .layer = std::move(layer),
                                               .phase = std::move(phase),
                                               .family = std::move(family),
                                               .stream = stream,
                                               .device = device,
                                               .step = step,
                                               .where = MaskOf(where)});
          },
          py::arg("kernel"), py::arg("operator"), py::arg("layer"), py::arg("phase"),
          py::arg("family"), py::arg("stream"), py::arg("device"), py::arg("step"),
          py::arg("where"))
      .def("time_ms", &EditableGraph::TimeMs)
      .def("scale", &EditableGraph::Scale)
      .def("set_duration", &EditableGraph::SetDuration)
      .def("remove", &EditableGraph::Remove)
      .def("scale_host", &EditableGraph::ScaleHost)
      .def("remove_waits", &EditableGraph::RemoveWaits)
      .def("insert_before",
           [](EditableGraph& graph, const Selected& selected, double duration_us,
              std::optional<double> host_us, std::optional<double> launch_us) {
             return OwnArray(graph.InsertBefore(selected, {duration_us, host_us, launch_us}));
           })
      .def("insert_after",
           [](EditableGraph& graph, const Selected& selected, double duration_us,
              std::optional<double> host_us, std::optional<double> launch_us) {
             return OwnArray(graph.InsertAfter(selected, {duration_us, host_us, launch_us}));
           })
      .def("channel", &EditableGraph::Channel)
      .def("insert_transfer",
           [](EditableGraph& graph, std::string_view channel, double duration_us,
              std::int32_t priority, std::vector<std::int64_t> after,
              std::vector<std::int64_t> before) {
             return graph.Insert(channel,
                                 {duration_us, priority, std::move(after), std::move(before)});
           })
      .def("channel_tasks", &EditableGraph::ChannelTasks)
      .def("scale_channel", &EditableGraph::ScaleChannel)
      .def("clear_channel", &EditableGraph::ClearChannel)
      .def("apply", &EditableGraph::Apply)
      .def("replay", [](const EditableGraph& graph) {
        const EditedPlan plan = graph.Finish();
        const std::size_t numbers = graph.numbers();
        const std::shared_ptr<const Recording>& recording = graph.recording();
        return WithoutGil([&] { return ReplayEdited(recording->job(), plan, numbers); });
      });
}

/// Returns one column of the critical path.
template <typename T>
py::array PathColumn(const ReplayResult& replay, T ReplayResult::Link::*member) {
  std::vector<T> values;
  values.reserve(replay.critical_path.size());
  for (const ReplayResult::Link& link : replay.critical_path) values.push_back(link.*member);
  return OwnArray(std::move(values));
}

void BindReplay(py::module_& module) {
  py::class_<ReplayResult, std::shared_ptr<ReplayResult>>(module, "ReplayResult")
      .def_readonly("step_ms", &ReplayResult::step_ms)
      .def_readonly("step_walls_ms", &ReplayResult::step_walls_ms)
      .def_readonly("settled", &ReplayResult::settled)
      .def("starts_ns",
           [](const std::shared_ptr<ReplayResult>& self) {
             return MemberView<std::int64_t>(self->starts, self->starts.data(),
                                             KeepAlive<ReplayResult>(self));
           })
      .def("ends_ns",
           [](const std::shared_ptr<ReplayResult>& self) {
             return MemberView<std::int64_t>(self->ends, self->ends.data(),
                                             KeepAlive<ReplayResult>(self));
           })
      .def("path_tasks",
           [](const ReplayResult& self) { return PathColumn(self, &ReplayResult::Link::task); })
      .def("path_lags_ns",
           [](const ReplayResult& self) { return PathColumn(self, &ReplayResult::Link::lag_ns); })
      .def("path_runs_ns",
           [](const ReplayResult& self) { return PathColumn(self, &ReplayResult::Link::ran_ns); })
      .def("path_edges", [](const ReplayResult& self) {
        return TextColumn(self.critical_path.size(), [&](std::size_t i) {
          const char* const edge = self.critical_path[i].edge;
          return edge == nullptr ? std::string_view() : std::string_view(edge);
        });
      });
}

#define HEADROOM_PYBIND11_KNOWS_NUMPY_2 \
  (PYBIND11_VERSION_MAJOR > 2 || (PYBIND11_VERSION_MAJOR == 2 && PYBIND11_VERSION_MINOR >= 12))

/// Throws ImportError if this pybind11 misreads the installed NumPy. pybind11 before 2.12 treats
/// NumPy 2's arrays as NumPy 1's, which gives wrong numbers and then a crash.
void RefuseUnknownNumpy() {
  if (HEADROOM_PYBIND11_KNOWS_NUMPY_2) return;
  std::string version;
  try {
    version =
        py::module_::import("importlib.metadata").attr("version")("numpy").cast<std::string>();
  } catch (const py::error_already_set&) {
    return;  // NumPy is missing; the package reports that when it needs NumPy.
  }
  if (version.starts_with("0.") || version.starts_with("1.")) return;
  throw py::import_error(
      "headroom's engine was built with pybind11 " PYBIND11_TOSTRING(PYBIND11_VERSION_MAJOR) "." PYBIND11_TOSTRING(
          PYBIND11_VERSION_MINOR) ", which misreads NumPy " +
      version + ": pip install 'numpy<2', or build Headroom with pybind11 2.12 or later");
}

}  // namespace

PYBIND11_MODULE(_engine, module) {
  RefuseUnknownNumpy();
  module.doc() = "Headroom's engine; use the package headroom.";
  module.attr("__version__") = HEADROOM_VERSION;
  RegisterErrors(module);
  BindTrace(module);
  BindGraph(module);
  BindReplay(module);
}

}  // namespace headroom::python
