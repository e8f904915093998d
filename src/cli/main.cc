// headroom: chooses the subcommand, and turns failures into messages and exit codes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/unfinished_files.h"
#include "cli/baseline_command.h"
#include "cli/calibrate_command.h"
#include "cli/completion_command.h"
#include "cli/data_command.h"
#include "cli/diff_command.h"
#include "cli/doctor_command.h"
#include "cli/export_command.h"
#include "cli/help.h"
#include "cli/join_team.h"
#include "cli/man_command.h"
#include "cli/mcp_command.h"
#include "cli/merge_command.h"
#include "cli/monitor_command.h"
#include "cli/output.h"
#include "cli/predict_command.h"
#include "cli/query_command.h"
#include "cli/record_command.h"
#include "cli/redact_command.h"
#include "cli/repair_command.h"
#include "cli/report_command.h"
#include "cli/scale_command.h"
#include "cli/slice_command.h"
#include "cli/ui_command.h"
#include "cli/whatif_command.h"

namespace headroom::cli {
namespace {

constexpr int kGateExit = 1;
constexpr int kUsageExit = 2;
constexpr int kBadInputExit = 3;
constexpr int kInternalExit = 4;

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
    case StatusCode::kInternal:
      return kInternalExit;
  }
  return kInternalExit;
}

int Finish(const Status& status) {
  if (!status.ok())
    Remark(fmt::format("headroom: {}\n", Printable(status.message(), CharsetOfEnvironment())));
  return ExitCode(status.code());
}

/// Of several processes, the first alone tells of wrong flags and helps, and fails by them. Those
/// of commands that each process does by itself, too, speak for themselves.
bool IsSilent(const Subcommand* command) {
  return (command == nullptr || command->shares_work()) && IsFollower();
}

/// "data bench ", with the blank behind it; of the program itself, empty.
std::string CommandPath(const CLI::App& app) {
  return app.get_parent() == nullptr ? "" : CommandPath(*app.get_parent()) + app.get_name() + " ";
}

std::vector<std::string_view> CommandNames(const CLI::App& app) {
  std::vector<std::string_view> names;
  for (const CLI::App* command :
       app.get_subcommands([](const CLI::App* one) { return !one->get_name().empty(); }))
    names.push_back(command->get_name());
  return names;
}

std::string NoSuchCommand(const std::string& before, std::string_view word,
                          const std::vector<std::string_view>& names) {
  const std::vector<std::string_view> near = NearNames(word, names);
  return fmt::format("{}{}: no such command; {} {}", before, word,
                     near.empty() ? "there are" : "did you mean",
                     fmt::join(near.empty() ? names : near, ", "));
}

/// What is wrong with the word that stands where a command of `app` must; empty: one is there, or
/// none is needed.
std::string WrongCommand(const CLI::App& app) {
  const bool is_needed = app.get_parent() == nullptr || app.get_require_subcommand_min() > 0;
  if (!is_needed || !app.get_subcommands().empty()) return "";
  const std::vector<std::string_view> names = CommandNames(app);
  const std::string before = CommandPath(app);
  const std::vector<std::string> words = app.remaining();
  if (words.empty()) {
    // The program alone is a question for its help.
    return app.get_parent() == nullptr
               ? ""
               : fmt::format("{}needs a command: {}", before, fmt::join(names, ", "));
  }
  // It is the flag that is wrong, and a word behind it may be its value.
  if (words.front().starts_with('-')) {
    return app.get_parent() == nullptr
               ? ""
               : fmt::format("{}{}: no such flag; a command comes first: {}", before, words.front(),
                             fmt::join(names, ", "));
  }
  return NoSuchCommand(before, words.front(), names);
}

/// What is wrong with a flag that `app`, of `program`, does not have; empty: the error is another.
std::string WrongFlag(const CLI::App& program, const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return "";
  for (const std::string& word : program.remaining(/*recurse=*/true)) {
    if (!word.starts_with("--")) continue;
    const std::string flag = word.substr(0, word.find('='));
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    const std::vector<std::string_view> near = NearNames(flag, {names.begin(), names.end()});
    return fmt::format("{}: no such flag{}{}", flag, near.empty() ? "" : "; did you mean ",
                       fmt::join(near, ", "));
  }
  return "";
}

/// @param asked  whose help tells how it is done
int RefuseUsage(const std::string& why, const CLI::App& asked) {
  Remark(fmt::format("headroom: {}\nSee headroom {}--help.\n",
                     Printable(why, CharsetOfEnvironment()), CommandPath(asked)));
  return kUsageExit;
}

/// "headroom help report", as of git and cargo. Nothing is run, whatever else stands behind it.
int AnswerHelp(const CLI::App& program, std::span<const std::string> words) {
  if (IsSilent(nullptr)) return 0;
  const CLI::App* asked = &program;
  for (const std::string& word : words) {
    if (word.starts_with('-')) break;
    const std::vector<const CLI::App*> inner =
        asked->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
    if (inner.empty()) {
      return RefuseUsage(NoSuchCommand("help " + CommandPath(*asked), word, CommandNames(*asked)),
                         *asked);
    }
    asked = inner.front();
  }
  return Finish(WriteResult(asked->help(), ""));
}

