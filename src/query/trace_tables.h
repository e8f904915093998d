// The tables of a trace as SQL and Python see them. The store's columns are used in place, and
// their names include units. The per-row results of the analyses are computed on first use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "store/trace_store.h"

namespace headroom {

/// Type of a column's values and their layout in memory.
enum class ColumnKind : std::uint8_t {
  kInt64,   ///< int64
  kInt32,   ///< int32
  kReal,    ///< double
  kString,  ///< uint32: StringId
  kRow,     ///< uint32: a row of another table; kNoRow: none
  kLabel,   ///< uint8: one of a few words
  kFlag,    ///< uint8: 0 or 1
};

inline constexpr std::uint32_t kNoRow = 0xFFFFFFFFu;

/// One column. All interfaces to the table show `name`, `unit` and the sentence.
struct TableColumn {
  std::string name;  ///< Includes the unit of a time or a number of bytes, e.g. start_ns.
  ColumnKind kind = ColumnKind::kInt64;
  std::string unit;  ///< Empty for a plain value.
  /// True if values can be missing ("not recorded" or "none").
  bool nullable = false;
  std::string_view refers;                   ///< The other table, for kRow.
  std::span<const std::string_view> labels;  ///< Words by value, for kLabel; an empty word is null.
  std::string sentence;
  const void* data = nullptr;  ///< One value per row; null until the table is loaded.
};

/// One table. The number of a row identifies it, and SQL shows it as the column `id`.
class Table {
 public:
  using Runs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  static constexpr std::size_t kNoColumn = SIZE_MAX;

  std::string name;
  std::string sentence;
  std::size_t rows = 0;  ///< An estimate until the table is loaded.
  std::vector<TableColumn> columns;

  /// Row ranges [first, second) in each of which the column `time` does not decrease. Empty if
  /// unknown.
  Runs runs;
  std::size_t time = kNoColumn;  ///< Column by which runs are sorted.
  std::size_t run_key =
      kNoColumn;  ///< Column with one value per run, which increases from run to run.

  /// Returns a value as a number: the id for kString and kRow (kNoRow: none), the value itself for
  /// kLabel and kFlag. REQUIRES: loaded, not kReal.
  std::int64_t Key(std::size_t column, std::size_t row) const;
  double Real(std::size_t column, std::size_t row) const;
  /// Returns true if the key of a column means null.
  bool IsNull(std::size_t column, std::int64_t key) const;
  /// Returns the index of the column with this name; kNoColumn if it does not exist.
  std::size_t Find(std::string_view column) const;
};

/// All tables of one trace. Computed tables are computed once. Thread-safe.
class TraceTables {
 public:
  /// `store` must outlive the tables.
  explicit TraceTables(const TraceStore& store);
  ~TraceTables();

  const TraceStore& store() const { return store_; }
  std::size_t size() const { return tables_.size(); }
  const Table& table(std::size_t index) const { return tables_[index]; }
  /// Returns true for a table whose rows are known only after it is loaded.
  bool IsComputed(std::size_t index) const;
  /// Loads a computed table; does nothing if it is already loaded.
  Status Load(std::size_t index) const;

 private:
  struct Computed;

  const TraceStore& store_;
  mutable std::vector<Table> tables_;
  std::unique_ptr<Computed> computed_;
};

}  // namespace headroom
