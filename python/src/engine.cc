// The functions of engine.h over a trace and its tables; engine_graph.cc has those over a job.
#include <atomic>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "columns.h"
#include "engine_call.h"
#include "errors.h"
#include "query/table_module.h"
#include "query_rows.h"
#include "recording.h"
#include "render/json_writer.h"

namespace headroom::python {
namespace {

std::string_view NameOfKind(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kInt64:
      return "int64";
    case ColumnKind::kInt32:
      return "int32";
    case ColumnKind::kReal:
      return "real";
    case ColumnKind::kString:
      return "string";
    case ColumnKind::kRow:
      return "row";
    case ColumnKind::kLabel:
      return "label";
    case ColumnKind::kFlag:
      return "flag";
  }
  return "";
}

/// Returns the table and computes it first if necessary.
const Table& Loaded(const Trace& trace, std::int64_t table) {
  const TraceTables& tables = trace.tables().tables();
  if (table < 0 || table >= static_cast<std::int64_t>(tables.size())) ThrowUsage("no such table");
  const auto index = static_cast<std::size_t>(table);
  if (const Status status = tables.Load(index); !status.ok()) throw StatusError(status);
  return tables.table(index);
}

std::string TablesJson(const TraceTables& tables) {
  JsonWriter json;
  json.BeginArray();
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Table& table = tables.table(i);
    json.BeginArray();
    json.String(table.name);
    json.String(table.sentence);
    json.Bool(tables.IsComputed(i));
    if (tables.IsComputed(i)) {
      json.Null();
    } else {
      json.Integer(static_cast<std::int64_t>(table.rows));
    }
    json.BeginArray();
    for (const TableColumn& column : table.columns) {
      json.BeginArray();
      json.String(column.name);
      json.String(NameOfKind(column.kind));
      json.String(column.unit);
      json.Bool(column.nullable);
      json.String(column.refers);
      json.BeginArray();
      for (const std::string_view label : column.labels) json.String(label);
      json.EndArray();
      json.String(column.sentence);
      json.EndArray();
    }
    json.EndArray();
    json.EndArray();
  }
  json.EndArray();
  return std::move(json).Take();
}

headroom_array ViewOf(const Table& table, std::int64_t column,
                      const std::shared_ptr<const Trace>& owner) {
  if (column < 0 || column >= static_cast<std::int64_t>(table.columns.size()))
    ThrowUsage("no such column");
  const TableColumn& found = table.columns[static_cast<std::size_t>(column)];
  switch (found.kind) {
    case ColumnKind::kInt64:
      return ValuesView<std::int64_t>(found.data, table.rows, owner);
    case ColumnKind::kInt32:
      return ValuesView<std::int32_t>(found.data, table.rows, owner);
    case ColumnKind::kReal:
      return ValuesView<double>(found.data, table.rows, owner);
    case ColumnKind::kString:
    case ColumnKind::kRow:
      return ValuesView<std::uint32_t>(found.data, table.rows, owner);
    case ColumnKind::kLabel:
      return ValuesView<std::uint8_t>(found.data, table.rows, owner);
    case ColumnKind::kFlag:
      break;
  }
  return ValuesView<bool>(found.data, table.rows, owner);
}

headroom_texts TextsOf(const StringPool& strings, const std::uint32_t* ids, std::int64_t count) {
  TextList texts;
  std::vector<std::int64_t> codes;
  for (std::int64_t i = 0; i < count; ++i) {
    if (ids[i] >= strings.size()) ThrowUsage("no such text");
    texts.Add(strings.Get(StringId(ids[i])));
    codes.push_back(i);
  }
  return std::move(texts).Take(std::move(codes));
}

/// The message of this thread's last failure.
std::string& LastMessage() {
  thread_local std::string message;
  return message;
}

}  // namespace

int Failed() noexcept {
  const auto failed = [](int code, const char* message) {
    try {
      LastMessage() = message;
    } catch (const std::bad_alloc&) {
      LastMessage().clear();  // The code alone.
    }
    return code;
  };
  try {
    throw;
  } catch (const DoesNotApplyError& error) {
    return failed(HEADROOM_DOES_NOT_APPLY, error.what());
  } catch (const StatusError& error) {
    switch (error.code()) {
      case StatusCode::kBadInput:
      case StatusCode::kNoAnswer:
        return failed(HEADROOM_TRACE, error.what());
      case StatusCode::kUsage:
        return failed(HEADROOM_USAGE, error.what());
      default:
        return failed(HEADROOM_ENVIRONMENT, error.what());
    }
  } catch (const std::bad_alloc&) {
    return failed(HEADROOM_ENVIRONMENT, "out of memory");
  } catch (const std::exception& error) {
    return failed(HEADROOM_ENVIRONMENT, error.what());
  } catch (...) {
    return failed(HEADROOM_ENVIRONMENT, "internal error");
  }
}

