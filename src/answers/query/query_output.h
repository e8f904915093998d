// Formats results of queries: tables for people, CSV, JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/database.h"
#include "render/escape.h"

namespace headroom {

enum class QueryFormat { kTable, kCsv, kJson };

struct QueryOutputOptions {
  QueryFormat format = QueryFormat::kTable;
  /// The user's limit; 0: all rows; nullopt: the default of the format.
  std::optional<std::int64_t> max_rows = {};
  std::int64_t most_bytes = 0;  ///< Maximum bytes of the result; 0: no limit.
  /// JSON: writes integers that JavaScript would round as text.
  bool large_integers_as_text = false;
  Charset charset = Charset::kUtf8;

  /// Maximum rows to keep; 0: all. Tables for people have a default limit. Formats for programs do
  /// not.
  std::int64_t most_rows() const {
    constexpr std::int64_t kOfTable = 1000;
    return max_rows.value_or(format == QueryFormat::kTable ? kOfTable : 0);
  }
};

/// Takes the rows of one statement.
class QueryOutput : public QuerySink {
 public:
  explicit QueryOutput(const QueryOutputOptions& options) : options_(options) {}

  void Begin(std::span<const std::string> columns) override;
  bool Add(std::span<const QueryValue> row) override;
  /// Returns true if rows were dropped because of the limit.
  bool cut() const { return cut_; }
  /// Returns true after a statement began.
  bool began() const { return began_; }
  /// Fails with kEnvironment if the text exceeds its limit.
  Status status() const;
  /// Returns the result. Requires that status() is ok.
  std::string Text(std::string_view sql) const;

 private:
  struct Cell {
    std::string text;
    bool is_text = false;  ///< True for a value that is neither a number nor null.
  };
  std::string Table() const;

  QueryOutputOptions options_;
  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> table_;
  std::string rows_text_;  ///< Rows of CSV and JSON.
  std::int64_t rows_ = 0, bytes_ = 0;
  bool cut_ = false, began_ = false, too_large_ = false;
};

}  // namespace headroom
