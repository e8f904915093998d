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

What `headroom query` ([query.md](query.md)) offers of a trace. `headroom query --reference` prints this page.

Times are whole nanoseconds on the clock of the trace. `id` is the number of a row, from 0; a column `x_id` holds that of a row in the table that it refers to. Words and texts compare as they
stand, and case counts. What is not recorded is null.
)";

constexpr std::string_view kIdSentence = "Number of the row.";

/// As SQL takes names.
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

/// The sentence, and what values there are.
std::string Described(const TableColumn& column) {
  std::string text = column.sentence;
  if (column.kind == ColumnKind::kRow) text += fmt::format(" A row of {}.", column.refers);
  if (column.kind == ColumnKind::kLabel) {
    std::vector<std::string_view> words(column.labels.begin(), column.labels.end());
    std::erase(words, std::string_view());
    text += fmt::format(" One of {}.", fmt::join(words, ", "));
  }
  return text;
}

}  // namespace

std::string ReferencePage(const TraceTables& tables) {
  std::string page(kPage);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Table& table = tables.table(i);
    page +=
        fmt::format("\n## {}\n\n{}\n\n| column | type | unit | null | |\n|---|---|---|---|---|\n",
                    table.name, table.sentence);
    page += fmt::format("| `id` | integer | | | {} |\n", kIdSentence);
    for (const TableColumn& column : table.columns) {
      page += fmt::format("| `{}` | {} | {}| {}| {} |\n", column.name, TypeOf(column.kind),
                          column.unit.empty() ? "" : column.unit + " ",
                          column.nullable ? "yes " : "", Described(column));
    }
  }
  page += "\n# Views\n";
  for (const QueryView& view : QueryViews())
    page +=
        fmt::format("\n## {}\n\n{}\n\n```sql\n{}\n```\n", view.name, view.sentence, view.select);
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
    if (!IsSameName(table.name, name)) continue;
    std::size_t width = 2;
    for (const TableColumn& column : table.columns) width = std::max(width, column.name.size());
    std::string text = fmt::format("{}: {}\n  {:<{}}  integer  {}\n", table.name, table.sentence,
                                   "id", width, kIdSentence);
    for (const TableColumn& column : table.columns) {
      text += fmt::format("  {:<{}}  {:<7}  {}\n", column.name, width, TypeOf(column.kind),
                          Described(column));
    }
    return text;
  }
  for (const QueryView& view : QueryViews()) {
    if (IsSameName(view.name, name))
      return fmt::format("{}: {}\n{}\n", view.name, view.sentence, view.select);
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
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Table& table = tables.table(i);
    if (!is_asked(table.name)) continue;
    row = {std::string_view(table.name),
           std::string_view("id"),
           std::string_view("integer"),
           std::monostate(),
           std::int64_t{0},
           kIdSentence,
           std::monostate()};
    if (!sink.Add(row)) return any;
    for (const TableColumn& column : table.columns) {
      const std::string about = Described(column);
      QueryValue unit = std::monostate();
      if (!column.unit.empty()) unit = std::string_view(column.unit);
      row = {
          std::string_view(table.name),  std::string_view(column.name), TypeOf(column.kind), unit,
          std::int64_t{column.nullable}, std::string_view(about),       std::monostate()};
      if (!sink.Add(row)) return any;
    }
  }
  for (const QueryView& view : QueryViews()) {
    if (!is_asked(view.name)) continue;
    row = {view.name,        std::monostate(), std::string_view("view"),
           std::monostate(), std::monostate(), view.sentence,
           view.select};
    if (!sink.Add(row)) return any;
  }
  return any;
}

}  // namespace headroom
