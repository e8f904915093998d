#include "ingest/input/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <limits>
#include <new>

#include "base/ascii.h"

namespace headroom::sqlite {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr int kStepsBetweenChecks = 1000;
/// A row occupies at least 4 bytes. Reading it takes a few steps of SQLite's virtual machine, plus
/// one per column.
constexpr std::int64_t kStepsPerByte = 64;
/// If a row fills a page, SQLite looks up the page once per column.
constexpr std::int64_t kLookupsPerPage = 64;
/// Each text is read once or twice. Conversion from UTF-16 to UTF-8 enlarges it by up to half.
constexpr std::int64_t kTextPerByte = 4;
constexpr std::int64_t kAlways = 1'000'000;

/// Returns a file name as part of SQLite's URI.
std::string UriOf(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    const bool plain = IsLetter(c) || IsDigit(c) || c == '/' || c == '.' || c == '_' || c == '-';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  // With immutable=1, SQLite takes no lock, rolls back no journal of another process, and writes no
  // other file.
  return uri + "?mode=ro&immutable=1";
}

std::string Quoted(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

/// Returns the number of pages that SQLite looked up, modulo kLookupsWrap.
constexpr int kLookupsWrap = 0x7fffffff;
int LookupsOf(sqlite3* connection) {
  int hits = 0, misses = 0, most = 0;
  sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_HIT, &hits, &most, 0);
  sqlite3_db_status(connection, SQLITE_DBSTATUS_CACHE_MISS, &misses, &most, 0);
  return static_cast<int>((static_cast<std::int64_t>(hits) + misses) & kLookupsWrap);
}

}  // namespace

bool SameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return ToLower(x) == ToLower(y); });
}

bool LooksLikeDatabase(std::string_view head) { return head.starts_with(kMagic); }

void RowScan::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

bool RowScan::Next() {
  if (!statement_) return false;
  if (budget_->text_bytes < 0) {
    damage_ = "its rows repeat more text than the file size allows";
    statement_.reset();
    return false;
  }
  if (--budget_->rows < 0) {
    damage_ = "it has too many rows for its size";
    statement_.reset();
    return false;
  }
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  sqlite3* const connection = sqlite3_db_handle(statement_.get());
  if (code == SQLITE_INTERRUPT) {
    damage_ = "its pages refer to each other in a cycle";
  } else if (code != SQLITE_DONE) {
    damage_ = sqlite3_errmsg(connection);
  }
  statement_.reset();
  // SQLite checks a page only when the page enters the cache, and keeps even a page that failed.
  // Empties the cache, so that the next scan checks the page again.
  if (!damage_.empty()) sqlite3_db_release_memory(connection);
  return false;
}

sqlite3_value* RowScan::ValueAt(int column) const {
  // Avoids the locks of sqlite3_column_int64() and similar functions: only one thread reads a
  // database.
  return sqlite3_column_value(statement_.get(), column);
}

bool RowScan::IsNull(int column) const {
  return sqlite3_value_type(ValueAt(column)) == SQLITE_NULL;
}

bool RowScan::IsText(int column) const {
  return sqlite3_value_type(ValueAt(column)) == SQLITE_TEXT;
}

std::int64_t RowScan::Integer(int column, std::int64_t otherwise) const {
  sqlite3_value* const value = ValueAt(column);
  return sqlite3_value_type(value) == SQLITE_INTEGER ? sqlite3_value_int64(value) : otherwise;
}

double RowScan::Number(int column, double otherwise) const {
  sqlite3_value* const value = ValueAt(column);
  const int type = sqlite3_value_type(value);
  return type == SQLITE_INTEGER || type == SQLITE_FLOAT ? sqlite3_value_double(value) : otherwise;
}

std::string_view RowScan::Text(int column) const {
  sqlite3_value* const value = ValueAt(column);
  if (sqlite3_value_type(value) != SQLITE_TEXT) return {};
  const unsigned char* text = sqlite3_value_text(value);
  if (text == nullptr) throw std::bad_alloc();
  const int bytes = sqlite3_value_bytes(value);
  budget_->text_bytes -= bytes;
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(bytes)};
}

void Database::Close::operator()(sqlite3* connection) const { sqlite3_close(connection); }

Result<Database> Database::Open(const std::string& path, const std::string& name,
                                std::int64_t max_text_bytes, std::int64_t max_rows) {
  Database database;
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(
      UriOf(path).c_str(), &connection,
      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
      nullptr);
  database.connection_.reset(connection);
  if (code == SQLITE_NOMEM || connection == nullptr) throw std::bad_alloc();
  if (code != SQLITE_OK)
    return Status::BadInput(
        fmt::format("{}: cannot be opened: {}; check the path, or export it again", name,
                    sqlite3_errstr(code)));
  if (Status status = database.Prepare(name, max_text_bytes, max_rows); !status.ok()) return status;
  return database;
}

Result<Database> Database::OpenBytes(std::span<const char> bytes, const std::string& name,
                                     std::int64_t max_text_bytes) {
  Database database;
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(":memory:", &connection,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  database.connection_.reset(connection);
  if (code != SQLITE_OK) throw std::bad_alloc();
  // Read-only: SQLite never writes through the pointer.
  auto* const data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));  // NOLINT
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  if (sqlite3_deserialize(connection, "main", data, size, size, SQLITE_DESERIALIZE_READONLY) !=
      SQLITE_OK) {
    return Status::BadInput(name + ": cannot be opened");
  }
  if (Status status = database.Prepare(name, max_text_bytes, INT64_MAX); !status.ok())
    return status;
  return database;
}

