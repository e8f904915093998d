#include "query/database.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "base/text.h"

namespace headroom {
namespace {

/// SQLite instructions between checks of the clock, which together take well below a millisecond.
constexpr int kInstructionsPerLook = 2000;
constexpr int kLongestText = 256 << 20;
constexpr int kLongestPattern = 1000;  ///< LIKE takes up to the square of the pattern's length.

constexpr std::string_view kOnlyRead =
    "queries are read-only: use SELECT, WITH, VALUES or EXPLAIN on the tables of the trace";

/// Allows a statement only to read.
int Authorize(void*, int action, const char*, const char* detail, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION: {
      // fts3_tokenizer would expose the address of a function.
      const std::string_view name(detail);
      return name == "load_extension" || name == "fts3_tokenizer" ? SQLITE_DENY : SQLITE_OK;
    }
    default:
      return SQLITE_DENY;
  }
}

/// Finalizes its statement on every exit path.
class Statement {
 public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }
  sqlite3_stmt* get() const { return statement_; }

 private:
  sqlite3_stmt* statement_;
};

/// Bounds SQLite's memory during this object's lifetime. SQLite has one bound per process, so
/// statements in several threads share the largest of their bounds.
class MemoryBound {
 public:
  explicit MemoryBound(std::int64_t bytes) : bounds_(bytes > 0) {
    if (!bounds_) return;
    const std::lock_guard lock(mutex);
    const std::int64_t bound = sqlite3_memory_used() + bytes;
    if (living++ == 0 || bound > sqlite3_hard_heap_limit64(-1)) sqlite3_hard_heap_limit64(bound);
  }
  MemoryBound(const MemoryBound&) = delete;
  MemoryBound& operator=(const MemoryBound&) = delete;
  ~MemoryBound() {
    if (!bounds_) return;
    const std::lock_guard lock(mutex);
    if (--living == 0) sqlite3_hard_heap_limit64(0);
  }

 private:
  static inline std::mutex mutex;
  static inline int living = 0;
  bool bounds_;
};

QueryValue ValueOf(sqlite3_stmt* statement, int column) {
  const auto bytes = [&](const void* data) {
    return std::string_view(static_cast<const char*>(data),
                            static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
  };
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT:
      return bytes(sqlite3_column_text(statement, column));
    case SQLITE_BLOB:
      return QueryBytes{bytes(sqlite3_column_blob(statement, column))};
    default:
      return std::monostate();
  }
}

/// Returns a place such as "line 2, column 7, at "frm host_events"".
std::string Place(std::string_view before_statement, std::string_view sql, std::size_t offset) {
  constexpr std::size_t kShown = 30;
  const std::string before = std::string(before_statement).append(sql.substr(0, offset));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t begin = before.rfind('\n') + 1;  // Uses npos + 1 == 0.
  std::string_view rest = sql.substr(offset);
  rest = rest.substr(0, rest.find('\n'));
  if (rest.empty()) return fmt::format("line {}, at its end", line);
  // Does not cut inside a UTF-8 character.
  std::size_t shown = std::min(kShown, rest.size());
  while (shown < rest.size() && (static_cast<unsigned char>(rest[shown]) & 0xC0) == 0x80) ++shown;
  return fmt::format("line {}, column {}, at \"{}{}\"", line, before.size() - begin + 1,
                     rest.substr(0, shown), shown < rest.size() ? "..." : "");
}

}  // namespace

/// Data of the progress handler.
struct Database::Running {
  std::chrono::steady_clock::time_point deadline;
  bool has_deadline = false;
  const std::atomic<bool>* interrupted = nullptr;
  bool late = false;

  static int Look(void* self) {
    auto& running = *static_cast<Running*>(self);
    if (running.interrupted != nullptr && running.interrupted->load(std::memory_order_relaxed))
      return 1;
    running.late = running.has_deadline && std::chrono::steady_clock::now() > running.deadline;
    return running.late ? 1 : 0;
  }
};

