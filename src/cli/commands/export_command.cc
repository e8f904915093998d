#include "cli/commands/export_command.h"

#include <fmt/format.h>

#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/atomic_file.h"
#include "cli/commands/chakra_files.h"
#include "cli/flags/value_checks.h"
#include "cli/inputs/chosen_trace.h"
#include "cli/inputs/file_report.h"
#include "cli/inputs/open_with_progress.h"
#include "cli/terminal/file_ending.h"
#include "cli/terminal/output.h"
#include "export/folded_stacks.h"
#include "export/openmetrics.h"
#include "export/table_csv.h"
#include "export/written_size.h"
#include "export/written_trace.h"
#include "ranks/rank_of_file.h"
#include "render/number_format.h"

namespace headroom::cli {
namespace {

constexpr const char* kExportExamples = R"(Examples:
  headroom export trace.json.gz --to perfetto -o trace.pftrace   for ui.perfetto.dev
  headroom export run.pftrace --to chrome -o run.json.gz         for tools that read Kineto's JSON
  headroom export trace.json.gz --to csv -o tables/              one CSV file per table
  headroom export trace.json.gz --to csv --table gpu_tasks -o -  one table on stdout
  headroom export trace.json.gz --to folded --folded gpu -o - | flamegraph.pl > gpu.svg
  headroom export traces/ --to openmetrics -o job.prom           figures of the report, by rank
  headroom export traces/ --to chakra -o job                     job.0.et, job.1.et, ...: for ASTRA-sim

docs/export.md lists what each format contains and lacks. Exit codes: 0 fine; 2 usage; 3 a file is
unreadable or not a trace; 4 cannot write, or internal error.
)";

const std::vector<std::string> kFormats = {"perfetto", "chrome",      "csv",
                                           "folded",   "openmetrics", "chakra"};

constexpr std::array kEndings = {
    OutputForm{".pftrace", "--to perfetto"}, OutputForm{".json", "--to chrome"},
    OutputForm{".csv", "--to csv"},          OutputForm{".folded", "--to folded"},
    OutputForm{".prom", "--to openmetrics"}, OutputForm{".et", "--to chakra"}};

std::vector<std::string> TableWords() {
  const std::vector<std::string_view> names = TableNames();
  return {names.begin(), names.end()};
}

}  // namespace

ExportCommand::ExportCommand(Command parent) {
  command_ =
      parent.AddCommand("export", "Convert a trace to the format of another tool", kExportExamples);
  command_.AddOption("TRACE", traces_, "A trace file, or a folder of them").Required().TypeName("");
  command_.AddOption("--to", format_, "perfetto, chrome, csv, folded, openmetrics or chakra")
      .Required()
      .TypeName("FORMAT")
      .Check(OneOf(kFormats));
  command_
      .AddOption(
          "-o,--output", output_path_,
          "Write to FILE, whole or not at all (csv: into a folder; chakra: to FILE.RANK.et); a "
          "trace is compressed if the name ends in .gz; - is stdout, for text formats")
      .TypeName("FILE")
      .Check(NotEmpty())
      .Required();
  command_
      .AddOption("--table", table_,
                 "csv: only this table; for views such as kernels use headroom query")
      .TypeName("NAME")
      .Check(OneOf(TableWords()));
  command_
      .AddOption("--folded", stack_time_,
                 "folded: host time, or GPU time by the calls that launched it [host]")
      .TypeName("host|gpu")
      .Check(OneOf({"host", "gpu"}));
  command_.AddOption("--rank", rank_, "Only this rank of a folder or of a merged file")
      .TypeName("R")
      .Check(WholeNumber(0, INT32_MAX));
  AddOpenFlags(command_, open_);
  command_.AddFlag("-q,--quiet", quiet_, "No remarks on stderr");
}

