// The tables of a trace as SQL and Python see them: the store's own columns as they lie in memory,
// named with their units, and what the analyses add to each row, found when first asked for.
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

/// What the values of a column are, and how they lie in memory.
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

/// One column. `name`, `unit` and the sentences are what every face of the table shows.
struct TableColumn {
  std::string name;  ///< Holds the unit where that is a time or a number of bytes: start_ns.
  ColumnKind kind = ColumnKind::kInt64;
  std::string unit;                          ///< Empty for a plain value.
  bool nullable = false;                     ///< Whether "not recorded" or "none" can stand in it.
  std::string_view refers;                   ///< Of kRow: the table.
  std::span<const std::string_view> labels;  ///< Of kLabel, by value; an empty one is null.
  std::string sentence;
  const void* data = nullptr;  ///< Of each row in turn; null until the table is loaded.
};

/// One table. Rows are known by their number, which SQL shows as the column `id`.
class Table {
 public:
  using Runs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  static constexpr std::size_t kNoColumn = SIZE_MAX;

  std::string name;
  std::string sentence;
  std::size_t rows = 0;  ///< An estimate until the table is loaded.
  std::vector<TableColumn> columns;

  /// Rows [first, second) within each of which the column `time` does not fall. Empty: not known.
  Runs runs;
  std::size_t time = kNoColumn;  ///< Column by which runs are sorted.
  std::size_t run_key =
      kNoColumn;  ///< Column that has one value in a run, and rises from run to run.

  /// A value as a number: kString and kRow as the id (kNoRow: none), kLabel and kFlag as they are.
  /// REQUIRES: loaded, not kReal.
  std::int64_t Key(std::size_t column, std::size_t row) const;
  double Real(std::size_t column, std::size_t row) const;
  /// Whether the key of a column stands for null.
  bool IsNull(std::size_t column, std::int64_t key) const;
  /// The position of the column with this name; kNoColumn: there is none.
  std::size_t Find(std::string_view column) const;
};

/// All tables of one trace. What is computed is found once; threads may share it.
class TraceTables {
 public:
  /// `store` outlives it.
  explicit TraceTables(const TraceStore& store);
  ~TraceTables();

  const TraceStore& store() const { return store_; }
  std::size_t size() const { return tables_.size(); }
  const Table& table(std::size_t index) const { return tables_[index]; }
  /// Whether a table's rows are known once it is loaded; those of the others always are.
  bool IsComputed(std::size_t index) const;
  /// Fills a table that is computed in; nothing where it is there.
  Status Load(std::size_t index) const;

 private:
  struct Computed;

  const TraceStore& store_;
  mutable std::vector<Table> tables_;
  std::unique_ptr<Computed> computed_;
};

}  // namespace headroom