Status Database::Prepare(const std::string& name, std::int64_t max_text_bytes,
                         std::int64_t max_rows) try {
  sqlite3* const db = connection_.get();
  constexpr int kNoTriggers = 0, kNoViews = 0, kDefensive = 1, kUntrusted = 0, kNoDoubleQuotes = 0;
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, kNoTriggers, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, kNoViews, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, kDefensive, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, kUntrusted, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, kNoDoubleQuotes, nullptr);
  const std::int64_t longest = std::clamp<std::int64_t>(max_text_bytes, 1 << 16, INT32_MAX);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, static_cast<int>(longest));
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
  sqlite3_file* file = nullptr;
  sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
  sqlite3_int64 size = 0;
  if (file != nullptr && file->pMethods != nullptr) file->pMethods->xFileSize(file, &size);
  bytes_ = size;
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max() / kStepsPerByte / 2;
  constexpr std::int64_t kSmallestPage = 512;
  const std::int64_t bounded = std::min(bytes_, kLargest);
  budget_ = std::make_unique<ReadingBudget>(ReadingBudget{
      kAlways + bounded * kStepsPerByte, kAlways + bounded / kSmallestPage * kLookupsPerPage,
      kAlways + bounded * kTextPerByte, max_rows});
  budget_->connection = db;
  sqlite3_progress_handler(
      db, kStepsBetweenChecks,
      [](void* of_database) {
        auto& budget = *static_cast<ReadingBudget*>(of_database);
        const int lookups = LookupsOf(budget.connection);
        budget.pages -= (lookups - budget.lookups) & kLookupsWrap;
        budget.lookups = lookups;
        budget.steps -= kStepsBetweenChecks;
        return budget.steps < 0 || budget.pages < 0 ? 1 : 0;
      },
      budget_.get());

  // The list of tables must be readable even if later pages are missing, so SQLite's error about
  // the file size must be suppressed. Rows are then read up to the first missing page.
  unsigned char header[32] = {};
  if (file != nullptr && file->pMethods != nullptr && bytes_ >= 32 &&
      file->pMethods->xRead(file, static_cast<void*>(header), 32, 0) == SQLITE_OK) {
    const auto big_endian = [&](int from, int to) {
      std::int64_t value = 0;
      for (int i = from; i < to; ++i) value = value << 8 | header[i];
      return value;
    };
    constexpr int kReadVersion = 19, kWithLog = 2;
    has_log_ = header[kReadVersion] == kWithLog;
    const std::int64_t page = big_endian(16, 18), largest_page = 65'536;
    page_bytes_ = page == 1 ? largest_page : page;
    // Does not check whether the page count is valid: old versions of SQLite did not update it.
    missing_bytes_ = std::max<std::int64_t>(0, big_endian(28, 32) * page_bytes_ - bytes_);
  }
  if (missing_bytes_ > 0) {  // The file itself stays open read-only.
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);
  }

  const auto query = [&](const std::string& sql, std::string& damage, auto row) {
    RowScan scan;
    scan.budget_ = budget_.get();
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr);
    if (code == SQLITE_NOMEM) throw std::bad_alloc();
    if (code != SQLITE_OK) {
      damage = sqlite3_errmsg(db);
      return;
    }
    scan.statement_.reset(statement);
    while (scan.Next()) row(scan);
    damage = scan.damage();
  };
  std::string damage;
  // Without this check, SQLite reads memory beyond the page if a record exceeds its page.
  query("PRAGMA main.cell_size_check = ON", damage, [](const RowScan&) {});
  // Only real tables have a root page; views and virtual tables do not.
  query("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0", damage,
        [&](const RowScan& row) {
          tables_.push_back({std::string(row.Text(0)), {}});
        });
  if (!damage.empty()) {
    return Status::BadInput(
        fmt::format("{}: is an SQLite database whose list of tables cannot be read ({}); export or "
                    "copy it again",
                    name, damage));
  }
  for (DatabaseTable& table : tables_) {
    // table_info omits computed columns.
    std::string of_table;
    query(fmt::format("PRAGMA main.table_info({})", Quoted(table.name)), of_table,
          [&](const RowScan& row) { table.columns.emplace_back(row.Text(1)); });
  }
  return Status::Ok();
} catch (const std::bad_alloc&) {
  // Damage can make a length absurdly large; SQLite then reports that memory ran out.
  return Status::BadInput(
      name +
      ": is an SQLite database whose list of tables requires more memory than is "
      "available; export or copy "
      "it again");
}

const DatabaseTable* Database::Find(std::string_view name) const {
  for (const DatabaseTable& table : tables_) {
    if (SameName(table.name, name)) return &table;
  }
  return nullptr;
}

RowScan Database::Scan(const DatabaseTable& table,
                       std::span<const std::string_view> columns) const {
  std::string sql = "SELECT ";
  for (const std::string_view wanted : columns) {
    const auto found =
        std::find_if(table.columns.begin(), table.columns.end(),
                     [&](const std::string& column) { return SameName(column, wanted); });
    sql += found == table.columns.end() ? "NULL," : Quoted(*found) + ",";
  }
  sql.back() = ' ';
  sql += fmt::format("FROM main.{} NOT INDEXED", Quoted(table.name));
  RowScan scan;
  scan.budget_ = budget_.get();
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(connection_.get(), sql.c_str(), -1, &statement, nullptr);
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  if (code != SQLITE_OK) scan.damage_ = sqlite3_errmsg(connection_.get());
  scan.statement_.reset(statement);
  return scan;
}

std::int64_t Database::bytes_read() const {
  int misses = 0, most = 0;
  sqlite3_db_status(connection_.get(), SQLITE_DBSTATUS_CACHE_MISS, &misses, &most, 0);
  return std::min(bytes_, std::max<std::int64_t>(0, misses) * page_bytes_);
}

}  // namespace headroom::sqlite
