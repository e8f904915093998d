#include "query/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "query/database.h"

namespace headroom {
namespace {

constexpr std::string_view kPage = R"(# Tables

Tables and views of a trace for `headroom query` ([query.md](query.md)). `headroom query --reference` prints this page.

Times are whole nanoseconds on the clock of the trace. `id` is the number of a row, from 0; a column `x_id` refers to the `id` of another table. Comparisons of text are case-sensitive. Null
means not recorded.
)";

constexpr std::string_view kIdSentence = "Number of the row.";

/// Compares names like SQL.
bool IsSameName(std::string_view a, std::string_view b) { return LowerCase(a) == LowerCase(b); }

std::string_view TypeOf(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kString:
    case ColumnKind::kLabel:
      return "text";
    case ColumnKind::kReal:
      return "real";
    case ColumnKind::kInt64:
    case ColumnKind::kInt32:
    case ColumnKind::kRow:
    case ColumnKind::kFlag:
      break;
  }
  return "integer";
}

/// Returns the column's sentence, and the possible values.
std::string AboutOf(const TableColumn& column) {
  std::string text = column.sentence;
  if (column.kind == ColumnKind::kRow) text += fmt::format(" A row of {}.", column.refers);
  if (column.kind == ColumnKind::kLabel) {
    std::vector<std::string_view> words(column.labels.begin(), column.labels.end());
    std::erase(words, std::string_view());
    text += fmt::format(" One of {}.", fmt::join(words, ", "));
  }
  return text;
}

/// A column as all forms of the reference show it.
struct ShownColumn {
  std::string_view name, type, unit;
  bool nullable = false;
  std::string about;
};

ShownColumn Shown(const TableColumn& column) {
  return {column.name, TypeOf(column.kind), column.unit, column.nullable, AboutOf(column)};
}

std::vector<ShownColumn> ColumnsOf(const Table& table) {
  std::vector<ShownColumn> columns = {{"id", "integer", "", false, std::string(kIdSentence)}};
  for (const TableColumn& column : table.columns) columns.push_back(Shown(column));
  return columns;
}

/// REQUIRES: there is a table of this name.
const Table& TableNamed(const TraceTables& tables, std::string_view name) {
  std::size_t i = 0;
  while (tables.table(i).name != name) ++i;
  return tables.table(i);
}

std::vector<ShownColumn> ColumnsOf(const QueryView& view, const TraceTables& tables) {
  std::vector<ShownColumn> columns;
  for (const QueryView::Column& column : view.columns) {
    if (column.origin.empty()) {
      columns.push_back(
          {column.name, column.type, column.unit, column.nullable, std::string(column.sentence)});
      continue;
    }
    const std::size_t dot = column.origin.find('.');
    const Table& table = TableNamed(tables, column.origin.substr(0, dot));
    std::vector<ShownColumn> all = ColumnsOf(table);
    const auto origin = std::find_if(all.begin(), all.end(), [&](const ShownColumn& one) {
      return one.name == column.origin.substr(dot + 1);
    });
    ShownColumn& shown = columns.emplace_back(std::move(*origin));
    shown.name = column.name;
    if (origin == all.begin()) shown.about = fmt::format("A row of {}.", table.name);
  }
  return columns;
}

/// Returns the columns as a Markdown table.
std::string MarkdownOf(const std::vector<ShownColumn>& columns) {
  std::string text = "| column | type | unit | null | |\n|---|---|---|---|---|\n";
  for (const ShownColumn& column : columns) {
    text +=
        fmt::format("| `{}` | {} | {}{}| {}| {} |\n", column.name, column.type, column.unit,
                    column.unit.empty() ? "" : " ", column.nullable ? "yes " : "", column.about);
  }
  return text;
}

