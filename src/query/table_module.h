// The tables of a trace as SQLite's virtual tables.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include "query/table_scan.h"
#include "query/trace_tables.h"

struct sqlite3;  // NOLINT(readability-identifier-naming): the name that the library has.

namespace headroom {

/// Data that the virtual tables of all connections to one trace share: the tables and their
/// indexes.
class QueryTables {
 public:
  explicit QueryTables(const TraceStore& store);

  const TraceTables& tables() const { return tables_; }
  TableIndexes& indexes(std::size_t table) { return indexes_[table]; }

 private:
  TraceTables tables_;
  std::deque<TableIndexes> indexes_;  ///< Indexed by table; elements must not move.
};

/// Registers the module `headroom_table` with a connection. CREATE VIRTUAL TABLE t USING
/// headroom_table then creates the table t. `tables` must outlive the connection. Returns SQLite's
/// result code.
int RegisterTables(sqlite3* connection, QueryTables& tables);

}  // namespace headroom
