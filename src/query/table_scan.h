// Scans the rows of a table that meet some conditions, in the requested order. Independent of SQL:
// conditions are bounds on keys.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "query/column_index.h"
#include "query/trace_tables.h"

namespace headroom {

/// Selects the row number in place of a column.
inline constexpr std::size_t kIdColumn = SIZE_MAX - 1;

/// A condition on keys: low <= key <= high and, if there is a list, the list contains the key. The
/// key of a null value can also meet the condition.
struct KeyCondition {
  std::size_t column = kIdColumn;
  std::int64_t low = INT64_MIN;
  std::int64_t high = INT64_MAX;
  std::optional<std::vector<std::int64_t>> any_of = {};  ///< Sorted, without duplicates.

  bool Fulfils(std::int64_t key) const;
  bool IsOneKey() const { return low == high && !any_of; }
};

/// Order of the scan: by row number, or by a column with an index.
struct ScanOrder {
  std::size_t column = kIdColumn;
  bool reverse = false;
  bool operator==(const ScanOrder&) const = default;
};

/// The indexes of one table. Each is created at the second lookup in its column, or when a scan
/// requires its order. Thread-safe.
class TableIndexes {
 public:
  TableIndexes(const TraceTables& tables, std::size_t table) : tables_(tables), table_(table) {}

  /// Returns the index and creates it if necessary.
  const ColumnIndex& Of(std::size_t column);
  /// Returns the index; nullptr at the first call for a column, because a single scan may be as
  /// fast as building the index.
  const ColumnIndex* ForLookup(std::size_t column);

 private:
  const ColumnIndex& Made(std::size_t column);

  const TraceTables& tables_;
  std::size_t table_;
  std::mutex mutex_;
  std::map<std::size_t, std::unique_ptr<ColumnIndex>> indexes_;
  std::map<std::size_t, int> lookups_;
};

/// A scan. Returns exactly the rows that meet all conditions.
class TableScan {
 public:
  /// REQUIRES: the table is loaded; both outlive the scan.
  TableScan(const Table& table, TableIndexes& indexes) : table_(table), indexes_(indexes) {}

  /// @param read  columns that the caller will pass to Key()
  void Start(std::vector<KeyCondition> conditions, ScanOrder order,
             std::span<const std::size_t> read = {});
  /// Selects only the row with this number, if it exists. Joins request rows one at a time.
  void StartAt(std::int64_t row);
  /// Returns true if the scan has ended.
  bool AtEnd() const { return at_ >= filled_; }
  /// Returns the number of the current row. REQUIRES: !AtEnd().
  std::uint32_t row() const { return buffer_[at_]; }
  void Next() {
    if (++at_ >= filled_) Refill();
  }
  /// Returns Table::Key() of the current row. REQUIRES: the column has keys.
  std::int64_t Key(std::size_t column) const {
    const std::size_t place = place_of_[column];
    return place == kNotGathered ? table_.Key(column, row()) : gathered_[place * kBlock + at_];
  }

 private:
  void AddRanges(std::int64_t first_id, std::int64_t last_id);
  void UseList(std::span<const std::uint32_t> rows);
  void Refill();
  std::size_t Take();
  void Keep(const KeyCondition& condition);
  void Gather();
  const KeyCondition* Find(std::size_t column) const;
  const ColumnIndex* ChooseIndex(std::size_t rows, std::int64_t& key);

  const Table& table_;
  TableIndexes& indexes_;
  std::vector<KeyCondition> conditions_;  ///< Conditions to check for each row.
  bool reverse_ = false;

  // Source of the rows: ranges of row numbers, or a list.
  Table::Runs ranges_;
  std::size_t next_range_ = 0;  ///< Index of a range, counted in the direction of the scan.
  std::uint32_t in_range_ = 0;  ///< Number of rows already taken from that range.
  bool from_list_ = false;
  std::span<const std::uint32_t> list_;
  std::size_t in_list_ = 0;
  std::vector<std::uint32_t> own_list_;

  static constexpr std::size_t kBlock = 1024;
  std::array<std::uint32_t, kBlock> buffer_;
  std::size_t filled_ = 0, at_ = 0;

  // Keys of the buffer's rows, one block per column. A separate loop gathers them, so that the CPU
  // loads many keys in parallel. If SQLite's work on a row came between two loads, a scan in random
  // order would wait for each load.
  static constexpr std::size_t kNotGathered = SIZE_MAX;
  std::vector<std::size_t> read_;
  std::vector<std::size_t> place_of_;  ///< Indexed by column.
  std::vector<std::int64_t> gathered_;
};

}  // namespace headroom
