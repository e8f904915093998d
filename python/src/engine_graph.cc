// The functions of engine.h over a recorded job and its editable graph.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "columns.h"
#include "editable_graph.h"
#include "engine_call.h"
#include "errors.h"
#include "recording.h"
#include "render/json_writer.h"
#include "replay.h"
#include "select.h"

namespace headroom::python {
namespace {

void WriteColumn(const Column& column, headroom_array* values, headroom_texts* texts,
                 std::int32_t* is_text) {
  *values = column.values;
  *texts = column.texts;
  *is_text = column.is_text ? 1 : 0;
}

Column ColumnOf(const std::shared_ptr<const Recording>& recording, std::string_view table,
                std::string_view name) {
  if (table == "tasks") return TaskColumn(recording, name);
  if (table == "edges") return EdgeColumn(recording, name);
  if (table == "gradients") return GradientColumn(recording, name);
  ThrowUsage("no such table: " + std::string(table));
}

template <typename T>
headroom_array PathColumn(const ReplayResult& replay, T ReplayResult::Link::*member) {
  std::vector<T> values;
  values.reserve(replay.critical_path.size());
  for (const ReplayResult::Link& link : replay.critical_path) values.push_back(link.*member);
  return OwnArray(std::move(values));
}

Column ColumnOf(const std::shared_ptr<const ReplayResult>& replay, std::string_view name) {
  if (name == "starts_ns")
    return MemberView<std::int64_t>(replay->starts, replay->starts.data(), replay);
  if (name == "ends_ns") return MemberView<std::int64_t>(replay->ends, replay->ends.data(), replay);
  if (name == "path_tasks") return PathColumn(*replay, &ReplayResult::Link::task);
  if (name == "path_lags_ns") return PathColumn(*replay, &ReplayResult::Link::lag_ns);
  if (name == "path_runs_ns") return PathColumn(*replay, &ReplayResult::Link::ran_ns);
  if (name == "path_edges") {
    return TextColumn(replay->critical_path.size(), [&](std::size_t i) {
      const char* const edge = replay->critical_path[i].edge;
      return edge == nullptr ? std::string_view() : std::string_view(edge);
    });
  }
  ThrowUsage("no such column: " + std::string(name));
}

std::optional<std::string> TextOf(const char* text) {
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

Criteria CriteriaOf(const headroom_criteria& given) {
  Criteria criteria;
  criteria.kernel = TextOf(given.kernel);
  criteria.op = TextOf(given.op);
  criteria.layer = TextOf(given.layer);
  criteria.phase = TextOf(given.phase);
  criteria.family = TextOf(given.family);
  if (given.has_stream != 0) criteria.stream = given.stream;
  if (given.has_device != 0) criteria.device = given.device;
  if (given.has_step != 0) criteria.step = given.step;
  if (given.where != nullptr)
    criteria.where = std::vector<bool>(given.where, given.where + given.where_rows);
  return criteria;
}

std::int64_t EditSelected(EditableGraph& graph, std::string_view edit, const Selected& selected,
                          double value) {
  if (edit == "scale") {
    graph.Scale(selected, value);
  } else if (edit == "set_duration") {
    graph.SetDuration(selected, value);
  } else if (edit == "remove") {
    graph.Remove(selected);
  } else if (edit == "scale_host") {
    graph.ScaleHost(selected, value);
  } else if (edit == "remove_waits") {
    return graph.RemoveWaits(selected);
  } else {
    ThrowUsage("no such edit: " + std::string(edit));
  }
  return 0;
}

std::optional<double> Given(const double* value) {
  return value == nullptr ? std::nullopt : std::optional(*value);
}

/// Returns the graph to edit. Only graphs change; everything else that C holds is immutable.
EditableGraph& Edited(headroom_object* graph) {
  return const_cast<EditableGraph&>(As<EditableGraph>(graph));
}

}  // namespace
}  // namespace headroom::python

using namespace headroom::python;  // NOLINT(google-build-using-namespace): the functions of C.

int headroom_job_open(const headroom_object* trace, const headroom_options* options,
                      headroom_object** job) {
  return Call([&] {
    *job = Give(std::make_shared<const Recording>(Shared<Trace>(trace), OptionsOf(*options)));
  });
}

int headroom_job_head(const headroom_object* job, headroom_object** json) {
  return Call([&] {
    const auto& recording = As<Recording>(job);
    const headroom::Job& found = recording.job();
    headroom::JsonWriter writer;
    writer.BeginObject();
    writer.Key("step_ms").Number(recording.step_ms());
    writer.Key("recorded_step_ms")
        .Number(found.step_time().value_or(found.graph().recorded_step).ms());
    writer.Key("steps").Integer(static_cast<int64_t>(found.graph().steps));
    writer.Key("tasks").Integer(static_cast<int64_t>(found.graph().tasks.size()));
    writer.Key("edges").Integer(static_cast<int64_t>(found.graph().edges.size()));
    writer.Key("calibration").String(recording.calibration());
    writer.EndObject();
    *json = GiveText(std::move(writer).Take());
  });
}

int headroom_job_column(const headroom_object* job, const char* table, const char* column,
                        headroom_array* values, headroom_texts* texts, int32_t* is_text) {
  return Call([&] {
    WriteColumn(ColumnOf(Shared<Recording>(job), table, column), values, texts, is_text);
  });
}

int headroom_job_whatif(const headroom_object* job, const char* const* scenarios, int64_t count,
                        headroom_object** json) {
  return Call([&] {
    const std::vector<std::string> names(scenarios, scenarios + count);
    *json = GiveText(As<Recording>(job).WhatifJson(names));
  });
}

int headroom_graph_new(const headroom_object* job, headroom_object** graph) {
  return Call([&] { *graph = Give(std::make_shared<EditableGraph>(Shared<Recording>(job))); });
}

int headroom_graph_copy(const headroom_object* graph, headroom_object** copy) {
  return Call([&] { *copy = Give(std::make_shared<EditableGraph>(As<EditableGraph>(graph))); });
}

int headroom_graph_reset(headroom_object* graph) {
  return Call([&] { Edited(graph).Reset(); });
}

int headroom_graph_counts(const headroom_object* graph, int64_t counts[3]) {
  return Call([&] {
    const headroom::EditCounts& all = As<EditableGraph>(graph).counts();
    counts[0] = static_cast<int64_t>(all.tasks);
    counts[1] = static_cast<int64_t>(all.inserted);
    counts[2] = static_cast<int64_t>(all.removed);
  });
}

int headroom_graph_column(const headroom_object* graph, const char* column,
                          headroom_array* values) {
  return Call([&] {
    const auto& edits = As<EditableGraph>(graph);
    const std::string_view name = column;
    if (name == "durations_ns") {
      *values = OwnArray(edits.Durations());
    } else if (name == "work_before_ns") {
      *values = OwnArray(edits.WorkBefore());
    } else {
      ThrowUsage("no such column: " + std::string(name));
    }
  });
}

int headroom_graph_select(const headroom_object* graph, const headroom_criteria* criteria,
                          headroom_object** selected) {
  return Call([&] {
    *selected = Give(std::make_shared<const Selected>(
        Select(*As<EditableGraph>(graph).recording(), CriteriaOf(*criteria))));
  });
}

int headroom_selected(const headroom_object* selected, headroom_array* tasks, int32_t* has_host) {
  return Call([&] {
    const auto& found = As<Selected>(selected);
    *tasks = OwnArray(std::vector<std::int64_t>(found.tasks.begin(), found.tasks.end()));
    const bool any = std::find(found.host.begin(), found.host.end(), true) != found.host.end();
    *has_host = found.everything || any ? 1 : 0;
  });
}

int headroom_graph_time_ms(const headroom_object* graph, const headroom_object* selected,
                           double* ms) {
  return Call([&] { *ms = As<EditableGraph>(graph).TimeMs(As<Selected>(selected)); });
}

int headroom_graph_edit(headroom_object* graph, const char* edit, const headroom_object* selected,
                        double value, int64_t* count) {
  return Call([&] { *count = EditSelected(Edited(graph), edit, As<Selected>(selected), value); });
}

int headroom_graph_insert(headroom_object* graph, const headroom_object* selected, int32_t before,
                          double duration_us, const double* host_us, const double* launch_us,
                          headroom_array* tasks) {
  return Call([&] {
    const Insertion insertion = {duration_us, Given(host_us), Given(launch_us)};
    EditableGraph& edits = Edited(graph);
    const auto& where = As<Selected>(selected);
    *tasks = OwnArray(before != 0 ? edits.InsertBefore(where, insertion)
                                  : edits.InsertAfter(where, insertion));
  });
}

int headroom_graph_channel(headroom_object* graph, const char* name, const char* policy) {
  return Call([&] { Edited(graph).Channel(name, policy); });
}

int headroom_graph_insert_transfer(headroom_object* graph, const char* channel, double duration_us,
                                   int32_t priority, const int64_t* after, int64_t after_rows,
                                   const int64_t* before, int64_t before_rows, int64_t* task) {
  return Call([&] {
    *task = Edited(graph).Insert(
        channel,
        {duration_us, priority, {after, after + after_rows}, {before, before + before_rows}});
  });
}

int headroom_graph_channel_tasks(const headroom_object* graph, const char* channel,
                                 int64_t* tasks) {
  return Call([&] { *tasks = As<EditableGraph>(graph).ChannelTasks(channel); });
}

int headroom_graph_scale_channel(headroom_object* graph, const char* channel, double factor) {
  return Call([&] { Edited(graph).ScaleChannel(channel, factor); });
}

int headroom_graph_clear_channel(headroom_object* graph, const char* channel) {
  return Call([&] { Edited(graph).ClearChannel(channel); });
}

int headroom_graph_apply(headroom_object* graph, const char* scenario, headroom_object** remarks) {
  return Call([&] { *remarks = GiveText(Edited(graph).Apply(scenario)); });
}

int headroom_graph_replay(const headroom_object* graph, headroom_object** replay) {
  return Call([&] {
    const auto& edits = As<EditableGraph>(graph);
    *replay = Give(std::make_shared<const ReplayResult>(
        ReplayEdited(edits.recording()->job(), edits.Finish(), edits.numbers())));
  });
}

int headroom_replay_head(const headroom_object* replay, headroom_object** json) {
  return Call([&] {
    const auto& result = As<ReplayResult>(replay);
    headroom::JsonWriter writer;
    writer.BeginObject();
    writer.Key("step_ms").Number(result.step_ms);
    writer.Key("step_walls_ms").BeginArray();
    for (const double wall : result.step_walls_ms) writer.Number(wall);
    writer.EndArray();
    writer.Key("settled").Bool(result.settled);
    writer.EndObject();
    *json = GiveText(std::move(writer).Take());
  });
}

int headroom_replay_column(const headroom_object* replay, const char* column,
                           headroom_array* values, headroom_texts* texts, int32_t* is_text) {
  return Call(
      [&] { WriteColumn(ColumnOf(Shared<ReplayResult>(replay), column), values, texts, is_text); });
}
