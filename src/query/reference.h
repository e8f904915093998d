// What the tables and views are and what their columns say, for people.
#pragma once

#include <string>
#include <string_view>

#include "query/trace_tables.h"

namespace headroom {

/// docs/tables.md: all tables and views, in Markdown.
std::string ReferencePage(const TraceTables& tables);

/// Names of tables with their rows, then of views; a line each.
std::string ListOfTables(const TraceTables& tables);

/// The columns of a table, or the text of a view; empty where there is none of this name.
std::string SchemaOf(const TraceTables& tables, std::string_view name);

}  // namespace headroom
