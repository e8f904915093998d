// Statements and commands one after another: of a terminal, of stdin, or of the command line.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cli/terminal/query_output.h"
#include "query/database.h"

namespace headroom::cli {

/// What a session is asked, and how it answers.
class QuerySession {
 public:
  QuerySession(QueryTables& tables, Database& database, QueryLimits limits,
               QueryOutputOptions output)
      : tables_(tables),
        database_(database),
        limits_(limits),
        output_(output),
        holds_one_result_(output.format != QueryFormat::kTable) {}

  /// Runs all of a text: commands (a line that begins with a point) and statements. Appends what
  /// they print to `out`, and remarks to `remarks`; stops at the first failure.
  Status RunAll(std::string_view text, std::string& out, std::string& remarks);
  /// Reads a terminal until its end or .quit.
  Status RunTerminal();

 private:
  Status RunCommand(std::string_view line, std::string& out, std::string& remarks);
  /// `sql` stands in `whole` from `begin` on.
  Status RunStatements(std::string_view whole, std::size_t begin, std::string_view sql,
                       std::string& out, std::string& remarks);
  /// Appends a result, of what was `asked` for.
  Status Append(const QueryOutput& output, std::string_view asked, std::string& out,
                std::string& remarks);

  QueryTables& tables_;
  Database& database_;
  QueryLimits limits_;
  QueryOutputOptions output_;
  int results_ = 0;
  /// As a file of CSV or JSON was asked for; .mode asks for a text that may hold several.
  bool holds_one_result_;
  bool quit_ = false;
  bool on_terminal_ = false;
};

}  // namespace headroom::cli
