// SQL over the tables of a trace: read-only, bounded in time and memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "query/table_module.h"

struct sqlite3;  // NOLINT(readability-identifier-naming): the name that the library has.

namespace headroom {

/// A value of a result: null, a number, text, or bytes.
struct QueryBytes {
  std::string_view bytes;
};
using QueryValue = std::variant<std::monostate, std::int64_t, double, std::string_view, QueryBytes>;

struct QueryLimits {
  DurationNs time = {};           ///< A statement may run; 0: any.
  std::int64_t memory_bytes = 0;  ///< A statement may take beyond what the trace takes; 0: any.
  /// Ends the statement once it is set; nullptr: nothing does.
  const std::atomic<bool>* interrupted = nullptr;
  /// How whoever asks gives more of each, for messages.
  std::string_view more_time = "--timeout-s N", more_memory = "--memory-mb N";
  /// What stands before the statement in the text that holds it, for the places of mistakes.
  std::string_view before = {};
};

/// Takes a result row by row.
class QuerySink {
 public:
  virtual ~QuerySink() = default;
  virtual void Begin(std::span<const std::string> columns) = 0;
  /// Text lives until it returns. False: no more rows are wanted.
  virtual bool Add(std::span<const QueryValue> row) = 0;
};

/// A view that is there beside the tables.
struct QueryView {
  /// Of the column with the same number in `select`.
  struct Column {
    std::string_view name;
    std::string_view origin;  ///< "gpu_tasks.start_ns", whose value it is; else it has its own ...
    std::string_view type = {}, unit = {}, sentence = {};
    bool nullable = false;
  };
  std::string_view name, sentence, select;
  std::span<const Column> columns;
};
std::span<const QueryView> QueryViews();

/// A connection to the tables of a trace. One thread at a time; several connections may share the
/// tables.
class Database {
 public:
  /// `tables` outlives it.
  static Result<std::unique_ptr<Database>> Open(QueryTables& tables);
  ~Database();

  /// Runs the first statement of `sql` and gives its rows to `sink`. Returns what follows it; the
  /// text that is left holds no statement where it is blank. Nothing but comments: runs nothing.
  ///
  /// kUsage: it is no SQL, names what is not there, or is not allowed, with the place; or it was
  /// interrupted. kEnvironment: it went beyond a limit. The sink may have got rows before a
  /// failure.
  Result<std::string_view> RunFirst(std::string_view sql, const QueryLimits& limits,
                                    QuerySink& sink);

  /// Whether `sql` holds more than blanks and comments; what is no SQL counts as a statement.
  bool HoldsStatement(std::string_view sql) const;

  /// Whether `text` ends with a whole statement, its semicolon included.
  static bool IsComplete(const std::string& text);

 private:
  struct Running;

  explicit Database(sqlite3* connection) : connection_(connection) {}
  Status MakeSchema(QueryTables& tables);
  Status Explain(int code, std::string_view sql, const Running& running,
                 const QueryLimits& limits) const;
  std::string Hint(std::string_view message) const;

  sqlite3* connection_;
  std::vector<std::string> names_;  ///< Of tables, views and all their columns, each once.
};

}  // namespace headroom
