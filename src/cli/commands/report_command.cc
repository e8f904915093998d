#include "cli/commands/report_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/names/reference_data.h"
#include "answers/report/csv.h"
#include "answers/report/html.h"
#include "answers/report/json.h"
#include "answers/report/markdown.h"
#include "answers/report/rank_set.h"
#include "answers/report/section.h"
#include "answers/report/shown_row.h"
#include "answers/report/text.h"
#include "cli/flags/value_checks.h"
#include "cli/inputs/join_processes.h"
#include "cli/inputs/open_job.h"
#include "cli/inputs/open_with_progress.h"
#include "cli/inputs/step_range.h"
#include "cli/terminal/output.h"
#include "embedded/page_files.h"
#include "serve/page_answers.h"

namespace headroom::cli {
namespace {

constexpr std::int64_t kMegabyte = std::int64_t{1} << 20;
constexpr std::int64_t kMaxLimit =
    1'000'000'000'000;  ///< Maximum of numeric flags without another limit.
constexpr const char* kFormats = "Output";
constexpr const char* kSelection = "Selection";
constexpr const char* kHost = "The cost of recording";
constexpr const char* kRunning = "Running";

constexpr const char* kReportExamples = R"(Examples:
  headroom report trace.json.gz                      the answer on one screen
  headroom report trace.json.gz --full               all sections
  headroom report trace.json.gz --only kernels       one section, all its rows
  headroom report trace.json.gz --json -o out.json   for programs (docs/report.md)
  headroom report trace.json.gz --html page.html     the page of headroom ui, as one file
  headroom report trace.json.gz --md | gh pr comment 12 --body-file -
  headroom report traces/ --only ranks               a folder, a file per rank: which ranks wait
  headroom report rank*.json.gz --csv tables         a file per rank, tables as CSV
  headroom report trace.json.gz --steps 3:5          steps 3, 4 and 5 only
  headroom report replay.json.gz --capture capture.json.gz   operators behind replayed graphs
  headroom report trace.json.gz --measured-step-ms 83.5   forecasts for the job as it runs
  mpirun -n 8 headroom report traces/                read by eight processes (docs/distributed.md)

Exit codes: 0 fine; 2 usage; 3 a file is unreadable or not a trace; 4 cannot write, or internal
error.
)";

/// Returns lines for stderr, such as "process 1 on node7: 3 files in 812.3 ms on 2 threads, peak
/// 331.2 MB: a, b, c".
std::string TextOf(const std::vector<ProcessLog>& processes) {
  std::string text;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const ProcessLog& process = processes[i];
    std::vector<std::string> paths;
    for (const std::string& path : process.paths) paths.push_back(Printable(path));
    text +=
        fmt::format("process {} on {}: {} file{} in {:.1f} ms on {} thread{}, peak {:.1f} MB{}{}\n",
                    i, Printable(process.host), paths.size(), paths.size() == 1 ? "" : "s",
                    process.seconds * 1e3, process.threads, process.threads == 1 ? "" : "s",
                    static_cast<double>(process.peak_bytes) / 1e6, paths.empty() ? "" : ": ",
                    fmt::join(paths, ", "));
  }
  return text;
}

}  // namespace