/// Returns one line per column.
std::string TextOf(const std::vector<ShownColumn>& columns) {
  std::size_t width = 0;
  for (const ShownColumn& column : columns) width = std::max(width, column.name.size());
  std::string text;
  for (const ShownColumn& column : columns)
    text += fmt::format("  {:<{}}  {:<7}  {}\n", column.name, width, column.type, column.about);
  return text;
}

}  // namespace

std::string ReferencePage(const TraceTables& tables) {
  std::string page(kPage);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Table& table = tables.table(i);
    page += fmt::format("\n## {}\n\n{}\n\n{}", table.name, table.sentence,
                        MarkdownOf(ColumnsOf(table)));
  }
  page += "\n# Views\n";
  for (const QueryView& view : QueryViews())
    page += fmt::format("\n## {}\n\n{}\n\n{}\n```sql\n{}\n```\n", view.name, view.sentence,
                        MarkdownOf(ColumnsOf(view, tables)), view.select);
  return page;
}

std::string ListOfTables(const TraceTables& tables) {
  std::string text;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Table& table = tables.table(i);
    text += fmt::format("{:<17}{:>11} rows  {}\n", table.name, table.rows, table.sentence);
  }
  for (const QueryView& view : QueryViews())
    text += fmt::format("{:<17}{:>16}  {}\n", view.name, "view", view.sentence);
  return text;
}

std::string SchemaOf(const TraceTables& tables, std::string_view name) {
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Table& table = tables.table(i);
    if (IsSameName(table.name, name))
      return fmt::format("{}: {}\n{}", table.name, table.sentence, TextOf(ColumnsOf(table)));
  }
  for (const QueryView& view : QueryViews()) {
    if (IsSameName(view.name, name))
      return fmt::format("{}: {}\n{}Definition:\n{}\n", view.name, view.sentence,
                         TextOf(ColumnsOf(view, tables)), view.select);
  }
  return "";
}

void TablesAsRows(const TraceTables& tables, QuerySink& sink) {
  const std::vector<std::string> columns = {"name", "type", "rows", "about"};
  sink.Begin(columns);
  std::vector<QueryValue> row(columns.size());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Table& table = tables.table(i);
    row = {std::string_view(table.name), std::string_view("table"),
           static_cast<std::int64_t>(table.rows), std::string_view(table.sentence)};
    if (!sink.Add(row)) return;
  }
  for (const QueryView& view : QueryViews()) {
    row = {std::string_view(view.name), std::string_view("view"), std::monostate(),
           std::string_view(view.sentence)};
    if (!sink.Add(row)) return;
  }
}

bool SchemaAsRows(const TraceTables& tables, std::string_view name, QuerySink& sink) {
  const std::vector<std::string> columns = {"table",    "column", "type", "unit",
                                            "nullable", "about",  "sql"};
  sink.Begin(columns);
  bool any = false;
  std::vector<QueryValue> row(columns.size());
  const auto is_asked = [&](std::string_view one) {
    const bool asked = name.empty() || IsSameName(one, name);
    any = any || asked;
    return asked;
  };
  const auto add_columns = [&](std::string_view of, const std::vector<ShownColumn>& shown) {
    return std::all_of(shown.begin(), shown.end(), [&](const ShownColumn& column) {
      QueryValue unit = std::monostate();
      if (!column.unit.empty()) unit = column.unit;
      row = {of,
             column.name,
             column.type,
             unit,
             std::int64_t{column.nullable},
             std::string_view(column.about),
             std::monostate()};
      return sink.Add(row);
    });
  };
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Table& table = tables.table(i);
    if (is_asked(table.name) && !add_columns(table.name, ColumnsOf(table))) return any;
  }
  for (const QueryView& view : QueryViews()) {
    if (!is_asked(view.name)) continue;
    row = {view.name,        std::monostate(), std::string_view("view"),
           std::monostate(), std::monostate(), view.sentence,
           view.select};
    if (!sink.Add(row) || !add_columns(view.name, ColumnsOf(view, tables))) return any;
  }
  return any;
}

}  // namespace headroom
