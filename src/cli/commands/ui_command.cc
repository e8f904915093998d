#include "cli/commands/ui_command.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "base/platform.h"
#include "capture/launched_program.h"
#include "capture/metrics/board/clock.h"
#include "cli/flags/value_checks.h"
#include "cli/inputs/profile_run.h"
#include "cli/inputs/read_job.h"
#include "cli/inputs/trace_files.h"
#include "cli/terminal/link_page.h"
#include "cli/terminal/output.h"
#include "embedded/page_files.h"
#include "serve/http_server.h"
#include "serve/run/nonblocking_output.h"
#include "serve/run/program_run.h"
#include "serve/run/recording_names.h"
#include "whatif/calibration/calibration_choice.h"

namespace headroom::cli {
namespace {

constexpr const char* kUiExamples = R"(Examples:
  headroom ui trace.json.gz              prints a link, for a browser on this machine only
  headroom ui trace.json.gz --open       also opens it
  headroom ui before.json after.json     also shows what changed
  headroom ui traces/                    a folder with a file per rank: who waits for whom
  headroom ui trace.json.gz --port 8080  on a fixed port, for a permanent tunnel
  headroom ui --run 'python3 train.py'   records it; the page records it again, and compares
  headroom ui old.pftrace --run '...'    begins with old.pftrace; the page starts a run

The page reloads a file that was written anew. --run records, as headroom record does, into
headroom-ui-N.pftrace in the working directory. Ctrl-C ends the server and a running program.

Exit codes: 0 fine; 2 usage, or the port is taken; 3 the file is unreadable or not a trace, or --run
recorded nothing; 4 internal error, or cannot write.
)";

constexpr int kMaxPort = 65535;

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this-machine";
}

/// Opens `link` with xdg-open. Prints a remark if that is impossible. xdg-open may run as long as
/// the browser, so it inherits only stderr, and a separate thread waits for it. The caller must
/// keep the returned page while the browser may load it.
std::optional<LinkPage> OpenInBrowser(const std::string& link) {
  Result<LinkPage> page = LinkPage::Write(link);
  if (!page.ok()) {
    Remark(fmt::format("headroom: --open: {}; open the link by hand\n",
                       Printable(page.status().message(), CharsetOfEnvironment())));
    return std::nullopt;
  }
  const Result<LaunchedProgram> opener = LaunchedProgram::Start(
      {"xdg-open", page.value().path()}, {.output = STDERR_FILENO, .own_group = true});
  if (!opener.ok()) {
    Remark("headroom: --open: no xdg-open here; open the link by hand\n");
    return std::nullopt;
  }
  std::thread([pid = opener.value().pid()] { waitpid(pid, nullptr, 0); }).detach();
  return std::move(page).value();
}

/// Returns the trace files of folders and the other files as named. Also returns a folder itself if
/// it has no trace now.
std::vector<std::string> FilesToRead(const std::vector<std::string>& named) {
  std::vector<std::string> files;
  for (const std::string& path : named) {
    const Result<TraceFiles> found = FindJobFiles({path});
    if (found.ok())
      files.insert(files.end(), found.value().paths.begin(), found.value().paths.end());
    else
      files.push_back(path);
  }
  return files;
}

std::string Sentence(const RepeatedRun::State& run) {
  std::string text = run.shown.message();
  if (run.exit_code && *run.exit_code != 0)
    text = fmt::format("the program ended with exit code {}; {}", *run.exit_code, text);
  return text;
}

}  // namespace

UiCommand::UiCommand(Command parent) {
  command_ = parent.AddCommand("ui", "Explore a trace in a local web page", kUiExamples);
  command_
      .AddOption(
          "TRACE", traces_,
          "A PyTorch-profiler trace, a recording, or a folder with a file per rank. The first "
          "is the job; the others are compared with it. Without one, --run records the job")
      .TypeName("");
  command_
      .AddOption("--run", run_, "Record this shell command; a button of the page records it again")
      .TypeName("COMMAND");
  command_.AddOption("--port", port_, "Port on 127.0.0.1 to listen on [any free port]")
      .TypeName("N")
      .Check(WholeNumber(0, kMaxPort));
  command_.AddFlag("--open", open_, "Open the page in the browser");
  AddJobFlags(command_, options_);
  AddCaptureFlag(command_, options_);
  command_.AddFlag("-q,--quiet", options_.quiet, "Print only the link, no remarks");
}

namespace {

/// Appends --max-expansion, unless it has its default.
void AddExpansion(ExpansionLimit limit, std::vector<std::string>& arguments) {
  if (limit.max_ratio == ExpansionLimit().max_ratio) return;
  arguments.insert(arguments.end(), {"--max-expansion", fmt::format("{}", limit.max_ratio)});
}

}  // namespace

std::vector<std::string> UiCommand::CheckArguments() const {
  std::vector<std::string> arguments;
  if (!options_.steps.empty()) arguments.insert(arguments.end(), {"--steps", options_.steps});
  if (!options_.step_marker.empty())
    arguments.insert(arguments.end(), {"--step-marker", options_.step_marker});
  if (!options_.capture.empty()) arguments.insert(arguments.end(), {"--capture", options_.capture});
  AddExpansion(options_.open.expansion, arguments);
  return arguments;
}

