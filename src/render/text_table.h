// A table of a text page, declared by its columns.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "render/text_page.h"

namespace headroom {

using Kind = TextColumn::Kind;

/// A column of a table, and how to get its cell from a row.
template <typename Row>
struct RowColumn {
  std::string head;
  Kind kind;
  std::function<Span(const Row&)> cell;
  bool optional = false;  ///< As in TextColumn.
};

/// Renders a table of rows; omits columns that are empty in every row.
template <typename Row>
void WriteTable(TextPage& page, std::span<const Row> rows,
                const std::vector<RowColumn<Row>>& columns) {
  std::vector<TextColumn> heads;
  heads.reserve(columns.size());
  for (const RowColumn<Row>& column : columns)
    heads.push_back({column.head, column.kind, column.optional});
  std::vector<std::vector<Span>> cells;
  for (const Row& row : rows) {
    cells.emplace_back();
    for (const RowColumn<Row>& column : columns) cells.back().push_back(column.cell(row));
  }
  page.Table(heads, cells);
}

}  // namespace headroom