ReportCommand::ReportCommand(Command parent) {
  command_ = parent.AddCommand(
      "report", "Find what limits the step of a job, and what to do about it", kReportExamples);
  command_
      .AddOption("TRACE", traces_,
                 "PyTorch-profiler traces or recordings; several, or a folder: a file per rank")
      .Required()
      .TypeName("");

  command_.AddFlag("--full", full_, "All sections, through a pager on a terminal").Group(kFormats);
  command_.AddFlag("--json", json_, "One JSON object, format headroom.report/1").Group(kFormats);
  command_
      .AddFlag(
          "--md", markdown_,
          fmt::format(
              "Markdown of at most {} bytes (--max-bytes), for pull requests and coding agents",
              kMarkdownBytes))
      .Group(kFormats);
  command_
      .AddOption("--max-bytes", max_bytes_,
                 fmt::format("Maximum bytes of --md, at least 1000; lists the omitted parts [{}]",
                             kMarkdownBytes))
      .TypeName("N")
      .Check(WholeNumber(1000, kMaxLimit))
      .Group(kFormats);
  command_.AddOption("--csv", csv_folder_, "One CSV file per table into the folder DIR")
      .TypeName("DIR")
      .Check(NotEmpty())
      .Group(kFormats);
  command_
      .AddOption("--html", html_path_,
                 "The page of headroom ui as one file, for any browser, without a network")
      .TypeName("FILE")
      .Check(NotEmpty())
      .Group(kFormats);
  command_
      .AddOption("-o,--output", output_path_, "Write to FILE, whole or not at all, not to stdout")
      .TypeName("FILE")
      .Check(NotEmpty())
      .Group(kFormats);
  command_
      .AddOption("--color", color_, "auto: on a terminal, unless NO_COLOR is set; always; never")
      .TypeName("WHEN")
      .Check(OneOf({"auto", "always", "never"}))
      .Group(kFormats);

  command_
      .AddOption("--steps", steps_,
                 "Only steps A to B, by number, both included; A: and :B leave an end open")
      .TypeName("A:B")
      .Check(NotEmpty())
      .Group(kSelection);
  command_
      .AddOption("--step-marker", step_marker_,
                 "Range that begins each step, if the trace has no ProfilerStep")
      .TypeName("NAME")
      .Check(NotEmpty())
      .Group(kSelection);
  command_.AddOption("--capture", capture_, kCaptureHelp)
      .TypeName("FILE")
      .Check(NotEmpty())
      .Group(kSelection);
  command_
      .AddOption("--rank", rank_,
                 "Only rank N of several files; for one file without a rank: its rank")
      .TypeName("N")
      .Check(WholeNumber(0, kMaxLimit))
      .Group(kSelection);
  command_
      .AddOption(
          "--top", top_,
          fmt::format("Rows of each table and rank [--full {}, --md {}, --json and --csv all]; "
                      "implies --full for text",
                      kTextTop, kMarkdownTop))
      .TypeName("N")
      .Check(WholeNumber(1, kMaxLimit))
      .Group(kSelection);
  std::vector<std::string> sections(kSectionNames.begin(), kSectionNames.end());
  std::string names;
  for (const std::string& name : sections) names += (names.empty() ? "" : ", ") + name;
  command_
      .AddOption("--show", show_,
                 "One kernel, operator, layer, step or finding, by its id in --json and --md")
      .TypeName("ID")
      .Check(NotEmpty())
      .Group(kSelection);
  command_.AddOption("--only", only_, "One section of the text, complete: " + names)
      .TypeName("SECTION")
      .Check(OneOf(sections))
      .Group(kSelection);

  command_
      .AddOption("--measured-step-ms", measured_step_ms_,
                 "True step time without a profiler, for host-bound jobs")
      .TypeName("X")
      .Check(AboveZero())
      .Group(kHost);
  command_
      .AddOption("--calibration", calibration_.path,
                 "Calibration of the traced machine (headroom calibrate --host)")
      .TypeName("FILE")
      .Check(NotEmpty())
      .Group(kHost);
  command_
      .AddFlag("--no-local-state", calibration_.no_local_state,
               "Ignore what Headroom learned on this machine")
      .Group(kHost);

  command_
      .AddOption("--threads", threads_,
                 fmt::format("Threads that read traces; they do not change the result [{} here]",
                             DefaultThreads()))
      .TypeName("N")
      .Check(WholeNumber(1, 1024))
      .Group(kRunning);
  command_.AddFlag("--time", time_, "Headroom's own time and peak memory per stage, on stderr")
      .Group(kRunning);
  command_.AddFlag("-q,--quiet", quiet_, "No remarks and no progress on stderr").Group(kRunning);
  AddMaxExpansionFlag(command_, expansion_).Group(kRunning);
  max_event_mb_ = OpenOptions().max_event_bytes / kMegabyte;
  command_.AddOption("--max-event-mb", max_event_mb_, "Skip an event larger than N MiB")
      .ShowDefault()
      .TypeName("N")
      .Check(WholeNumber(1, kMaxLimit))
      .Group(kRunning);
}