Status ExportCommand::CheckFlags(const TraceFiles& files) const {
  if (!table_.empty() && format_ != "csv")
    return Status::Usage("--table requires --to csv: the other formats hold the whole trace");
  if (command_.is_given("--folded") && format_ != "folded")
    return Status::Usage("--folded requires --to folded");
  const bool is_trace = format_ == "perfetto" || format_ == "chrome" || format_ == "chakra";
  const bool is_folder = format_ == "csv" && table_.empty();
  if (to_stdout() && (is_trace || is_folder)) {
    return Status::Usage(fmt::format(
        "-o -: --to {} writes {}", format_,
        is_folder ? "a folder of tables; name the folder, or write one table with --table NAME"
                  : "a file; name the file"));
  }
  if (to_stdout()) return Status::Ok();
  if (format_ == "chakra") return Status::Ok();  // The file names follow from the ranks.
  if (!is_folder) return RefuseToOverwrite("-o", output_path_, files.paths);
  for (const std::string_view name : TableNames()) {
    Status status =
        RefuseToOverwrite("-o", fmt::format("{}/{}.csv", output_path_, name), files.paths);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status ExportCommand::WriteTables(const TraceStore& store) const {
  if (!table_.empty() && to_stdout()) {
    std::string text;
    WriteTableCsv(store, table_, [&](std::string_view piece) { text += piece; });
    return WriteData(text, output_path_);
  }
  const bool made = table_.empty() && mkdir(output_path_.c_str(), 0777) == 0;
  if (table_.empty() && !made && errno != EEXIST) return CannotWrite(output_path_, errno);
  Status status;
  {
    std::vector<AtomicFile> written;
    for (const std::string_view name : TableNames()) {
      if (!status.ok() || (!table_.empty() && name != table_)) continue;
      Result<AtomicFile> file = AtomicFile::Create(
          table_.empty() ? fmt::format("{}/{}.csv", output_path_, name) : output_path_);
      if (!file.ok()) {
        status = file.status();
        break;
      }
      WriteTableCsv(store, name, [&](std::string_view piece) {
        if (status.ok()) status = file.value().Append(piece);
      });
      if (status.ok()) status = file.value().Close();
      written.push_back(std::move(file).value());
    }
    for (std::size_t i = 0; i < written.size() && status.ok(); ++i) status = written[i].Commit();
    if (status.ok()) RemarkOnWritten(static_cast<std::int64_t>(written.size()), "table");
  }
  if (!status.ok() && made) rmdir(output_path_.c_str());  // Removes the folder only if it is empty.
  return status;
}

Status ExportCommand::WriteMetrics(const TraceFiles& files) const {
  const Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
  if (!reference.ok()) return reference.status();
  FileRequest request;
  request.open = open_;
  request.progress = !quiet_;
  if (files.paths.size() == 1) request.analysis.rank = rank_;
  ResourceLog log;
  std::vector<TraceReport> reports;
  Status failed;
  for (std::size_t i = 0; i < files.paths.size(); ++i) {
    FileResult file = ReportFile(files.paths[i], *reference.value(), request, log);
    if (file.status.ok() && !file.ranks.empty()) {
      return Status::Usage(fmt::format("{} holds ranks {}; choose one with --rank",
                                       Printable(files.paths[i]), fmt::join(file.ranks, ", ")));
    }
    if (file.status.ok()) {
      reports.push_back(std::move(*file.report));
      continue;
    }
    if (!files.of_folder[i]) return file.status;
    if (!quiet_) Remark(fmt::format("headroom: left out: {}\n", file.status.message()));
    if (failed.ok()) failed = file.status;
  }
  if (reports.empty()) return failed;
  if (Status status = AssignRanks(reports); !status.ok()) return status;
  if (rank_) {
    std::erase_if(reports, [&](const TraceReport& report) { return report.input.rank != rank_; });
    if (reports.empty())
      return Status::Usage(fmt::format("--rank {}: no trace has this rank", *rank_));
  }
  const std::string text = OpenMetricsText(reports);
  if (Status status = WriteData(text, output_path_); !status.ok()) return status;
  std::int64_t figures = 0;
  for (std::size_t at = 0; at < text.size(); ++at)
    if ((at == 0 || text[at - 1] == '\n') && text[at] != '#') ++figures;
  RemarkOnWritten(figures, "figure");
  return Status::Ok();
}

void ExportCommand::RemarkOnWritten(std::int64_t count, std::string_view of) const {
  if (quiet_ || to_stdout()) return;
  const bool is_folder = format_ == "csv" && table_.empty();
  if (!is_folder) {
    const std::string form = "--to " + format_;
    Remark(RemarkOnEnding(output_path_, form, "data that " + form + " writes", kEndings));
    if (format_ == "chrome" || format_ == "perfetto") {
      const TraceFormat written =
          format_ == "chrome" ? TraceFormat::kChrome : TraceFormat::kPerfetto;
      if (RemarkOnEnding(output_path_, form, "", kEndings).empty())
        Remark(RemarkOnTraceEnding(output_path_, written));
    }
  }
  Remark(fmt::format("wrote {}: {}\n", Printable(output_path_, CharsetOfEnvironment()),
                     Plural(count, of)));
}

Status ExportCommand::Run() {
  const Result<TraceFiles> files = FindTraceFiles(traces_);
  if (!files.ok()) return files.status();
  if (Status status = CheckFlags(files.value()); !status.ok()) return status;
  if (format_ == "openmetrics") return WriteMetrics(files.value());
  if (format_ == "chakra")
    return WriteChakraFiles(files.value(), rank_, open_, quiet_, output_path_);
  const Result<ChosenTrace> trace = OpenChosenTrace(files.value(), rank_, open_, quiet_);
  if (!trace.ok()) return trace.status();
  const TraceStore& store = *trace.value().store;
  if (format_ == "csv") {
    Status status = CheckWrittenTexts(store, output_path_, open_.expansion);
    return status.ok() ? WriteTables(store) : status;
  }
  if (format_ == "folded") {
    const StackTime time = stack_time_ == "gpu" ? StackTime::kGpu : StackTime::kHost;
    const Result<std::string> stacks = FoldedStacks(store, time, output_path_, open_.expansion);
    if (!stacks.ok()) return stacks.status();
    if (Status status = WriteData(stacks.value(), output_path_); !status.ok()) return status;
    RemarkOnWritten(std::count(stacks.value().begin(), stacks.value().end(), '\n'), "stack");
    return Status::Ok();
  }
  const Result<std::int64_t> events =
      WriteTrace(store, format_ == "chrome" ? TraceFormat::kChrome : TraceFormat::kPerfetto,
                 output_path_, open_.expansion);
  if (!events.ok()) return events.status();
  // Perfetto stores a span on a thread as two events: begin and end.
  RemarkOnWritten(events.value(), format_ == "perfetto" ? "track event" : "event");
  return Status::Ok();
}

}  // namespace headroom::cli
