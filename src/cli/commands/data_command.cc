#include "cli/commands/data_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "analysis/analyze.h"
#include "analysis/names/reference_data.h"
#include "answers/data/answer.h"
#include "answers/data/render.h"
#include "cli/flags/value_checks.h"
#include "cli/inputs/open_with_progress.h"
#include "cli/machine/python_module.h"
#include "cli/terminal/output.h"
#include "ingest/open_trace.h"
#include "render/escape.h"

namespace headroom::cli {
namespace {

constexpr const char* kDataExamples = R"(Examples:
  headroom record -o run.pftrace -- python train.py   record a run, without a change to it
  headroom data run.pftrace                           which stage starves the loop, and the fix
  headroom data run.pftrace workers=8,prefetch=4 cached=50% stage=RandomResizedCrop:2
  headroom data run.pftrace --json                    for programs (docs/data.md)

A change is KEY=VALUE[,KEY=VALUE...]: workers, prefetch, pin, batch, cached (share of the samples
kept in memory), cached-files (share of the reads), stage=NAME:FACTOR (a speedup), cores, storage
(parallel reads that do not slow each other down), storage-speed (a speedup), step (factor on the
loop's own time). A speedup of 2 is twice as fast.

Exit codes: 0 fine; 2 usage; 3 the file is unreadable, not a trace, or has no data loader;
4 cannot write, or internal error.
)";

constexpr const char* kBenchExamples = R"(Examples:
  headroom data bench train:make_loader               make_loader() of train.py returns a DataLoader
  headroom data bench train:Images --workers 0,2,8    a dataset class, called without arguments

Measures one sample (its files cached and not), each stage, collation, and the whole loader with k
workers, each with a 95 % interval. Nothing is trained.

Exit codes: 0 fine; 2 usage; 3 the container raised an exception, or is empty.
)";

bool IsListOfCounts(const std::string& text) {
  constexpr std::size_t kMaxDigits = 4;
  std::size_t digits = 0;
  for (const char c : text + ",") {
    if (c == ',') {
      if (digits == 0 || digits > kMaxDigits) return false;
      digits = 0;
    } else if (c < '0' || c > '9') {
      return false;
    } else {
      ++digits;
    }
  }
  return true;
}

/// Returns the figures of the loop in the mean step. If the analysis fails, returns the view of an
/// empty report.
LoopView ViewOf(const TraceStore& store, const std::string& path) {
  const Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
  if (!reference.ok()) return LoopViewOf({}, store);
  AnalysisOptions options;
  options.path = path;
  const Result<TraceReport> analysis = Analyze(store, *reference.value(), options);
  return LoopViewOf(analysis.ok() ? analysis.value() : TraceReport(), store);
}

}  // namespace

DataCommand::DataCommand(Command parent) {
  command_ = parent.AddCommand("data", "Find the slow stage of the data loader", kDataExamples);
  command_.AddOption("TRACE", trace_, "A recording of `headroom record`").TypeName("");
  command_.AddOption("CHANGE", changes_, "Change to forecast: KEY=VALUE[,KEY=VALUE...]")
      .TypeName("");
  command_
      .AddOption("--loader", loader_, "With several loaders: the K-th by the loop's waiting time")
      .ShowDefault()
      .TypeName("K")
      .Check(WholeNumber(1, 1'000'000));
  command_.AddFlag("--full", full_, "Also print stages, the loader and doubts");
  command_.AddFlag("--json", json_, "One JSON object, format headroom.data/1");
  command_
      .AddOption("-o,--output", output_path_, "Write to FILE, whole or not at all, not to stdout")
      .TypeName("FILE")
      .Check(NotEmpty());
  AddMaxExpansionFlag(command_, expansion_);
  command_.AddFlag("-q,--quiet", quiet_, "No remarks and no progress on stderr");

  bench_ = command_.AddCommand(
      "bench", "Benchmark a dataset or DataLoader: samples, stages, workers", kBenchExamples);
  bench_.AddOption("MODULE:FUNCTION", function_, "Function that returns a DataLoader or a dataset")
      .Required()
      .TypeName("");
  bench_.AddOption("--workers", workers_, "Worker counts to drain the loader with [0,1,2,4]")
      .TypeName("K,...")
      .Check({[](const std::string& text) {
        return IsListOfCounts(text) ? std::string()
                                    : text + " is not a list of worker counts such as 0,2,4";
      }});
  bench_.AddOption("--seconds", seconds_, "Seconds for each measurement")
      .ShowDefault()
      .TypeName("S")
      .Check(Between(0.01, 3600));
  bench_.AddOption("--python", python_, "Python that has PyTorch").ShowDefault().TypeName("PATH");
  bench_.AddFlag("--json", json_, "One JSON object, format headroom.data-bench/1");
}

Status DataCommand::RunBench() const {
  return RunPythonModule(
      python_, "headroom.data",
      {function_, workers_, fmt::format("{}", seconds_), json_ ? "json" : "text"});
}

Status DataCommand::Run() {
  if (bench_.is_chosen()) return RunBench();
  if (trace_.empty()) return Status::Usage("TRACE is missing: headroom data TRACE [CHANGE...]");
  if (!output_path_.empty() && output_path_ != "-") {
    if (Status status = RefuseToOverwrite("-o", output_path_, {trace_}); !status.ok())
      return status;
  }
  // Checks the keys before reading a large trace.
  const Result<std::vector<NamedLoadingChange>> changes = ParseLoadingChanges(changes_);
  if (!changes.ok()) return changes.status();
  const Result<std::unique_ptr<TraceStore>> store =
      OpenWithProgress(trace_, {.threads = DefaultThreads(), .expansion = expansion_}, quiet_);
  if (!store.ok()) return store.status();
  const auto& log = store.value()->log.rows();
  const bool lost = std::any_of(log.begin(), log.end(), [](const ImportLogRow& row) {
    return DocOf(row.issue).severity != Severity::kInfo;
  });
  if (lost && !quiet_) {
    Remark(
        fmt::format("{}: parts of it are damaged or were left out; `headroom report {} --only "
                    "health` lists them\n",
                    Printable(trace_, Charset::kAscii), Printable(trace_, Charset::kAscii)));
  }

  DataAnswer answer(*store.value(), trace_, ViewOf(*store.value(), trace_));
  const Result<DataReport> report = answer.Ask(loader_, changes.value());
  if (!report.ok()) return report.status();
  if (json_) return WriteResult(RenderDataJson(report.value()), output_path_);
  const PageStyle style = StyleOfPage(output_path_);
  return WritePaged(
      full_ ? RenderDataText(report.value(), style) : RenderDataSummary(report.value(), style),
      output_path_);
}

}  // namespace headroom::cli