JobOptions OptionsOf(const headroom_options& given) {
  JobOptions options;
  if (given.has_steps != 0) options.steps.steps = {given.first_step, given.last_step};
  if (given.has_rank != 0) options.steps.rank = given.rank;
  options.steps.step_marker = given.step_marker;
  if (given.has_measured_step_ms != 0) {
    if (!(given.measured_step_ms > 0))
      ThrowUsage("measured_step_ms: requires milliseconds above 0");
    options.measured_step_ms = given.measured_step_ms;
  }
  options.calibration = {.path = given.calibration, .no_local_state = given.local_state == 0};
  return options;
}

}  // namespace headroom::python

using namespace headroom::python;  // NOLINT(google-build-using-namespace): the functions of C.
using headroom::StringId;

const char* headroom_version() { return HEADROOM_VERSION; }
const char* headroom_message() { return LastMessage().c_str(); }
void headroom_free(headroom_object* object) { delete object; }

const char* headroom_text(const headroom_object* text, int64_t* bytes) {
  const auto& held = As<std::string>(text);
  *bytes = static_cast<int64_t>(held.size());
  return held.data();
}

int headroom_trace_open(const char* path, headroom_object** trace) {
  return Call([&] { *trace = Give(std::make_shared<Trace>(path)); });
}

int headroom_trace_report(const headroom_object* trace, const headroom_options* options,
                          headroom_object** json) {
  return Call([&] { *json = GiveText(As<Trace>(trace).ReportJson(OptionsOf(*options))); });
}

int headroom_trace_tables(const headroom_object* trace, headroom_object** json) {
  return Call([&] { *json = GiveText(TablesJson(As<Trace>(trace).tables().tables())); });
}

int headroom_trace_rows(const headroom_object* trace, int64_t table, int64_t* rows) {
  return Call([&] { *rows = static_cast<int64_t>(Loaded(As<Trace>(trace), table).rows); });
}

int headroom_trace_column(const headroom_object* trace, int64_t table, int64_t column,
                          headroom_array* values) {
  return Call([&] {
    const std::shared_ptr<const Trace> owner = Shared<Trace>(trace);
    *values = ViewOf(Loaded(*owner, table), column, owner);
  });
}

int headroom_trace_text_count(const headroom_object* trace, int64_t* texts) {
  return Call([&] { *texts = static_cast<int64_t>(As<Trace>(trace).store().strings.size()); });
}

int headroom_trace_texts(const headroom_object* trace, const uint32_t* ids, int64_t count,
                         headroom_texts* texts) {
  return Call([&] { *texts = TextsOf(As<Trace>(trace).store().strings, ids, count); });
}

int headroom_trace_text_id(const headroom_object* trace, const char* text, int64_t bytes,
                           int64_t* id) {
  return Call([&] {
    const StringId found =
        As<Trace>(trace).store().strings.Find({text, static_cast<std::size_t>(bytes)});
    *id = found.valid() ? found.index() : -1;
  });
}

int headroom_stop_new(headroom_object** stop) {
  return Call([&] { *stop = Give(std::make_shared<std::atomic<bool>>(false)); });
}

int headroom_stop(headroom_object* stop) {
  // Made as a value that changes, two lines above.
  return Call([&] { const_cast<std::atomic<bool>&>(As<std::atomic<bool>>(stop)) = true; });
}

int headroom_trace_query(const headroom_object* trace, const char* sql, double timeout_s,
                         int64_t memory_mb, const headroom_object* stop, headroom_object** result) {
  return Call([&] {
    *result = Give(
        RunQuery(Shared<Trace>(trace), sql, timeout_s, memory_mb, As<std::atomic<bool>>(stop)));
  });
}

int headroom_query_head(const headroom_object* result, headroom_object** json) {
  return Call([&] {
    const auto& rows = As<QueryRows>(result);
    headroom::JsonWriter writer;
    writer.BeginObject();
    writer.Key("names").BeginArray();
    for (const std::string& name : rows.names()) writer.String(name);
    writer.EndArray();
    writer.Key("rows").Integer(static_cast<int64_t>(rows.rows()));
    writer.EndObject();
    *json = GiveText(std::move(writer).Take());
  });
}

int headroom_query_column(const headroom_object* result, int64_t column, headroom_array* kinds,
                          headroom_array* values) {
  return Call([&] {
    const std::shared_ptr<const QueryRows> rows = Shared<QueryRows>(result);
    const QueryRows::Values& cells = rows->column(column);
    const headroom_array all = ValuesView<std::uint8_t>(cells.kinds.data(), rows->rows(), rows);
    *values = ValuesView<std::int64_t>(cells.payload.data(), rows->rows(), rows);
    *kinds = all;
  });
}

int headroom_query_texts(const headroom_object* result, headroom_texts* texts) {
  return Call([&] { *texts = As<QueryRows>(result).Texts(); });
}