Status ReportCommand::Run() {
  log_.Enter("prepare");
  const Result<std::unique_ptr<Communicator>> communicator = JoinOthers();
  if (!communicator.ok()) return communicator.status();
  if (json_ + markdown_ + !csv_folder_.empty() + !html_path_.empty() > 1)
    return Status::Usage("choose one of --json, --md, --csv and --html");
  if (!csv_folder_.empty() && !output_path_.empty())
    return Status::Usage("--csv writes into its folder: leave out -o");
  if (!html_path_.empty() && !output_path_.empty())
    return Status::Usage("--html names its file: leave out -o");
  if (!only_.empty() && (json_ || markdown_ || !csv_folder_.empty() || !html_path_.empty())) {
    return Status::Usage(
        "--only chooses a section of the text: leave out --json, --md, --csv and --html");
  }
  if (full_ && (json_ || markdown_ || !csv_folder_.empty() || !html_path_.empty() ||
                !only_.empty() || !show_.empty())) {
    return Status::Usage(
        "--full is all sections of the text: leave out --json, --md, --csv, --html, --only and "
        "--show");
  }
  if (max_bytes_ && !markdown_) return Status::Usage("--max-bytes requires --md");
  if (!show_.empty() && (!only_.empty() || !csv_folder_.empty() || !html_path_.empty()))
    return Status::Usage(
        "--show is one row as text, --md or --json: leave out --only, --csv and --html");
  if (!html_path_.empty()) return communicator.value()->leads() ? WritePage() : Status::Ok();
  Result<FileRequest> request = MakeRequest();
  if (!request.ok()) return request.status();
  const Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
  if (!reference.ok()) return reference.status();
  // Every process reads files, so every process must know which files belong together.
  if (Result<TraceFiles> found = FindJobFiles(traces_); found.ok())
    request.value().recordings = FindRecordings(found.value().paths);
  SharedReading reading(*communicator.value(), [&](const std::string& path, int threads) {
    FileRequest of_file = request.value();
    of_file.open.threads = threads;
    return ReportFile(path, *reference.value(), of_file, log_);
  });
  if (!communicator.value()->leads()) {
    request.value().compare = true;  // Followers exist only with several files.
    reading.Follow();
    return Status::Ok();
  }
  return Report(reading, request.value());
}

Status ReportCommand::Report(SharedReading& reading, FileRequest& request) {
  Result<TraceFiles> found = FindJobFiles(traces_);
  if (!found.ok()) return found.status();
  files_ = std::move(found).value();
  if (Status status = CheckOutputs(); !status.ok()) return status;
  RemoveFurther(request.recordings, files_);
  request.progress = !quiet_;
  request.compare = files_.paths.size() > 1;
  if (!request.compare) request.analysis.rank = rank_;
  std::vector<SharedFile> files_to_read;
  // A folder may also hold files that are not traces of the job.
  for (std::size_t i = 0; i < files_.paths.size(); ++i)
    files_to_read.push_back({.path = files_.paths[i], .may_fail = files_.of_folder[i]});
  SharedResults results = reading.Lead(files_to_read, threads_.value_or(0));
  Result<ReadFiles> read = SortResults(files_, std::move(results.files));
  if (!read.ok()) return read.status();
  log_.Enter("render");
  std::vector<TraceReport>& files = read.value().reports;
  const Result<JobRanks> ranks = CompareFiles(
      files, std::move(read.value().timelines),
      {.unreadable = std::move(read.value().unreadable), .not_traces = files_.skipped});
  if (!ranks.ok()) return ranks.status();
  const bool several = files.size() > 1;
  if (Status status = KeepRank(files); !status.ok()) return status;
  AddIssues(ranks.value(), files.front());
  if (Status status = Render(files, read.value().calls, several ? &ranks.value() : nullptr);
      !status.ok())
    return status;
  if (time_) Remark(log_.Text() + (results.processes.size() > 1 ? TextOf(results.processes) : ""));
  return Status::Ok();
}

