// The rows of a table in the order of one column: for lookups and for groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/large_vector.h"
#include "query/trace_tables.h"

namespace headroom {

/// Rows by the value of a column in SQL's order: null, then numbers by value or text by its bytes;
/// rows of one value by number. 4 bytes a row.
class ColumnIndex {
 public:
  /// REQUIRES: the table is loaded, the column is not kReal.
  ColumnIndex(const TraceTables& tables, const Table& table, std::size_t column);

  /// All rows.
  std::span<const std::uint32_t> rows() const { return rows_; }
  /// The rows with this key (Table::Key), in ascending order.
  std::span<const std::uint32_t> Lookup(std::int64_t key) const;

 private:
  void SortRanked(const std::vector<std::uint32_t>& rank_of_key, std::size_t ranks);
  void SortNumbers();

  const Table& table_;
  std::size_t column_;
  LargeVector<std::uint32_t> rows_;
  // Of columns of ids and words: where the rows of each key begin. Empty: numbers, found by search.
  std::vector<std::uint32_t> rank_of_key_;  ///< By key + 1; 0 is none.
  std::vector<std::uint32_t> begin_;        ///< By rank, and one past the end.
};

/// Whether the values of such a column are few enough to be sorted by counting.
bool HasRanks(ColumnKind kind);

}  // namespace headroom
