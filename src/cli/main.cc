// headroom: chooses the subcommand, and turns failures into messages and exit codes.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/unfinished_files.h"
#include "cli/commands/all_commands.h"
#include "cli/flags/help.h"
#include "cli/inputs/join_processes.h"
#include "cli/machine/build_facts.h"
#include "cli/machine/installed_files.h"
#include "cli/terminal/output.h"

namespace headroom::cli {
namespace {

constexpr int kGateExit = 1;
constexpr int kUsageExit = 2;
constexpr int kBadInputExit = 3;
constexpr int kEnvironmentExit = 4;

int ExitCode(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return 0;
    case StatusCode::kGateFailed:
      return kGateExit;
    case StatusCode::kUsage:
      return kUsageExit;
    case StatusCode::kBadInput:
    case StatusCode::kNoAnswer:
      return kBadInputExit;
    case StatusCode::kEnvironment:
      return kEnvironmentExit;
  }
  return kEnvironmentExit;
}

int Finish(const Status& status) {
  if (!status.ok())
    Remark(fmt::format("headroom: {}\n", Printable(status.message(), CharsetOfEnvironment())));
  return ExitCode(status.code());
}

/// Returns true if another process reports wrong flags, prints help and fails on behalf of this
/// one. A command that does not share work reports in every process.
bool IsSilent(const Subcommand* command) {
  return (command == nullptr || command->shares_work()) && IsFollower();
}

/// @param asked  command whose help the message points to
int RefuseUsage(const std::string& why, Command asked) {
  const std::string path = asked.path();
  Remark(fmt::format("headroom: {}\nSee headroom {}{}--help.\n",
                     Printable(why, CharsetOfEnvironment()), path, path.empty() ? "" : " "));
  return kUsageExit;
}

/// Answers "headroom help report", like git and cargo. Runs no command, and ignores flags.
int AnswerHelp(Command program, std::span<const std::string> words) {
  if (IsSilent(nullptr)) return 0;
  Command asked = program;
  for (const std::string& word : words) {
    if (word.starts_with('-')) break;
    const std::optional<Command> inner = asked.FindCommand(word);
    if (!inner) {
      const std::string path = asked.path();
      return RefuseUsage(
          NoSuchCommand(path.empty() ? "help " : "help " + path + " ", word, asked.command_names()),
          asked);
    }
    asked = *inner;
  }
  return Finish(WriteResult(asked.Help(), ""));
}

int Run(int argc, char** argv) {
  const Program program(
      "headroom", "Shows where the time of a training step goes, and what a change would save.",
      HEADROOM_VERSION,
      "Start with: headroom report trace.json.gz\nheadroom COMMAND --help lists the flags of a "
      "command, with examples.\n",
      HelpText);
  const std::vector<std::unique_ptr<Subcommand>> commands = MakeCommands(program);

  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments.front() == "help")
    return AnswerHelp(program.root(), std::span(arguments).subspan(1));
  // The parser would parse the recorded command's flags as flags of this program.
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes != arguments.end()) {
    for (const auto& command : commands) {
      if (arguments.front() != command->command().name() ||
          !command->TakeRest({dashes + 1, arguments.end()}))
        continue;
      arguments.erase(dashes, arguments.end());
      break;
    }
  }
  const ParsedCommandLine parsed = program.Parse(std::move(arguments));
  // The command that the user named, even if its arguments are wrong; null without one.
  const auto found = std::find_if(commands.begin(), commands.end(), [](const auto& command) {
    return command->command().is_chosen();
  });
  Subcommand* const chosen = found == commands.end() ? nullptr : found->get();
  if (chosen == nullptr || parsed.request != ParsedCommandLine::Request::kRun) {
    if (IsSilent(chosen)) return 0;
    switch (parsed.request) {
      case ParsedCommandLine::Request::kHelp:
        return Finish(WriteResult(parsed.asked.Help(), ""));
      case ParsedCommandLine::Request::kVersion:
        return Finish(WriteResult(
            fmt::format("headroom {}\n{}", program.version(), BuildFacts(FindInstalledFiles())),
            ""));
      case ParsedCommandLine::Request::kRefused:
        return RefuseUsage(parsed.wrong, parsed.asked);
      case ParsedCommandLine::Request::kRun:
        Remark(program.root().Help());
        return kUsageExit;
    }
  }
  const Status status = chosen->Run();
  // Launchers end all processes after one fails, including the leader, which prints. So the other
  // processes return 0.
  if (RemarksAreMuted() || (!status.ok() && status.message().empty())) return 0;
  const int finished = Finish(status);
  return chosen->exit_code() != 0 ? chosen->exit_code() : finished;
}

/// Occupies standard descriptors that the caller has closed. Otherwise an opened file could get
/// such a number, and messages would go into it. Reading stdin and writing stdout or stderr still
/// fails. A child process finds the descriptors closed.
void HoldStandardDescriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(number, F_GETFD) >= 0) continue;
    const int held = open("/dev/null", (number == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    // open() returns the lowest free number, which is this one.
    if (held > STDERR_FILENO) close(held);
  }
}

}  // namespace
}  // namespace headroom::cli

int main(int argc, char** argv) {
  headroom::cli::HoldStandardDescriptors();
  // write() reports a closed pipe, so no work stays half done.
  std::signal(SIGPIPE, SIG_IGN);
  headroom::RemoveUnfinishedFilesAtSignals();
  try {
    return headroom::cli::Run(argc, argv);
  } catch (const std::bad_alloc&) {
    headroom::cli::MuteRemarks(false);
    headroom::cli::Remark(
        "headroom: out of memory; use a smaller trace (fewer profiled steps), fewer --threads or a "
        "machine with more memory\n");
  } catch (const std::filesystem::filesystem_error& error) {
    headroom::cli::MuteRemarks(false);
    headroom::cli::Remark(
        fmt::format("headroom: {}\n",
                    headroom::Printable(error.what(), headroom::cli::CharsetOfEnvironment())));
  } catch (const std::system_error& error) {
    headroom::cli::MuteRemarks(false);
    headroom::cli::Remark(fmt::format(
        "headroom: cannot start a thread or open a file: {}; `ulimit -a` shows the limits\n",
        error.code().message()));
  } catch (const std::exception& error) {
    headroom::cli::MuteRemarks(false);
    headroom::cli::Remark(
        fmt::format("headroom: internal error: {}\n",
                    headroom::Printable(error.what(), headroom::cli::CharsetOfEnvironment())));
  }
  return headroom::cli::kEnvironmentExit;
}