Result<std::unique_ptr<Database>> Database::Open(QueryTables& tables) {
  sqlite3* connection = nullptr;
  const int code =
      sqlite3_open_v2(":memory:", &connection,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  auto database = std::unique_ptr<Database>(new Database(connection));
  if (code != SQLITE_OK) return Status::Environment("cannot create a database in memory");
  if (Status status = database->MakeSchema(tables); !status.ok()) return status;
  return database;
}

Database::~Database() { sqlite3_close_v2(connection_); }

Status Database::MakeSchema(QueryTables& tables) {
  const auto failed = [&] {
    return Status::Environment(
        fmt::format("cannot create the tables: {}", sqlite3_errmsg(connection_)));
  };
  const auto execute = [&](const std::string& sql) {
    return sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  };
  if (RegisterTables(connection_, tables) != SQLITE_OK) return failed();
  // Sorts in memory, where the bound applies, so that no trace data goes into files.
  if (!execute("PRAGMA temp_store = MEMORY")) return failed();
  for (std::size_t i = 0; i < tables.tables().size(); ++i) {
    const Table& table = tables.tables().table(i);
    if (!execute(fmt::format("CREATE VIRTUAL TABLE {} USING headroom_table", table.name)))
      return failed();
    names_.push_back(table.name);
    for (const TableColumn& column : table.columns) names_.push_back(column.name);
  }
  for (const QueryView& view : QueryViews()) {
    if (!execute(fmt::format("CREATE VIEW {} AS {}", view.name, view.select))) return failed();
    names_.emplace_back(view.name);
  }
  std::sort(names_.begin(), names_.end());
  names_.erase(std::unique(names_.begin(), names_.end()), names_.end());

  sqlite3_db_config(connection_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  // Makes an unknown name in double quotes an error. SQLite would otherwise read it as a string.
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  // SQLite creates these two tables at first use, by operations that the authorizer would reject as
  // writes.
  for (const char* function : {"json_each", "json_tree"}) {
    if (!execute(fmt::format("SELECT 1 FROM {}('[]')", function))) return failed();
  }
  sqlite3_limit(connection_, SQLITE_LIMIT_LENGTH, kLongestText);
  sqlite3_limit(connection_, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, kLongestPattern);
  sqlite3_limit(connection_, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(connection_, SQLITE_LIMIT_WORKER_THREADS, 0);
  sqlite3_set_authorizer(connection_, Authorize, nullptr);
  return Status::Ok();
}

/// Returns a hint such as "; did you mean duration_ns?" for an unknown name.
std::string Database::Hint(std::string_view message) const {
  const std::size_t colon = message.find(": ");
  if (!message.starts_with("no such ") || colon == std::string_view::npos) return "";
  std::string_view word = message.substr(colon + 2);
  word = word.substr(word.rfind('.') + 1);
  std::vector<std::string_view> near =
      NearNames(word, std::vector<std::string_view>(names_.begin(), names_.end()));
  return near.empty() ? "" : fmt::format("; did you mean {}?", fmt::join(near, ", "));
}

Status Database::Explain(int code, std::string_view sql, const Running& running,
                         const QueryLimits& limits) const {
  constexpr int kPrimaryCode = 0xFF;
  switch (code & kPrimaryCode) {
    case SQLITE_INTERRUPT:
      if (!running.late) return Status::Usage("interrupted");
      return Status::Environment(
          fmt::format("the query was stopped after {} s; request less (one step, a range of "
                      "start_ns, a join by id), or allow more with {} (0: no limit)",
                      limits.time.ms() / 1e3, limits.more_time));
    case SQLITE_NOMEM:
      return Status::Environment(
          fmt::format("the query took more than {} MB of memory; sort or group fewer rows and "
                      "columns, or allow more with {} (0: no limit)",
                      limits.memory_bytes >> 20, limits.more_memory));
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return Status::Usage(std::string(kOnlyRead));
    default:
      break;
  }
  const std::string_view message = sqlite3_errmsg(connection_);
  // SQLite's messages for a write to a table and to a view.
  if (message.ends_with(" may not be modified") || message.starts_with("cannot modify "))
    return Status::Usage(std::string(kOnlyRead));
  const int offset = sqlite3_error_offset(connection_);
  return Status::Usage(fmt::format(
      "SQL: {}{}{}", message,
      offset >= 0 && static_cast<std::size_t>(offset) <= sql.size()
          ? fmt::format(" ({})", Place(limits.before, sql, static_cast<std::size_t>(offset)))
          : "",
      Hint(message)));
}

Result<std::string_view> Database::RunFirst(std::string_view sql, const QueryLimits& limits,
                                            QuerySink& sink) {
  constexpr std::size_t kLongest = 1'000'000;
  if (sql.size() > kLongest) return Status::Usage("SQL: the input is over 1 MB; shorten it");
  if (sql.find('\0') != std::string_view::npos)
    return Status::Usage("SQL: the input contains a zero byte; remove it");
  Running running;
  running.interrupted = limits.interrupted;
  running.has_deadline = limits.time > DurationNs(0);
  running.deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limits.time.ns());
  const MemoryBound bound(limits.memory_bytes);
  sqlite3_progress_handler(connection_, kInstructionsPerLook, Running::Look, &running);
  // Later calls must not refer to `running`.
  const auto remove = [](sqlite3* connection) {
    sqlite3_progress_handler(connection, 0, nullptr, nullptr);
  };
  const std::unique_ptr<sqlite3, decltype(remove)> handled(connection_, remove);

  sqlite3_stmt* prepared = nullptr;
  const char* tail = nullptr;
  int code =
      sqlite3_prepare_v2(connection_, sql.data(), static_cast<int>(sql.size()), &prepared, &tail);
  const Statement statement(prepared);
  if (code != SQLITE_OK) return Explain(code, sql, running, limits);
  const std::string_view rest = sql.substr(static_cast<std::size_t>(tail - sql.data()));
  if (prepared == nullptr) return rest;
  // A statement without result columns (REINDEX) is not a query.
  if (sqlite3_stmt_readonly(prepared) == 0 || sqlite3_column_count(prepared) == 0)
    return Explain(SQLITE_READONLY, sql, running, limits);
  if (sqlite3_bind_parameter_count(prepared) > 0) {
    return Status::Usage(fmt::format("SQL: the parameter {} has no value; write the value instead",
                                     sqlite3_bind_parameter_name(prepared, 1) == nullptr
                                         ? "?"
                                         : sqlite3_bind_parameter_name(prepared, 1)));
  }

  const int width = sqlite3_column_count(prepared);
  std::vector<std::string> columns;
  for (int i = 0; i < width; ++i) {
    const char* const name = sqlite3_column_name(prepared, i);
    if (name == nullptr) return Explain(SQLITE_NOMEM, sql, running, limits);
    columns.emplace_back(name);
  }
  sink.Begin(columns);
  std::vector<QueryValue> row(static_cast<std::size_t>(width));
  while ((code = sqlite3_step(prepared)) == SQLITE_ROW) {
    for (int i = 0; i < width; ++i) row[static_cast<std::size_t>(i)] = ValueOf(prepared, i);
    if (!sink.Add(row)) return rest;
  }
  if (code != SQLITE_DONE) return Explain(code, sql, running, limits);
  return rest;
}

bool Database::HoldsStatement(std::string_view sql) const {
  sqlite3_stmt* prepared = nullptr;
  const int code =
      sqlite3_prepare_v2(connection_, sql.data(), static_cast<int>(sql.size()), &prepared, nullptr);
  const Statement statement(prepared);
  return code != SQLITE_OK || prepared != nullptr;
}

bool Database::IsComplete(const std::string& text) { return sqlite3_complete(text.c_str()) != 0; }

}  // namespace headroom
