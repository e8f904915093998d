// Reads SQLite databases as untrusted input: read-only, and only real tables.
//
// Never evaluates a view, trigger, virtual table or computed column of a file. The size of a file
// limits the work for its rows, and a fixed limit bounds the length of texts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

struct sqlite3;
struct sqlite3_stmt;
struct sqlite3_value;

namespace headroom::sqlite {

/// The remaining cost that reading a database may have, in proportion to the size of its file. In a
/// hostile file, pages may refer to each other in cycles, and a million rows may each refer to one
/// long text.
struct ReadingBudget {
  std::int64_t steps;       ///< Remaining steps of SQLite's virtual machine.
  std::int64_t pages;       ///< Remaining page lookups.
  std::int64_t text_bytes;  ///< Remaining bytes of text values.
  std::int64_t rows;        ///< Remaining rows; a row counts each time its table is read.
  sqlite3* connection = nullptr;
  int lookups = 0;  ///< Page lookups of the connection so far, as SQLite counts them.
};

/// Returns true if two names are the same to SQLite, which ignores case.
bool SameName(std::string_view a, std::string_view b);

/// A real table and its stored columns.
struct DatabaseTable {
  std::string name;
  std::vector<std::string> columns;
};

/// The rows of one table, in file order.
class RowScan {
 public:
  /// Steps to the next row. Returns false at the end or at damage.
  bool Next();
  /// Returns why the rows ended early; empty if they did not end early.
  const std::string& damage() const { return damage_; }

  /// Columns are numbered by their position in the list given to Database::Scan(). A column that
  /// the table lacks is null in every row. Values are not converted: for another type, the
  /// functions return `otherwise`.
  bool IsNull(int column) const;
  bool IsText(int column) const;
  std::int64_t Integer(int column, std::int64_t otherwise) const;
  double Number(int column, double otherwise) const;  ///< Accepts integers, too.
  /// Valid until the next row; empty if the value is not text.
  std::string_view Text(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  sqlite3_value* ValueAt(int column) const;

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  ReadingBudget* budget_ = nullptr;
  std::string damage_;
};

class Database {
 public:
  /// Opens a file. `path` may contain any character. Fails with kBadInput if the file is not a
  /// database, or its schema is damaged or encrypted. Messages begin with `name`.
  ///
  /// @param max_rows  maximum number of rows of all tables together; after that, tables end and
  /// rows_left() is negative
  static Result<Database> Open(const std::string& path, const std::string& name,
                               std::int64_t max_text_bytes, std::int64_t max_rows = INT64_MAX);
  /// Opens bytes in memory, which must outlive the database: for tests and fuzzing.
  static Result<Database> OpenBytes(std::span<const char> bytes, const std::string& name,
                                    std::int64_t max_text_bytes);

  /// Returns the table with this name, ignoring case; null if none exists.
  const DatabaseTable* Find(std::string_view name) const;
  /// Returns the tables in file order.
  const std::vector<DatabaseTable>& tables() const { return tables_; }

  /// Scans the named columns of all rows of a table.
  RowScan Scan(const DatabaseTable& table, std::span<const std::string_view> columns) const;

  std::int64_t rows_left() const { return budget_->rows; }
  std::int64_t bytes() const { return bytes_; }
  /// Returns the number of bytes read from the file so far, for progress.
  std::int64_t bytes_read() const;
  /// Returns the number of bytes that the file lacks according to its header; 0 if it is complete.
  std::int64_t missing_bytes() const { return missing_bytes_; }
  /// Returns true if the database uses a write-ahead log (`-wal`), which Headroom does not read.
  bool has_log() const { return has_log_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  Database() = default;
  Status Prepare(const std::string& name, std::int64_t max_text_bytes, std::int64_t max_rows);

  std::unique_ptr<ReadingBudget> budget_;
  std::unique_ptr<sqlite3, Close> connection_;
  std::vector<DatabaseTable> tables_;
  std::int64_t bytes_ = 0;
  std::int64_t page_bytes_ = 0;
  std::int64_t missing_bytes_ = 0;
  bool has_log_ = false;
};

/// Returns true if a file begins like an SQLite database. `head` must contain its first 16 bytes.
bool LooksLikeDatabase(std::string_view head);

}  // namespace headroom::sqlite
