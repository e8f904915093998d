// SQL over the tables of a trace: read-only, with limits on time and memory.
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

/// A binary value. QueryValue is null, a number, text, or bytes.
struct QueryBytes {
  std::string_view bytes;
};
using QueryValue = std::variant<std::monostate, std::int64_t, double, std::string_view, QueryBytes>;

struct QueryLimits {
  DurationNs time = {};  ///< Time limit of a statement; 0: none.
  /// Memory limit of a statement, in addition to the trace; 0: none.
  std::int64_t memory_bytes = 0;
  /// Stops the statement once this flag is true; nullptr: never.
  const std::atomic<bool>* interrupted = nullptr;
  /// Options that raise the limits, for error messages.
  std::string_view more_time = "--timeout-s N", more_memory = "--memory-mb N";
  /// Text before the statement in its source, for the positions in error messages.
  std::string_view before = {};
};

/// Receives a result row by row.
class QuerySink {
 public:
  virtual ~QuerySink() = default;
  virtual void Begin(std::span<const std::string> columns) = 0;
  /// Adds a row, whose text lives until the call returns. Returns false to stop the query.
  virtual bool Add(std::span<const QueryValue> row) = 0;
};

/// A view in addition to the tables.
struct QueryView {
  /// Describes the column with the same index in `select`.
  struct Column {
    std::string_view name;
    /// Table column that supplies the value, e.g. "gpu_tasks.start_ns"; if empty, the members below
    /// describe the column.
    std::string_view origin;
    std::string_view type = {}, unit = {}, sentence = {};
    bool nullable = false;
  };
  std::string_view name, sentence, select;
  std::span<const Column> columns;
};
std::span<const QueryView> QueryViews();

/// A connection to the tables of a trace. Only one thread may use it at a time; several connections
/// may share the tables.
class Database {
 public:
  /// `tables` must outlive the database.
  static Result<std::unique_ptr<Database>> Open(QueryTables& tables);
  ~Database();

  /// Runs the first statement of `sql` and passes its rows to `sink`. Returns the text after the
  /// statement; blank text holds no further statement. Runs nothing if `sql` contains only
  /// comments.
  ///
  /// Fails with kUsage and the place if the SQL is invalid, contains an unknown name, or is not
  /// allowed; also if the statement was interrupted. Fails with kEnvironment if the statement
  /// exceeds a limit. The sink may have received rows before a failure.
  Result<std::string_view> RunFirst(std::string_view sql, const QueryLimits& limits,
                                    QuerySink& sink);

  /// Returns true if `sql` contains more than blanks and comments. Invalid SQL counts as a
  /// statement.
  bool HoldsStatement(std::string_view sql) const;

  /// Returns true if `text` ends with a whole statement, including its semicolon.
  static bool IsComplete(const std::string& text);

 private:
  struct Running;

  explicit Database(sqlite3* connection) : connection_(connection) {}
  Status MakeSchema(QueryTables& tables);
  Status Explain(int code, std::string_view sql, const Running& running,
                 const QueryLimits& limits) const;
  std::string Hint(std::string_view message) const;

  sqlite3* connection_;
  /// Names of tables, views and all their columns, without duplicates.
  std::vector<std::string> names_;
};

}  // namespace headroom
