// What the tables and views are and what their columns say, for people.
#pragma once

#include <string>
#include <string_view>

#include "query/database.h"
#include "query/trace_tables.h"

namespace headroom {

/// docs/tables.md: all tables and views, in Markdown.
std::string ReferencePage(const TraceTables& tables);

/// Names of tables with their rows, then of views; a line each.
std::string ListOfTables(const TraceTables& tables);

/// The columns of a table, or of a view with its SELECT; empty where there is none of this name, in
/// any case of letters.
std::string SchemaOf(const TraceTables& tables, std::string_view name);

/// The same as results: `name`, `type` (table or view), `rows` (null of a view), `about` ...
void TablesAsRows(const TraceTables& tables, QuerySink& sink);
/// ... and `table`, `column`, `type`, `unit`, `nullable` (1 or 0), `about`, `sql`: before its
/// columns, a view has a row of type view with its SELECT as `sql`. What does not apply is null.
/// `name`: of that one alone; empty: of all. False where there is none.
bool SchemaAsRows(const TraceTables& tables, std::string_view name, QuerySink& sink);

}  // namespace headroom
