#include "cli/terminal/query_shell.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <histedit.h>
#include <unistd.h>

#include <chrono>
#include <clocale>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/ascii.h"
#include "base/atomic_file.h"
#include "base/local_state.h"
#include "base/text.h"
#include "cli/terminal/output.h"
#include "query/reference.h"

namespace headroom::cli {
namespace {

constexpr std::string_view kHelp = R"(A statement ends with ; and may take several lines.
  .tables            tables and views
  .schema [TABLE]    the columns of a table, or of all
  .mode table|csv|json
  .help
  .quit              or Ctrl-D
Ctrl-C stops a running statement, or empties the line.
)";

/// Set by Ctrl-C while a statement runs.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

/// Ends the program if a statement ignores its time limit. SQLite does not check the clock within
/// one function call. Some functions (instr, trim, replace) take time quadratic in the length of
/// their texts. No output file is half written then: files are written after a statement has ended.
class LastResort {
 public:
  explicit LastResort(DurationNs limit) {
    if (limit <= DurationNs(0)) return;
    thread_ = std::thread([this, limit] {
      constexpr std::chrono::seconds kGrace{2};
      std::unique_lock lock(mutex_);
      if (ended_.wait_for(lock, std::chrono::nanoseconds(limit.ns()) + kGrace,
                          [this] { return has_ended_; }))
        return;
      constexpr int kLimitReached = 4;
      Remark(fmt::format(
          "headroom: the query was stopped after {} s, inside one call of a function on a long "
          "string; use shorter strings (substr), or more time with --timeout-s N (0: no limit)\n",
          limit.ms() / 1e3));
      std::_Exit(kLimitReached);
    });
  }
  LastResort(const LastResort&) = delete;
  LastResort& operator=(const LastResort&) = delete;
  ~LastResort() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      has_ended_ = true;
    }
    ended_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  std::thread thread_;
};

/// `continues`: the prompt continues a statement. `cancelled`: Ctrl-C emptied the line. Global,
/// because libedit calls plain functions.
bool continues = false;
bool cancelled = false;

char* Prompt(EditLine*) {
  static char first[] = "headroom> ", next[] = "     ...> ";
  return continues ? next : first;
}

unsigned char Cancel(EditLine*, int) {
  cancelled = true;
  return CC_EOF;
}

/// The line editor of a terminal, with the history of earlier sessions.
class LineEditor {
 public:
  LineEditor() : editor_(el_init("headroom", stdin, stdout, stderr)), history_(history_init()) {
    constexpr int kHistory = 1000;
    HistEvent event;
    history(history_, &event, H_SETSIZE, kHistory);
    history(history_, &event, H_SETUNIQUE, 1);
    path_ = LocalStatePath("query_history");
    if (path_ && CheckStateFile(*path_).ok()) history(history_, &event, H_LOAD, path_->c_str());
    el_set(editor_, EL_PROMPT, Prompt);
    el_set(editor_, EL_EDITOR, "emacs");
    el_set(editor_, EL_HIST, history, history_);
    // Ctrl-C is a key while a line is edited, and a signal while a statement runs.
    el_set(editor_, EL_SETTY, "-d", "-isig", nullptr);
    el_set(editor_, EL_ADDFN, "cancel-statement", "Empty the line", Cancel);
    el_set(editor_, EL_BIND, "^C", "cancel-statement", nullptr);
  }
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;
  ~LineEditor() {
    history_end(history_);
    el_end(editor_);
  }

  /// Returns a line with its newline. Returns nullopt at the end of input, or after Ctrl-C.
  std::optional<std::string> Read() {
    int length = 0;
    const char* const line = el_gets(editor_, &length);
    if (line == nullptr || length <= 0 || cancelled) return std::nullopt;
    return std::string(line, static_cast<std::size_t>(length));
  }

  /// Keeps a statement for this session and the next one. Failing to save it is not an error.
  void Remember(const std::string& text) {
    HistEvent event;
    history(history_, &event, H_ENTER, text.c_str());
    if (!path_) return;
    // Creates the file before the library does, so that only its owner can read the statements.
    if (AppendToLocalState(*path_, "").ok()) history(history_, &event, H_SAVE, path_->c_str());
  }

 private:
  EditLine* editor_;
  History* history_;
  std::optional<std::string> path_;
};

