// The tables of a trace (query/trace_tables.h) for Python: columns as read-only views of the
// store's memory, and results of SQL as columns.
#pragma once

#include <pybind11/numpy.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_pool.h"
#include "query/database.h"
#include "recording.h"

namespace headroom::python {

/// Returns (name, sentence, computed, rows, columns) of each table. A column is (name, kind, unit,
/// nullable, refers, words, sentence), with a ColumnKind's name in lower case. `rows` is None for a
/// computed table.
pybind11::list TableSchemas(const std::shared_ptr<const Trace>& trace);

/// Returns the number of rows of a table; computes a computed table.
std::size_t TableRows(const std::shared_ptr<const Trace>& trace, std::size_t table);

/// Returns a view of a column in memory: keys of query/trace_tables.h; flags as bool.
pybind11::array TableColumnView(const std::shared_ptr<const Trace>& trace, std::size_t table,
                                std::size_t column);

/// Returns the strings of string ids as str. Invalid UTF-8 becomes U+FFFD.
pybind11::list TextsOf(const Trace& trace, const pybind11::array_t<std::uint32_t>& ids);

/// The result of one statement, by column.
class QueryRows : public QuerySink {
 public:
  /// @param most_bytes  limit for the result; 0: no limit
  explicit QueryRows(std::int64_t most_bytes) : most_bytes_(most_bytes) {}

  void Begin(std::span<const std::string> names) override;
  bool Add(std::span<const QueryValue> row) override;
  bool began() const { return began_; }
  /// Returns kEnvironment if the result exceeded its limit.
  Status status() const;

  const std::vector<std::string>& names() const { return names_; }
  std::size_t rows() const { return rows_; }
  /// Returns (values, nulls): int64 or float64 with bool, or objects (str, bytes, int, float, None)
  /// with None. `nulls` is None if the column has no nulls.
  pybind11::tuple Column(std::size_t column) const;

 private:
  enum class Kind : std::uint8_t { kNull, kInteger, kReal, kText, kBytes };
  struct Values {
    std::vector<Kind> kinds;
    std::vector<std::int64_t> payload;  ///< The number's bits, or a StringId.
  };
  std::int64_t MemoryBytes() const;

  std::int64_t most_bytes_;
  std::vector<std::string> names_;
  std::vector<Values> columns_;
  StringPool texts_;
  std::size_t rows_ = 0;
  bool began_ = false, too_large_ = false;
};

/// Runs one statement without the GIL. Python's signal handlers still run; if one raises (Ctrl-C),
/// the statement ends. A limit of 0 means no limit.
std::shared_ptr<QueryRows> RunQuery(const std::shared_ptr<const Trace>& trace,
                                    const std::string& sql, double timeout_s,
                                    std::int64_t memory_mb);

}  // namespace headroom::python