Status ReportCommand::WritePage() {
  Result<TraceFiles> found = FindJobFiles(traces_);
  if (!found.ok()) return found.status();
  files_ = std::move(found).value();
  if (Status status = CheckOutputs(); !status.ok()) return status;
  Result<FileRequest> request = MakeRequest();
  if (!request.ok()) return request.status();
  JobSessionOptions options = {
      .request = std::move(request).value(), .report = {}, .rank = rank_, .profile = {}};
  options.request.progress = !quiet_;
  options.request.open.threads = threads_.value_or(DefaultThreads());
  options.report.inputs = traces_;
  if (top_) options.report.top = static_cast<std::size_t>(*top_);
  options.report.check_arguments = CheckArguments(1);
  options.report.forecast_arguments = ForecastArguments();
  log_.Enter("analyze");
  const Result<std::unique_ptr<JobSession>> session = OpenJobSession(traces_, std::move(options));
  if (!session.ok()) return session.status();
  log_.Enter("forecast");
  const Result<std::vector<PageAnswer>> answers = AnswersOfPage(*session.value());
  if (!answers.ok()) return answers.status();
  log_.Enter("render");
  Result<std::string> html = RenderHtml(PageFiles(), answers.value());
  if (!html.ok()) return html.status();
  if (Status status = WriteResult(std::move(html).value(), html_path_); !status.ok()) return status;
  if (time_) Remark(log_.Text());
  return Status::Ok();
}