std::vector<std::string> UiCommand::ForecastArguments(
    std::optional<double> measured_step_ms) const {
  std::vector<std::string> arguments;
  if (!options_.step_marker.empty())
    arguments.insert(arguments.end(), {"--step-marker", options_.step_marker});
  if (!options_.capture.empty()) arguments.insert(arguments.end(), {"--capture", options_.capture});
  AddExpansion(options_.open.expansion, arguments);
  if (measured_step_ms)
    arguments.insert(arguments.end(), {"--measured-step-ms", fmt::format("{}", *measured_step_ms)});
  if (!options_.calibration.path.empty())
    arguments.insert(arguments.end(), {"--calibration", options_.calibration.path});
  if (options_.calibration.no_local_state) arguments.emplace_back("--no-local-state");
  return arguments;
}

Result<std::unique_ptr<JobSession>> UiCommand::Open(const std::string& trace,
                                                    std::optional<double> measured_step_ms) const {
  const Result<AnalysisOptions> analysis = AnalysisOf(options_);
  if (!analysis.ok()) return analysis.status();
  Result<std::vector<std::string>> captures = CaptureFiles(options_.capture);
  if (!captures.ok()) return captures.status();
  JobSessionOptions options;
  options.request = {.open = options_.open,
                     .analysis = analysis.value(),
                     .calibration = options_.calibration,
                     .measured_step_ms = measured_step_ms,
                     .show = {},
                     .progress = !options_.quiet,
                     .captures = std::move(captures).value(),
                     .recordings = {}};
  options.report.inputs = {trace};
  options.report.check_arguments = CheckArguments();
  options.report.forecast_arguments = ForecastArguments(measured_step_ms);
  options.profile = [this, trace]() -> Result<JobProfile> {
    const Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
    if (!reference.ok()) return reference.status();
    JobOptions of_trace = options_;
    of_trace.measured_step_ms.reset();
    of_trace.quiet = true;
    return ProfileTraces({trace}, *reference.value(), of_trace);
  };
  return OpenJobSession({trace}, std::move(options));
}

bool UiCommand::IsRecordedHere(const std::vector<std::string>& files) const {
  return traces_.empty() || files.front() != traces_.front();
}

Result<std::unique_ptr<JobSession>> UiCommand::OpenAll(
    const std::vector<std::string>& files) const {
  const bool is_recorded_here = IsRecordedHere(files);
  Result<std::unique_ptr<JobSession>> session =
      Open(files.front(), is_recorded_here ? std::nullopt : options_.measured_step_ms);
  if (!session.ok()) return session;
  if (is_recorded_here) {
    const Result<std::shared_ptr<TraceSession>> recording = session.value()->Trace();
    if (!recording.ok()) return recording.status();
    if (!recording.value()->HasWork()) {
      return Status::NoAnswer(
          "the recording is empty: it has no PyTorch training loop, timer, mark, counter or GPU "
          "work; headroom doctor shows what can be recorded here");
    }
  }
  std::vector<JobSession::Other> others;
  for (const std::string& trace : std::span(files).subspan(1)) {
    const Result<std::unique_ptr<JobSession>> other = Open(trace, std::nullopt);
    if (other.ok()) {
      Result<std::string> report = other.value()->ReportJson();
      if (!report.ok()) return report.status();
      others.push_back({.path = trace,
                        .report_json = std::move(report).value(),
                        .profile = other.value()->Profile(),
                        .is_earlier = is_recorded_here,
                        .open = [this, trace]() -> Result<std::shared_ptr<TraceSession>> {
                          const Result<std::unique_ptr<JobSession>> again =
                              Open(trace, std::nullopt);
                          if (!again.ok()) return again.status();
                          return again.value()->Trace();
                        }});
    } else if (!is_recorded_here) {
      return other.status();
    } else {
      // A deleted older recording must not block the new one.
      Remark(fmt::format("headroom: no longer compares with {}: {}\n",
                         Printable(trace, CharsetOfEnvironment()),
                         Printable(other.status().message(), CharsetOfEnvironment())));
    }
  }
  session.value()->CompareWith(std::move(others));
  return session;
}

std::vector<std::string> UiCommand::FilesWith(const std::string& recording,
                                              const std::string& before) const {
  std::vector<std::string> files = {recording, before};
  for (const std::string& trace : traces_) {
    if (trace != before) files.push_back(trace);
  }
  return files;
}

