#include "query/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "query/database.h"

namespace headroom {
namespace {

constexpr std::string_view kPage = R"(# Tables

What `headroom query` ([query.md](query.md)) offers of a trace. `headroom query --reference` prints this page.

Times are whole nanoseconds on the clock of the trace. `id` is the number of a row, from 0; a column `x_id` holds that of a row in the table that it refers to. Words and texts compare as they
stand, and case counts. What is not recorded is null.
)";

constexpr std::string_view kIdSentence = "Number of the row.";

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
    if (table.name != name) continue;
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
    if (view.name == name)
      return fmt::format("{}: {}\n{}\n", view.name, view.sentence, view.select);
  }
  return "";
}

}  // namespace headroom
