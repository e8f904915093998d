// Walks the rows of a table that may fulfil some conditions, in the order that was asked for. It
// knows nothing of SQL: conditions are bounds on keys.
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

/// The row's own number, where a column is asked for.
inline constexpr std::size_t kIdColumn = SIZE_MAX - 1;

/// low <= key <= high and, where there is a list, key in it. A null's key may fulfil it, too.
struct KeyCondition {
  std::size_t column = kIdColumn;
  std::int64_t low = INT64_MIN;
  std::int64_t high = INT64_MAX;
  std::optional<std::vector<std::int64_t>> any_of = {};  ///< Sorted, each once.

  bool Fulfils(std::int64_t key) const;
  bool IsOneKey() const { return low == high && !any_of; }
};

/// In which order rows are walked: natural (by id) or that of a column with an index.
struct ScanOrder {
  std::size_t column = kIdColumn;
  bool reverse = false;
  bool operator==(const ScanOrder&) const = default;
};

/// The indexes of one table, each made at the second lookup of its column or for an order.
/// Threads may share it.
class TableIndexes {
 public:
  TableIndexes(const TraceTables& tables, std::size_t table) : tables_(tables), table_(table) {}

  /// Made where it is not there.
  const ColumnIndex& Of(std::size_t column);
  /// The same, but nullptr at the first call for the column, which a scan may serve as well.
  const ColumnIndex* ForLookup(std::size_t column);

 private:
  const ColumnIndex& Made(std::size_t column);

  const TraceTables& tables_;
  std::size_t table_;
  std::mutex mutex_;
  std::map<std::size_t, std::unique_ptr<ColumnIndex>> indexes_;
  std::map<std::size_t, int> lookups_;
};

/// A walk. The rows that it leaves out fulfil not all conditions; of those that it gives, all do.
class TableScan {
 public:
  /// REQUIRES: the table is loaded; all outlive the walk.
  TableScan(const Table& table, TableIndexes& indexes) : table_(table), indexes_(indexes) {}

  /// @param read  columns that Key() will be asked for
  void Start(std::vector<KeyCondition> conditions, ScanOrder order,
             std::span<const std::size_t> read = {});
  /// The row of this number alone, if there is one: what a join asks for, row by row.
  void StartAt(std::int64_t row);
  /// Whether there is a row; `row` is it.
  bool AtEnd() const { return at_ >= filled_; }
  std::uint32_t row() const { return buffer_[at_]; }
  void Next() {
    if (++at_ >= filled_) Refill();
  }
  /// What Table::Key() says of the row at hand. REQUIRES: the column has keys.
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
  std::vector<KeyCondition> conditions_;  ///< What is checked row by row.
  bool reverse_ = false;

  // Where rows come from: ranges of row numbers, or a list.
  Table::Runs ranges_;
  std::size_t next_range_ = 0;  ///< Counted in the direction of the walk.
  std::uint32_t in_range_ = 0;  ///< Rows of that range that were taken.
  bool from_list_ = false;
  std::span<const std::uint32_t> list_;
  std::size_t in_list_ = 0;
  std::vector<std::uint32_t> own_list_;

  static constexpr std::size_t kBlock = 1024;
  std::array<std::uint32_t, kBlock> buffer_;
  std::size_t filled_ = 0, at_ = 0;

  // Keys of the buffer's rows, a block a column. Read one after another between SQLite's work on
  // each row, those of a walk out of order would each be waited for; in a loop of their own the
  // processor waits for many at once.
  static constexpr std::size_t kNotGathered = SIZE_MAX;
  std::vector<std::size_t> read_;
  std::vector<std::size_t> place_of_;  ///< By column.
  std::vector<std::int64_t> gathered_;
};

}  // namespace headroom
