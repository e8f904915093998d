// Descriptions of the tables, views and columns, for people.
#pragma once

#include <string>
#include <string_view>

#include "query/database.h"
#include "query/trace_tables.h"

namespace headroom {

/// Returns the content of docs/tables.md: all tables and views, in Markdown.
std::string ReferencePage(const TraceTables& tables);

/// Returns the names of the tables with their row counts, then of the views, one per line.
std::string ListOfTables(const TraceTables& tables);

/// Returns the columns of a table, or of a view with its SELECT; empty for an unknown name. Ignores
/// case.
std::string SchemaOf(const TraceTables& tables, std::string_view name);

/// Passes the tables to `sink` as a result with the columns `name`, `type` (table or view), `rows`
/// (null for a view) and `about`.
void TablesAsRows(const TraceTables& tables, QuerySink& sink);
/// Passes the columns to `sink` as a result with `table`, `column`, `type`, `unit`, `nullable` (1
/// or 0), `about` and `sql`. Before its columns, a view has a row of type view with its SELECT as
/// `sql`. Values that do not apply are null. `name` selects one table or view; empty: all. Returns
/// false if the name is unknown.
bool SchemaAsRows(const TraceTables& tables, std::string_view name, QuerySink& sink);

}  // namespace headroom