/// During its lifetime, Ctrl-C ends the statement, not the program.
class InterruptStatement {
 public:
  InterruptStatement() {
    interrupted = false;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = true; };
    sigaction(SIGINT, &action, &before_);
  }
  InterruptStatement(const InterruptStatement&) = delete;
  InterruptStatement& operator=(const InterruptStatement&) = delete;
  ~InterruptStatement() { sigaction(SIGINT, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

Status QuerySession::RunCommand(std::string_view line, std::string& out, std::string& remarks) {
  line = Trim(line);
  while (line.ends_with(';')) line = Trim(line.substr(0, line.size() - 1));
  const std::size_t blank = line.find(' ');
  const std::string_view command = line.substr(0, blank);
  const std::string_view argument =
      blank == std::string_view::npos ? std::string_view() : Trim(line.substr(blank));
  const TraceTables& tables = tables_.tables();
  const bool as_text = output_.format == QueryFormat::kTable;
  if (command == ".tables") {
    if (!argument.empty())
      return Status::Usage(
          fmt::format(".tables lists all tables; .schema {} lists its columns", argument));
    if (!as_text) {
      QueryOutput rows(output_);
      TablesAsRows(tables, rows);
      return Append(rows, line, out, remarks);
    }
    out += ListOfTables(tables);
  } else if (command == ".help") {
    out += kHelp;
  } else if (command == ".quit" || command == ".exit") {
    quit_ = true;
  } else if (command == ".mode") {
    if (argument != "table" && argument != "csv" && argument != "json")
      return Status::Usage(".mode: give table, csv or json");
    holds_one_result_ = false;
    output_.format = argument == "csv"    ? QueryFormat::kCsv
                     : argument == "json" ? QueryFormat::kJson
                                          : QueryFormat::kTable;
  } else if (command == ".schema") {
    Status unknown =
        Status::Usage(fmt::format(".schema: no table {}; .tables lists them", argument));
    if (!as_text) {
      QueryOutput rows(output_);
      return SchemaAsRows(tables, argument, rows) ? Append(rows, line, out, remarks) : unknown;
    }
    std::string text = argument.empty() ? "" : SchemaOf(tables, argument);
    if (argument.empty()) {
      for (std::size_t i = 0; i < tables.size(); ++i)
        text += SchemaOf(tables, tables.table(i).name) + "\n";
      for (const QueryView& view : QueryViews()) text += SchemaOf(tables, view.name) + "\n";
    }
    if (text.empty()) return unknown;
    out += text;
  } else {
    return Status::Usage(fmt::format("unknown command {}; .help lists the commands", command));
  }
  return Status::Ok();
}

Status QuerySession::Append(const QueryOutput& output, std::string_view asked, std::string& out,
                            std::string& remarks) {
  if (Status status = output.status(); !status.ok()) return status;
  if (results_++ > 0 && !on_terminal_) {
    if (holds_one_result_) {
      return Status::Usage(
          "CSV and JSON hold one result: give one statement, or put .mode csv or .mode json before "
          "several statements to print one result after the other");
    }
    out += "\n";
  }
  out += output.Text(asked);
  if (output.cut() && output_.format != QueryFormat::kJson) {
    remarks += fmt::format(
        "headroom: only the first {} rows are shown; --max-rows N shows more (0: all){}\n",
        output_.most_rows(),
        output_.format == QueryFormat::kTable ? ", and --csv and --json have all rows" : "");
  }
  return Status::Ok();
}

Status QuerySession::RunStatements(std::string_view whole, std::size_t begin, std::string_view sql,
                                   std::string& out, std::string& remarks) {
  const std::size_t size = sql.size();
  while (!Trim(sql).empty()) {
    QueryOutput output(output_);
    const LastResort last_resort(limits_.time);
    limits_.before = whole.substr(0, begin + size - sql.size());
    const Result<std::string_view> rest = database_.RunFirst(sql, limits_, output);
    limits_.before = {};
    if (!rest.ok()) return rest.status();
    const std::string_view statement = Trim(sql.substr(0, sql.size() - rest.value().size()));
    sql = rest.value();
    if (!output.began()) continue;
    if (Status status = Append(output, statement, out, remarks); !status.ok()) return status;
  }
  return Status::Ok();
}

Status QuerySession::RunAll(std::string_view text, std::string& out, std::string& remarks) {
  const std::string_view all = text;
  std::string statements;
  std::size_t begin = 0;  // Position of `statements` in `all`.
  while (!text.empty() && !quit_) {
    if (statements.empty()) begin = all.size() - text.size();
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (Trim(statements).empty() && Trim(line).starts_with('.')) {
      if (Status status = RunCommand(line, out, remarks); !status.ok()) return status;
      statements.clear();
      continue;
    }
    statements.append(line).push_back('\n');
    if (!text.empty() && !Database::IsComplete(statements)) continue;
    if (Status status = RunStatements(all, begin, statements, out, remarks); !status.ok())
      return status;
    statements.clear();
  }
  return Status::Ok();
}

Status QuerySession::RunTerminal() {
  setlocale(LC_CTYPE, "");  // The editor reads characters in the terminal's encoding.
  on_terminal_ = true;
  limits_.interrupted = &interrupted;
  // Ignores Ctrl-C between a statement and the next prompt, where the editor does not read it as a
  // key yet.
  std::signal(SIGINT, SIG_IGN);
  LineEditor editor;
  Remark("SQL on this trace; .help lists the commands, .tables lists the tables.\n");
  std::string text;
  while (!quit_) {
    continues = !Trim(text).empty();
    cancelled = false;
    const std::optional<std::string> line = editor.Read();
    if (!line) {
      WriteAll(STDOUT_FILENO, cancelled ? "^C\n" : "\n");
      if (!cancelled) break;
      text.clear();
      continue;
    }
    text += *line;
    const bool command = Trim(text).starts_with('.');
    if (Trim(text).empty()) text.clear();
    if (text.empty() || (!command && !Database::IsComplete(text))) continue;
    editor.Remember(std::string(Trim(text)));
    std::string out, remarks;
    Status status;
    {
      const InterruptStatement guard;
      status = RunAll(text, out, remarks);
    }
    text.clear();
    if (interrupted) Remark("\n");  // The cursor is after the ^C that the terminal printed.
    WriteAll(STDOUT_FILENO,
             isatty(STDOUT_FILENO) == 1 ? PrintableLines(out, output_.charset) : out);
    Remark(remarks);
    if (!status.ok()) Remark(Printable(status.message(), CharsetOfEnvironment()) + "\n");
  }
  return Status::Ok();
}

}  // namespace headroom::cli
