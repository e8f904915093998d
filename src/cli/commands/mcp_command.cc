#include "cli/commands/mcp_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "cli/commands/mcp_tools.h"
#include "cli/flags/command_description.h"
#include "cli/flags/value_checks.h"
#include "mcp/server.h"

namespace headroom::cli {
namespace {

constexpr double kLongestTimeout = 86'400;

constexpr const char* kMcpExamples = R"(Examples:
  headroom mcp                                       traces below the current folder
  headroom mcp --root ~/traces --root /data/runs     below these two

A client starts it and speaks the Model Context Protocol over its stdin and stdout; docs/mcp.md has
the settings of common clients. It writes nothing and opens only files below its folders. Exit
codes: 0 fine: stdin ended, or the client closed stdout; 2 usage; 4 cannot write, or internal error.
)";

ValueCheck TimeLimit() {
  return {[above_zero = AboveZero()](const std::string& text) {
    if (std::string wrong = above_zero.wrong(text); !wrong.empty()) return wrong;
    return std::stod(text) <= kLongestTimeout ? "" : text + " is more than a day";
  }};
}

}  // namespace

McpCommand::McpCommand(const Program& program)
    : program_(program),
      max_bytes_(static_cast<std::int64_t>(mcp::ServerOptions().max_bytes)),
      timeout_s_(std::chrono::duration<double>(mcp::ServerOptions().time_limit).count()) {
  command_ = program.root().AddCommand("mcp", "Serve coding agents (Model Context Protocol)",
                                       kMcpExamples);
  command_
      .AddOption("--root", roots_,
                 "Open only files below this folder; may be repeated [the current folder]")
      .TypeName("DIR")
      .OneValueEach();
  command_
      .AddOption("--max-bytes", max_bytes_,
                 "Maximum bytes of an answer, text and structured content together, at least 3000")
      .ShowDefault()
      .TypeName("N")
      .Check(WholeNumber(3000, 1'000'000'000));
  command_.AddOption("--timeout", timeout_s_, "Maximum seconds per command")
      .ShowDefault()
      .TypeName("S")
      .Check(TimeLimit());
}

Status McpCommand::Run() {
  if (roots_.empty()) roots_.emplace_back(".");
  const Result<OpenFolders> folders = OpenFolders::Make(roots_);
  if (!folders.ok()) return folders.status();
  const mcp::ServerOptions options = {
      .version = program_.version(),
      .instructions = fmt::format(
          "Headroom analyzes profiler traces of deep-learning jobs: where a training step's time "
          "goes, and what a change would save. It opens only files below {}; relative paths start "
          "at the first of these folders. Begin with report. The list left_out names the parts "
          "that an answer "
          "omits: pass its select and from to the same tool to see them.",
          folders.value().Names()),
      .max_bytes = static_cast<std::size_t>(max_bytes_),
      .time_limit =
          std::chrono::milliseconds(static_cast<std::int64_t>(std::max(1.0, timeout_s_ * 1000)))};
  return mcp::Serve(STDIN_FILENO, STDOUT_FILENO, options,
                    ToolsOf(program_.Describe(), folders.value(), options.max_bytes));
}

}  // namespace headroom::cli