RepeatedRun::Work UiCommand::WorkOf(std::optional<LiveSession>& live,
                                    std::unique_ptr<JobSession>& first) const {
  // Reserved recording of the current run.
  const auto reserved = std::make_shared<std::optional<ReservedRecording>>();
  const auto name = [reserved]() -> Result<std::string> {
    const Result<ReservedRecording> made = ReservedRecording::Make();
    if (!made.ok()) return made.status();
    reserved->emplace(made.value());
    return made.value().path();
  };
  const auto echo = std::make_shared<NonblockingOutput>(STDERR_FILENO);
  const auto record = [this, reserved, echo](const std::string& path, const auto& take,
                                             const auto& is_stopped) -> Result<int> {
    const auto tell = [this, &echo, &take](std::string_view printed) {
      if (!options_.quiet) echo->Append(printed);
      take(printed);
    };
    Result<int> code = RunToEnd({.arguments = {ProgramToStart(), "record", "--force", "--end-group",
                                               "-o", path, "--", "sh", "-c", run_},
                                 .take = tell,
                                 .is_stopped = is_stopped});
    echo->Flush();  // Remarks must follow the program's output.
    // If the recording is empty, the recorder failed: `code` is not the program's exit code.
    if (code.ok() && (*reserved)->IsEmpty())
      return Status::Environment("nothing was recorded; the recorder printed the reason");
    return code;
  };
  const auto show = [this, &live, &first](const std::string& path) -> Status {
    if (live) return live->Show(FilesWith(path, live->Now().session->path()));
    Result<std::unique_ptr<JobSession>> session = OpenAll({path});
    if (!session.ok()) return session.status();
    first = std::move(session).value();
    return Status::Ok();
  };
  const auto remove = [reserved](const std::string&) { (*reserved)->Remove(); };
  return {.name = name, .record = record, .show = show, .remove = remove};
}

Result<bool> UiCommand::RunFirst(RepeatedRun& run, const EndSignals& signals) const {
  constexpr DurationNs kGlance(50'000'000);
  run.Begin();
  while (run.Now().phase != RepeatedRun::Phase::kIdle) {
    if (signals.Wait(MonotonicNow() + kGlance)) return false;
  }
  const RepeatedRun::State state = run.Now();
  if (state.shown.ok()) return true;
  if (options_.quiet) {  // Without --quiet, the lines were already printed.
    for (const std::string& line : state.lines)
      Remark(Printable(line, CharsetOfEnvironment()) + "\n");
  }
  return Status::Of(state.shown.code(), Sentence(state));
}

Status UiCommand::Serve(LiveSession& live, RepeatedRun* run, HeldPort held_port,
                        const EndSignals& signals) const {
  held_port.Release();
  const Result<std::unique_ptr<HttpServer>> server =
      HttpServer::Start(live, run, PageFiles(), port_);
  if (!server.ok()) return server.status();
  const int port = server.value()->port();
  const std::string link = server.value()->Link();
  if (Status status = WriteResult(link + "\n", ""); !status.ok()) return status;
  if (!options_.quiet) {
    Remark(fmt::format(
        "headroom: the link above works only on this machine. On another machine, run\n  ssh -N -L "
        "{}:127.0.0.1:{} {}\nand open the same link there. Ctrl-C ends it.\n",
        port, port, HostName()));
  }
  const std::optional<LinkPage> opened = open_ ? OpenInBrowser(link) : std::nullopt;
  signals.Wait();
  return Status::Ok();
}

Status UiCommand::Run() {
  const bool runs = command_.is_given("--run");
#ifndef HEADROOM_RECORDS
  if (runs) return Status::Usage("--run: this build cannot record; recording needs Linux");
#endif
  if (runs && run_.find_first_not_of(" \t\n") == std::string::npos)
    return Status::Usage("--run: the command is missing: --run 'python3 train.py'");
  if (traces_.empty() && !runs)
    return Status::Usage("TRACE is missing: headroom ui TRACE, or headroom ui --run COMMAND");

  // Reads and runs may take hours, so wrong flags are rejected first.
  if (const Result<AnalysisOptions> analysis = AnalysisOf(options_); !analysis.ok())
    return analysis.status();
  if (Status status = CheckCalibration(options_.calibration); !status.ok()) return status;
  Result<HeldPort> held_port = HeldPort::Take(port_);
  if (!held_port.ok()) return held_port.status();

  std::vector<std::string> files = traces_;
  LiveSession::Stamps read = LiveSession::StampsOf(FilesToRead(files));
  std::unique_ptr<JobSession> first;
  if (!files.empty()) {
    Result<std::unique_ptr<JobSession>> session = OpenAll(files);
    if (!session.ok()) return session.status();
    first = std::move(session).value();
  }
  const EndSignals signals;
  std::optional<LiveSession> live;
  std::optional<RepeatedRun> run;
  if (runs) run.emplace(run_, WorkOf(live, first));
  if (first == nullptr) {
    const Result<bool> ran = RunFirst(*run, signals);
    if (!ran.ok()) return ran.status();
    if (!ran.value()) return Status::Ok();
    files = {first->path()};
    read = LiveSession::StampsOf(FilesToRead(files));
  }
  live.emplace(
      std::move(files), std::move(read), std::move(first),
      LiveSession::FileReader{
          .open = [this](const std::vector<std::string>& changed) { return OpenAll(changed); },
          .list = FilesToRead});
  return Serve(*live, run ? &*run : nullptr, std::move(held_port).value(), signals);
}

}  // namespace headroom::cli
