// Passes the rows of a table to a reader, and records problems in the import log.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "ingest/input/database.h"
#include "store/import_log.h"

namespace headroom::sqlite {

inline bool HasColumn(const DatabaseTable& table, std::string_view column) {
  return std::any_of(table.columns.begin(), table.columns.end(),
                     [&](const std::string& other) { return SameName(other, column); });
}

/// The columns to read from a table. Maps the name of a column to its position, as in
/// `row.Integer(kColumns["start"], 0)`. An unknown name does not compile.
template <std::size_t kSize>
struct NamedColumns {
  std::array<std::string_view, kSize> names;

  consteval int operator[](std::string_view name) const {
    for (std::size_t i = 0; i < kSize; ++i) {
      if (names[i] == name) return static_cast<int>(i);
    }
    throw "no such column";  // Not a constant expression, so it does not compile.
  }

  /// Returns these columns, followed by others.
  template <std::size_t kOther>
  consteval NamedColumns<kSize + kOther> operator+(const NamedColumns<kOther>& other) const {
    NamedColumns<kSize + kOther> all{};
    for (std::size_t i = 0; i < kSize; ++i) all.names[i] = names[i];
    for (std::size_t i = 0; i < kOther; ++i) all.names[kSize + i] = other.names[i];
    return all;
  }
};
template <typename... Names>
NamedColumns(Names...) -> NamedColumns<sizeof...(Names)>;

/// Calls `row` with each row of a table. The first `needed` columns are mandatory. Logs the name of
/// a table that lacks a mandatory column, or that ends in damage. `progress` may be empty.
template <typename Row>
void ForEachRow(const Database& database, const DatabaseTable& table,
                std::span<const std::string_view> columns, std::size_t needed, ImportLog& log,
                const std::function<void(std::int64_t)>& progress, Row row) {
  constexpr std::size_t kLongestName = 100;
  const std::string_view name = std::string_view(table.name).substr(0, kLongestName);
  for (const std::string_view column : columns.first(needed)) {
    if (HasColumn(table, column)) continue;
    log.Add(ImportIssue::kDamagedTable, -1, fmt::format("{} has no column {}", name, column));
    return;
  }
  RowScan scan = database.Scan(table, columns);
  constexpr std::int64_t kRowsBetweenReports = 1 << 15;
  std::int64_t rows = 0;
  while (scan.Next()) {
    row(scan);
    if (++rows % kRowsBetweenReports == 0 && progress) progress(database.bytes_read());
  }
  if (!scan.damage().empty()) {
    log.Add(ImportIssue::kDamagedTable, -1,
            fmt::format("{} after {} rows: {}", name, rows, scan.damage()));
  }
}

}  // namespace headroom::sqlite