Status ReportCommand::CheckOutputs() const {
  const Result<std::vector<std::string>> inputs = WithCaptures(files_.paths, capture_);
  if (!inputs.ok()) return inputs.status();
  if (!html_path_.empty() && html_path_ != "-")
    return RefuseToOverwrite("--html", html_path_, inputs.value());
  if (!output_path_.empty() && output_path_ != "-")
    return RefuseToOverwrite("-o", output_path_, inputs.value());
  if (csv_folder_.empty()) return Status::Ok();
  for (std::string_view name : kCsvFiles) {
    Status status =
        RefuseToOverwrite("--csv", fmt::format("{}/{}", csv_folder_, name), inputs.value());
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Result<FileRequest> ReportCommand::MakeRequest() const {
  FileRequest request;
  if (!steps_.empty()) {
    const Result<StepRange> steps = ParseStepRange(steps_);
    if (!steps.ok()) return steps.status();
    request.analysis.first_step = steps.value().first;
    request.analysis.last_step = steps.value().last;
  }
  request.open.expansion = expansion_;
  request.open.max_event_bytes = max_event_mb_ * kMegabyte;
  request.analysis.step_marker = step_marker_;
  request.calibration = calibration_;
  request.measured_step_ms = measured_step_ms_;
  request.show = show_;
  Result<std::vector<std::string>> captures = CaptureFiles(capture_);
  if (!captures.ok()) return captures.status();
  request.captures = std::move(captures).value();
  return request;
}

Status ReportCommand::KeepRank(std::vector<TraceReport>& files) const {
  if (!rank_) return Status::Ok();
  std::vector<std::int64_t> ranks;
  for (const TraceReport& file : files) {
    if (file.input.rank) ranks.push_back(*file.input.rank);
  }
  std::erase_if(files, [&](const TraceReport& file) { return file.input.rank != rank_; });
  if (!files.empty()) return Status::Ok();
  if (ranks.empty()) {
    return Status::Usage(
        fmt::format("--rank {}: no file states a rank; pass the file itself", *rank_));
  }
  return Status::Usage(
      fmt::format("no file has rank {}; the files have ranks {}", *rank_, fmt::join(ranks, ", ")));
}

std::vector<std::string> ReportCommand::CheckArguments(std::size_t reports) const {
  std::vector<std::string> arguments;
  const auto add = [&](const char* flag, const std::string& value) {
    arguments.emplace_back(flag);
    arguments.push_back(value);
  };
  if (!steps_.empty()) add("--steps", steps_);
  if (!step_marker_.empty()) add("--step-marker", step_marker_);
  if (!capture_.empty()) add("--capture", capture_);
  if (files_.paths.size() == 1 && rank_ && reports == 1) add("--rank", fmt::format("{}", *rank_));
  if (expansion_.max_ratio != ExpansionLimit().max_ratio)
    add("--max-expansion", fmt::format("{}", expansion_.max_ratio));
  if (max_event_mb_ != OpenOptions().max_event_bytes / kMegabyte)
    add("--max-event-mb", fmt::format("{}", max_event_mb_));
  return arguments;
}

std::vector<std::string> ReportCommand::ForecastArguments() const {
  std::vector<std::string> arguments;
  const auto add = [&](const char* flag, const std::string& value) {
    arguments.emplace_back(flag);
    arguments.push_back(value);
  };
  if (!steps_.empty()) add("--steps", steps_);
  if (!step_marker_.empty()) add("--step-marker", step_marker_);
  if (!capture_.empty()) add("--capture", capture_);
  if (measured_step_ms_) add("--measured-step-ms", fmt::format("{}", *measured_step_ms_));
  if (!calibration_.path.empty()) add("--calibration", calibration_.path);
  if (calibration_.no_local_state) arguments.emplace_back("--no-local-state");
  return arguments;
}

Status ReportCommand::ShowRow(const std::vector<TraceReport>& files, const CallsByPath& calls,
                              const ReportOptions& options) const {
  const JobReport job(files);
  const std::optional<ShownRow> row = FindRow(job, show_);
  if (!row) {
    return Status::Usage(
        fmt::format("--show {}: nothing in this trace has that id; --json lists ids", show_));
  }
  return WriteResult(json_ ? RenderShownRowJson(*row, show_, calls, !job.single(), options)
                           : RenderShownRow(*row, show_, calls, markdown_, options),
                     output_path_);
}

Status ReportCommand::Render(const std::vector<TraceReport>& files, const CallsByPath& calls,
                             const JobRanks* ranks) {
  TextOptions options;
  options.ranks = ranks;
  options.inputs = traces_;
  if (top_) options.top = static_cast<std::size_t>(*top_);
  options.check_arguments = CheckArguments(files.size());
  options.forecast_arguments = ForecastArguments();
  if (!csv_folder_.empty()) {
    std::vector<NamedFile> tables = RenderCsv(files, options);
    const std::size_t count = tables.size();
    if (Status status = WriteFolder(csv_folder_, std::move(tables)); !status.ok()) return status;
    if (!quiet_)
      Remark(fmt::format("wrote {} tables into {}\n", count,
                         Printable(csv_folder_, CharsetOfEnvironment())));
    return Status::Ok();
  }
  if (!show_.empty()) return ShowRow(files, calls, options);
  if (json_) return WriteResult(RenderJson(files, options), output_path_);
  if (markdown_) {
    const auto most =
        static_cast<std::size_t>(max_bytes_.value_or(static_cast<std::int64_t>(kMarkdownBytes)));
    return WriteResult(RenderMarkdown(files, options, most), output_path_);
  }
  options.style = StyleOfPage(output_path_, color_ == "always"  ? ColorMode::kAlways
                                            : color_ == "never" ? ColorMode::kNever
                                                                : ColorMode::kAuto);
  if (!only_.empty()) options.only = SectionNamed(only_);
  const bool all = full_ || options.only || options.top;
  return WritePaged(all ? RenderText(files, options) : RenderSummary(files, options), output_path_);
}

}  // namespace headroom::cli
