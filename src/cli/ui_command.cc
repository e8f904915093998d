#include "cli/ui_command.h"

#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include "cli/end_signals.h"
#include "cli/help.h"
#include "cli/output.h"
#include "embedded/page_files.h"
#include "serve/http_server.h"
#include "serve/live_session.h"
#include "serve/trace_session.h"

namespace headroom::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  headroom ui trace.json.gz              prints a link; the page answers this machine's browser alone
  headroom ui trace.json.gz --open       and opens it
  headroom ui before.json after.json     and what changed from one to the other
  headroom ui trace.json.gz --port 8080  on a port of one's choice, for a tunnel that stays

A file that is written anew is read again. Ends by Ctrl-C. Exit codes: 0 fine; 2 usage, or the port
is taken; 3 the file is unreadable or no trace; 4 internal error.
)";

constexpr int kMostPort = 65535;

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this-machine";
}

/// By the desktop's own opener; that there is none is no failure.
void OpenInBrowser(const std::string& link) {
  std::string program = "xdg-open", address = link;
  std::array<char*, 3> arguments = {program.data(), address.data(), nullptr};
  pid_t child = 0;
  if (posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments.data(), environ) != 0)
    Remark("headroom: --open: no xdg-open here; open the link by hand\n");
}

}  // namespace

UiCommand::UiCommand(CLI::App& parent) {
  app_ = parent.add_subcommand("ui", "A web page on this machine: look, ask, see the answer move");
  app_->footer(kExamples);
  app_->add_option("TRACE", traces_,
                   "A PyTorch-profiler trace, or a recording; several: the first is the job, and "
                   "the others are compared with it")
      ->required()
      ->type_name("");
  app_->add_option("--port", port_, "Listen there, on 127.0.0.1 [any that is free]")
      ->type_name("N")
      ->check(WholeNumber(0, kMostPort));
  app_->add_flag("--open", open_, "Open the page in the browser");
  AddJobFlags(*app_, options_);
  app_->add_flag("-q,--quiet", options_.quiet, "The link alone, no remarks");
}

std::vector<std::string> UiCommand::CheckArguments() const {
  std::vector<std::string> arguments;
  if (!options_.steps.empty()) arguments.insert(arguments.end(), {"--steps", options_.steps});
  if (!options_.step_marker.empty())
    arguments.insert(arguments.end(), {"--step-marker", options_.step_marker});
  return arguments;
}

std::vector<std::string> UiCommand::ForecastArguments(
    std::optional<double> measured_step_ms) const {
  std::vector<std::string> arguments;
  if (!options_.step_marker.empty())
    arguments.insert(arguments.end(), {"--step-marker", options_.step_marker});
  if (measured_step_ms)
    arguments.insert(arguments.end(), {"--measured-step-ms", fmt::format("{}", *measured_step_ms)});
  if (!options_.calibration.path.empty())
    arguments.insert(arguments.end(), {"--calibration", options_.calibration.path});
  if (options_.calibration.no_local_state) arguments.emplace_back("--no-local-state");
  return arguments;
}

Result<std::unique_ptr<TraceSession>> UiCommand::Open(
    const std::string& trace, std::optional<double> measured_step_ms) const {
  const Result<AnalysisOptions> analysis = AnalysisOf(options_);
  if (!analysis.ok()) return analysis.status();
  TraceSession::Options options = {.analysis = analysis.value(),
                                   .calibration = options_.calibration,
                                   .measured_step_ms = measured_step_ms};
  options.open.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  options.analysis.path = trace;
  options.report.inputs = {trace};
  options.report.check_arguments = CheckArguments();
  options.report.forecast_arguments = ForecastArguments(measured_step_ms);
  return TraceSession::Open(options);
}

Result<std::unique_ptr<TraceSession>> UiCommand::OpenAll() const {
  Result<std::unique_ptr<TraceSession>> session = Open(traces_.front(), options_.measured_step_ms);
  if (!session.ok()) return session;
  std::vector<TraceSession::Other> others;
  for (const std::string& trace : std::span(traces_).subspan(1)) {
    const Result<std::unique_ptr<TraceSession>> other = Open(trace, std::nullopt);
    if (!other.ok()) return other.status();
    others.push_back({.path = trace, .report_json = other.value()->ReportJson()});
  }
  session.value()->CompareWith(std::move(others));
  return session;
}

Status UiCommand::Run() {
  std::vector<LiveSession::Stamp> read = LiveSession::StampsOf(traces_);
  Result<std::unique_ptr<TraceSession>> session = OpenAll();
  if (!session.ok()) return session.status();
  const EndSignals signals;
  LiveSession live(traces_, std::move(read), std::move(session).value(),
                   [this] { return OpenAll(); });
  const Result<std::unique_ptr<HttpServer>> server = HttpServer::Start(live, PageFiles(), port_);
  if (!server.ok()) return server.status();
  const int port = server.value()->port();
  const std::string link = server.value()->Link();
  if (Status status = WriteResult(link + "\n", ""); !status.ok()) return status;
  if (!options_.quiet) {
    Remark(fmt::format(
        "headroom: the page is at the link above, for this machine alone. From another one:\n"
        "  ssh -N -L {}:127.0.0.1:{} {}\nand the same link there. Ctrl-C ends it.\n",
        port, port, HostName()));
  }
  if (open_) OpenInBrowser(link);
  signals.Wait();
  return Status::Ok();
}

}  // namespace headroom::cli