int Run(int argc, char** argv) {
  CLI::App app("Tells from a profiler trace where the time of a training step goes.", "headroom");
  app.set_version_flag("--version", std::string("headroom ") + HEADROOM_VERSION,
                       "Print the version");
  app.set_help_flag("-h,--help", "Print this help");
  app.formatter(std::make_shared<HelpFormatter>());
  app.require_subcommand(0, 1);
  app.footer("headroom COMMAND --help lists the flags of a command, with examples.\n");
  std::vector<std::unique_ptr<Subcommand>> commands;
  commands.push_back(std::make_unique<ReportCommand>(app));
  commands.push_back(std::make_unique<WhatifCommand>(app));
  commands.push_back(std::make_unique<PredictCommand>(app));
  commands.push_back(std::make_unique<ScaleCommand>(app));
  commands.push_back(std::make_unique<UiCommand>(app));
  commands.push_back(std::make_unique<DataCommand>(app));
  commands.push_back(std::make_unique<DiffCommand>(app));
  commands.push_back(std::make_unique<BaselineCommand>(app));
  commands.push_back(std::make_unique<MergeCommand>(app));
  commands.push_back(std::make_unique<SliceCommand>(app));
  commands.push_back(std::make_unique<RepairCommand>(app));
  commands.push_back(std::make_unique<RedactCommand>(app));
  commands.push_back(std::make_unique<ExportCommand>(app));
  commands.push_back(std::make_unique<QueryCommand>(app));
  commands.push_back(std::make_unique<RecordCommand>(app));
  commands.push_back(std::make_unique<MonitorCommand>(app));
  commands.push_back(std::make_unique<McpCommand>(app));
  commands.push_back(std::make_unique<DoctorCommand>(app));
  commands.push_back(std::make_unique<CalibrateCommand>(app));
  commands.push_back(std::make_unique<CompletionCommand>(app));
  commands.push_back(std::make_unique<ManCommand>(app));

  // The one that the user named, also where its arguments are wrong; null: none.
  const auto chosen = [&]() -> Subcommand* {
    for (const auto& command : commands) {
      if (command->app().parsed()) return command.get();
    }
    return nullptr;
  };
  // CLI11 would take the recorded command's flags for its own.
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments.front() == "help")
    return AnswerHelp(app, std::span(arguments).subspan(1));
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes != arguments.end()) {
    for (const auto& command : commands) {
      if (arguments.front() != command->app().get_name() ||
          !command->TakeRest({dashes + 1, arguments.end()}))
        continue;
      arguments.erase(dashes, arguments.end());
      break;
    }
  }
  std::reverse(arguments.begin(), arguments.end());  // The order that CLI11 wants a vector in.
  try {
    app.parse(arguments);
  } catch (const CLI::Success&) {  // --help and --version
    const Subcommand* command = chosen();
    if (IsSilent(command)) return 0;
    return Finish(WriteResult(command != nullptr                ? command->app().help()
                              : app.get_help_ptr()->count() > 0 ? app.help()
                                                                : app.version() + "\n",
                              ""));
  } catch (const CLI::ParseError& error) {
    const Subcommand* command = chosen();
    if (IsSilent(command)) return 0;
    const CLI::App* asked = command != nullptr ? &command->app() : &app;
    while (command != nullptr && !asked->get_subcommands().empty())
      asked = asked->get_subcommands().front();
    std::string wrong = WrongCommand(*asked);
    if (wrong.empty()) wrong = WrongFlag(app, *asked, error);
    return RefuseUsage(wrong.empty() ? error.what() : wrong, *asked);
  }
  if (Subcommand* command = chosen(); command != nullptr) {
    const Status status = command->Run();
    // Launchers end all processes once one has failed, also the one that has the word.
    if (RemarksAreMuted() || (!status.ok() && status.message().empty())) return 0;
    const int finished = Finish(status);
    return command->exit_code() != 0 ? command->exit_code() : finished;
  }
  if (IsSilent(nullptr)) return 0;
  Remark(app.help());
  return kUsageExit;
}

}  // namespace
}  // namespace headroom::cli

int main(int argc, char** argv) {
  // A closed pipe is seen by write(), so that nothing is left half done.
  std::signal(SIGPIPE, SIG_IGN);
  headroom::RemoveUnfinishedFilesAtSignals();
  try {
    return headroom::cli::Run(argc, argv);
  } catch (const std::bad_alloc&) {
    headroom::cli::MuteRemarks(false);
    headroom::cli::Remark(
        "headroom: out of memory; a smaller trace (fewer profiled steps), fewer --threads or a "
        "machine with more memory helps\n");
  } catch (const std::exception& error) {
    headroom::cli::MuteRemarks(false);
    headroom::cli::Remark(
        fmt::format("headroom: internal error: {}\n",
                    headroom::Printable(error.what(), headroom::cli::CharsetOfEnvironment())));
  }
  return headroom::cli::kInternalExit;
}
