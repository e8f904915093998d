// Results of queries as text: tables for people, CSV, JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/database.h"
#include "render/escape.h"

namespace headroom::cli {

enum class QueryFormat { kTable, kCsv, kJson };

struct QueryOutputOptions {
  QueryFormat format = QueryFormat::kTable;
  std::optional<std::int64_t> max_rows = {};  ///< As asked for; 0: all.
  std::int64_t most_bytes = 0;                ///< Of the text; 0: any.
  Charset charset = Charset::kUtf8;

  /// Rows that are kept at most, 0: all. For people, not for programs, there is a limit.
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
  /// Whether there were more rows than are kept.
  bool cut() const { return cut_; }
  /// Whether there was a statement at all.
  bool began() const { return began_; }
  /// kEnvironment where the text became larger than is allowed.
  Status status() const;
  /// The result. REQUIRES: status() is ok.
  std::string Text(std::string_view sql) const;

 private:
  struct Cell {
    std::string text;
    bool is_text = false;  ///< Neither a number nor null.
  };
  std::string Table() const;

  QueryOutputOptions options_;
  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> table_;
  std::string rows_text_;  ///< Of CSV and JSON.
  std::int64_t rows_ = 0, bytes_ = 0;
  bool cut_ = false, began_ = false, too_large_ = false;
};

}  // namespace headroom::cli
