#include "cli/commands/query_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "answers/query/query_output.h"
#include "cli/flags/value_checks.h"
#include "cli/inputs/open_with_progress.h"
#include "cli/terminal/file_ending.h"
#include "cli/terminal/output.h"
#include "cli/terminal/query_shell.h"
#include "ingest/open_trace.h"
#include "query/database.h"
#include "query/reference.h"
#include "render/escape.h"

namespace headroom::cli {
namespace {

constexpr const char* kQueryExamples = R"(Examples:
  headroom query trace.json.gz 'select name, sum(duration_ns) from kernels group by name order by 2 desc'
  headroom query trace.json.gz .tables           all tables; .schema TABLE lists the columns
  headroom query trace.json.gz                   a shell, on a terminal
  headroom query trace.json.gz < questions.sql   statements from a file
  headroom query trace.json.gz 'select * from kernels' --csv -o kernels.csv

Examples of questions are in docs/query.md, all columns in docs/tables.md. Queries cannot write.
Exit codes: 0 fine; 2 usage, or wrong SQL; 3 the file is unreadable or not a trace; 4 a limit of
time or memory was reached, cannot write, or internal error.
)";

constexpr std::array kForms = {OutputForm{".csv", "--csv"}, OutputForm{".json", "--json"}};
constexpr std::int64_t kTimeoutS = 60, kMemoryMb = 2048;
constexpr std::int64_t kNsPerS = 1'000'000'000;
constexpr std::int64_t kMax = 1'000'000'000;

Result<std::string> ReadStdin() {
  std::string text;
  std::array<char, 65536> piece{};
  for (;;) {
    const ssize_t n = read(STDIN_FILENO, piece.data(), piece.size());
    if (n == 0) return text;
    if (n > 0) {
      text.append(piece.data(), static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      return Status::BadInput(fmt::format("cannot read stdin: {}", std::strerror(errno)));
    }
  }
}

}  // namespace

QueryCommand::QueryCommand(Command parent) : timeout_s_(kTimeoutS), memory_mb_(kMemoryMb) {
  command_ = parent.AddCommand("query", "SQL on the tables of a trace", kQueryExamples);
  command_.AddOption("TRACE", trace_, "The trace").TypeName("");
  command_
      .AddOption(
          "SQL", words_,
          "Statements, or a command such as .tables; if missing, a shell on a terminal, else stdin")
      .TypeName("");
  const Flag csv = command_.AddFlag("--csv", csv_, "CSV (RFC 4180), one statement");
  command_.AddFlag("--json", json_, "JSON (headroom.query/1), one statement").Excludes(csv);
  command_.AddOption("-o,--output", output_path_, "Write to FILE, whole or not at all")
      .TypeName("FILE")
      .Check(NotEmpty());
  command_
      .AddOption("--max-rows", max_rows_, "Maximum rows to show, 0 for all [table 1000; else 0]")
      .TypeName("N")
      .Check(WholeNumber(0, kMax));
  command_.AddOption("--timeout-s", timeout_s_, "Maximum seconds per statement, 0 for no limit")
      .ShowDefault()
      .TypeName("N")
      .Check(WholeNumber(0, kMax));
  command_
      .AddOption("--memory-mb", memory_mb_,
                 "Maximum megabytes for a statement and its result, 0 for no limit")
      .ShowDefault()
      .TypeName("N")
      .Check(WholeNumber(0, kMax));
  AddOpenFlags(command_, open_);
  command_.AddFlag("--reference", reference_,
                   "Print all tables and columns as Markdown; takes no trace");
  command_.AddFlag("-q,--quiet", quiet_, "No remarks on stderr");
}

Result<std::unique_ptr<TraceStore>> QueryCommand::Read() const {
  return OpenWithProgress(trace_, open_, quiet_);
}

Status QueryCommand::Run() {
  if (reference_) {
    TraceStore empty;
    empty.Freeze(1);
    return WriteResult(ReferencePage(TraceTables(empty)), output_path_);
  }
  if (trace_.empty()) return Status::Usage("TRACE is required, except with --reference alone");
  if (Status status = RefuseToOverwrite("-o", output_path_, {trace_}); !status.ok()) return status;
  // A command works without quotes. A statement requires quotes, because the shell expands an
  // unquoted "*".
  if (words_.size() > 1 && !words_.front().starts_with('.')) {
    return Status::Usage(fmt::format("quote the statement: headroom query {} '{} ...'",
                                     ShellQuote(trace_),
                                     Printable(words_.front(), Charset::kAscii)));
  }
  const bool terminal = words_.empty() && isatty(STDIN_FILENO) != 0;
  if (terminal && (csv_ || json_ || !output_path_.empty()))
    return Status::Usage(
        "--csv, --json and -o require a statement; in the shell, .mode sets the format");
  std::string text;
  if (!words_.empty()) {
    text = fmt::format("{}", fmt::join(words_, " "));
  } else if (!terminal) {
    Result<std::string> input = ReadStdin();
    if (!input.ok()) return input.status();
    text = std::move(input).value();
  }
  const Result<std::unique_ptr<TraceStore>> store = Read();
  if (!store.ok()) return store.status();
  QueryTables tables(*store.value());
  const Result<std::unique_ptr<Database>> database = Database::Open(tables);
  if (!database.ok()) return database.status();
  QueryOutputOptions output;
  output.format = csv_ ? QueryFormat::kCsv : json_ ? QueryFormat::kJson : QueryFormat::kTable;
  output.max_rows = max_rows_;
  output.most_bytes = memory_mb_ << 20;
  output.charset = CharsetOfEnvironment();
  QuerySession session(tables, *database.value(),
                       {.time = DurationNs(timeout_s_ * kNsPerS), .memory_bytes = memory_mb_ << 20},
                       output);
  if (terminal) return session.RunTerminal();
  std::string out, remarks;
  if (Status status = session.RunAll(text, out, remarks); !status.ok()) return status;
  if (out.empty()) return Status::Usage("missing statement: give one, or .tables");
  if (Status status = WriteData(out, output_path_); !status.ok()) return status;
  if (!quiet_) {
    Remark(remarks + RemarkOnEnding(output_path_,
                                    csv_    ? "--csv"
                                    : json_ ? "--json"
                                            : "",
                                    csv_    ? "CSV"
                                    : json_ ? "JSON"
                                            : "a plain-text table",
                                    kForms));
  }
  return Status::Ok();
}

}  // namespace headroom::cli
