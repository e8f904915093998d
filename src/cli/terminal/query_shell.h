// Runs statements and commands in order, from a terminal, stdin or the command line.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "answers/query/query_output.h"
#include "base/status.h"
#include "query/database.h"

namespace headroom::cli {

/// A session of queries, with its output format.
class QuerySession {
 public:
  QuerySession(QueryTables& tables, Database& database, QueryLimits limits,
               QueryOutputOptions output)
      : tables_(tables),
        database_(database),
        limits_(limits),
        output_(output),
        holds_one_result_(output.format != QueryFormat::kTable) {}

  /// Runs all commands (lines that begin with a dot) and statements of `text`. Appends their output
  /// to `out`, and remarks to `remarks`. Stops at the first failure.
  Status RunAll(std::string_view text, std::string& out, std::string& remarks);
  /// Runs commands from the terminal until end of input or .quit.
  Status RunTerminal();

 private:
  Status RunCommand(std::string_view line, std::string& out, std::string& remarks);
  /// `sql` begins at `begin` in `whole`.
  Status RunStatements(std::string_view whole, std::size_t begin, std::string_view sql,
                       std::string& out, std::string& remarks);
  /// Appends a result to `out`. `asked` is its statement or command.
  Status Append(const QueryOutput& output, std::string_view asked, std::string& out,
                std::string& remarks);

  QueryTables& tables_;
  Database& database_;
  QueryLimits limits_;
  QueryOutputOptions output_;
  int results_ = 0;
  /// True for CSV and JSON until .mode is used: then the output may contain several results.
  bool holds_one_result_;
  bool quit_ = false;
  bool on_terminal_ = false;
};

}  // namespace headroom::cli
