// The rows of a table in the order of one column, for lookups and groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/large_vector.h"
#include "query/trace_tables.h"

namespace headroom {

/// Rows by the value of a column in SQL's order: null, then numbers by value or text by its bytes.
/// Rows with equal values are in row order. Takes 4 bytes per row.
class ColumnIndex {
 public:
  /// REQUIRES: the table is loaded, the column is not kReal.
  ColumnIndex(const TraceTables& tables, const Table& table, std::size_t column);

  /// Returns all rows.
  std::span<const std::uint32_t> rows() const { return rows_; }
  /// Returns the rows with this key (Table::Key), in ascending order.
  std::span<const std::uint32_t> Lookup(std::int64_t key) const;

 private:
  void SortRanked(const std::vector<std::uint32_t>& rank_of_key, std::size_t ranks);
  void SortNumbers();

  const Table& table_;
  std::size_t column_;
  LargeVector<std::uint32_t> rows_;
  // Start of each key's rows, for columns of ids and words. Empty for numbers, which are found by
  // binary search.
  std::vector<std::uint32_t> rank_of_key_;  ///< By key + 1; 0 is none.
  std::vector<std::uint32_t> begin_;        ///< By rank, plus one entry for the end.
};

/// Returns true if a column of this kind has few enough values for counting sort.
bool HasRanks(ColumnKind kind);

}  // namespace headroom
