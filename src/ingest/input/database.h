// SQLite databases as untrusted input: opened for reading alone, and only real tables are read.
//
// No view, trigger, virtual table or computed column of a file is ever evaluated, its rows cost no
// more work than its size allows, and no text is longer than a limit.
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

/// What reading a database may cost, which the size of the file bounds: pages of a hostile one
/// refer to each other in cycles, and each of a million rows to one long text.
struct ReadingBudget {
  std::int64_t steps;  ///< SQLite's own.
  std::int64_t pages;  ///< Lookups of them.
  std::int64_t text_bytes;
  std::int64_t rows;  ///< Of tables, each time one is read.
  sqlite3* connection = nullptr;
  int lookups = 0;  ///< Of the connection until now, as SQLite counts.
};

/// Whether two names are one to SQLite: in any case of letters.
bool SameName(std::string_view a, std::string_view b);

/// A table that holds rows, and its columns that do.
struct DatabaseTable {
  std::string name;
  std::vector<std::string> columns;
};

/// The rows of one table, in the order in which they stand in the file.
class RowScan {
 public:
  /// Steps to the next row. False at the end and at damage.
  bool Next();
  /// Why the rows ended early, in SQLite's words; empty where they did not.
  const std::string& damage() const { return damage_; }

  /// Columns by their position in what Database::Scan() was asked for. A column that the table does
  /// not have is null everywhere. Values convert to no other type.
  bool IsNull(int column) const;
  bool IsText(int column) const;
  std::int64_t Integer(int column, std::int64_t otherwise) const;
  double Number(int column, double otherwise) const;  ///< Integers, too.
  /// Until the next row; empty where it is no text.
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
  /// Opens a file. `path` may hold any character. Fails with kBadInput where it is no database, or
  /// one whose description is damaged or encrypted; messages begin with `name`.
  ///
  /// @param max_rows  ends the tables after so many rows together; rows_left() is negative then
  static Result<Database> Open(const std::string& path, const std::string& name,
                               std::int64_t max_text_bytes, std::int64_t max_rows = INT64_MAX);
  /// The same, of bytes in memory, which must outlive it: for tests and fuzzing.
  static Result<Database> OpenBytes(std::span<const char> bytes, const std::string& name,
                                    std::int64_t max_text_bytes);

  /// A table by its name, in any case of letters; null where there is none.
  const DatabaseTable* Find(std::string_view name) const;
  /// In the order of the file.
  const std::vector<DatabaseTable>& tables() const { return tables_; }

  /// The rows of a table, the named columns of each.
  RowScan Scan(const DatabaseTable& table, std::span<const std::string_view> columns) const;

  std::int64_t rows_left() const { return budget_->rows; }
  std::int64_t bytes() const { return bytes_; }
  /// Bytes that were taken from the file so far; for progress.
  std::int64_t bytes_read() const;
  /// How many bytes the file is shorter than it says; 0 where it is whole.
  std::int64_t missing_bytes() const { return missing_bytes_; }
  /// Whether its writer kept a log of what is to be written (`-wal`), which is not read.
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

/// Whether a file begins as SQLite databases do. `head` needs 16 bytes.
bool LooksLikeDatabase(std::string_view head);

}  // namespace headroom::sqlite
