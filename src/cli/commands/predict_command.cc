#include "cli/commands/predict_command.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "answers/predict/answer.h"
#include "answers/predict/changed_step.h"
#include "answers/predict/operator_table.h"
#include "cli/flags/value_checks.h"
#include "cli/inputs/trace_files.h"
#include "cli/terminal/output.h"
#include "predict/csv_table.h"
#include "predict/list_change.h"
#include "predict/memory_timeline.h"
#include "predict/operator_list.h"
#include "render/escape.h"
#include "whatif/forecast.h"

namespace headroom::cli {
namespace {

constexpr const char* kPredictExamples = R"(Examples:
  headroom predict trace.json.gz                         the recorded job on eight current GPUs
  headroom predict trace.json.gz --gpu H100,L4,A100-80   on these; --gpu all: on all known GPUs
  headroom predict trace.json.gz --with amp+fused-optimizer    a change, and then another GPU
  headroom predict --ops ops.csv --gpu A100-40,V100      a step from operators and shapes only
  headroom predict --kernels t4.csv --from T4 --to L4 -o l4.csv   a table of measured operators
  headroom predict trace.json.gz --gpu mine --gpu-file mine.toml  your own GPU (docs/devices.md)

Ranges are 80 % intervals, measured on GPUs that were not used to fit the models.

Exit codes: 0 fine, also if the report states that a trace cannot be replayed; 2 usage, or an
unknown GPU; 3 an input is unreadable, or lacks the GPU, the steps or the shapes that the question
requires; 4 cannot write, or internal error.
)";

/// Limits of --host-factor. Machines in use differ by less, and times beyond these factors could
/// overflow.
constexpr double kMinHostFactor = 1e-3, kMaxHostFactor = 1e3;

void AddPlanFlags(Command command, JobPlanQuestion& plan) {
  command
      .AddOption("--total-steps", plan.total_steps,
                 "Steps of the whole job; adds its hours, cost and CO2")
      .TypeName("N")
      .Check(WholeNumber(1, kMaxTotalSteps));
  command
      .AddOption("--prices", plan.prices_path,
                 "Cloud instances and their prices [small built-in sample]")
      .TypeName("FILE");
  command.AddOption("--provider", plan.provider, "Only instances of this provider")
      .TypeName("NAME");
  command.AddOption("--max-hours", plan.max_hours, "Only instances that take at most this time")
      .TypeName("H");
  command
      .AddOption("--max-money", plan.max_money,
                 "Only instances that cost at most this, in the currency of the prices")
      .TypeName("X");
  command.AddOption("--region", plan.region, "Grid that feeds the GPU: DE, US, gcp:..., [WORLD]")
      .TypeName("CODE");
  command
      .AddOption("--pue", plan.pue,
                 "Overhead of the data centre: a number, or an operator [survey]")
      .TypeName("X");
  command
      .AddOption("--carbon", plan.carbon_path,
                 "Grids and overheads that add to or replace the built-in ones")
      .TypeName("FILE");
}

}  // namespace

PredictCommand::PredictCommand(Command parent) {
  command_ = parent.AddCommand("predict", "Step time, memory, energy and cost on other GPUs",
                               kPredictExamples);
  command_.AddOption("TRACE", traces_, "PyTorch-profiler trace or recording; several give a matrix")
      .TypeName("");
  command_.AddOption("--ops", operators_path_, "A list of operators instead of a trace")
      .TypeName("FILE");
  command_.AddOption("--kernels", table_path_, "A table of operators measured on --from")
      .TypeName("FILE");
  command_
      .AddOption("--from", from_,
                 "GPU on which --kernels was measured, or GPU of a trace that does not name it")
      .TypeName("GPU");
  command_.AddOption("--to", to_, "GPU to predict --kernels for").TypeName("GPU");
  gpus_.AddFlags(command_);
  command_
      .AddOption("--host-factor", host_factor_,
                 "Host speed of the target machine, relative to the recorded one")
      .ShowDefault()
      .TypeName("F")
      .Check(Between(kMinHostFactor, kMaxHostFactor));
  command_
      .AddOption("--memory-timeline", timeline_path_,
                 "The job's allocations (prof.export_memory_timeline, raw)")
      .TypeName("FILE");
  command_
      .AddOption("--with", change_,
                 "A change made on each GPU: of a TRACE any of headroom whatif --list; of --ops "
                 "tf32, amp:dtype=bf16|fp16, half:dtype=bf16|fp16, fp8, channels-last, "
                 "compile:mode=..., cuda-graph, unfused-attention; joined by +")
      .TypeName("CHANGE");
  command_
      .AddOption("--host-us-per-kernel", host_us_per_kernel_,
                 "Host of an --ops list: cloud, server, workstation, none, or microseconds")
      .ShowDefault()
      .TypeName("HOST");
  command_.AddFlag("--batch-curve", batch_curve_,
                   "Step, throughput and memory over batch sizes, on each GPU");
  AddPlanFlags(command_, plan_);
  command_.AddFlag("--full", full_, "Memory, energy, limits and doubts, on several screens");
  command_.AddFlag("--json", json_, "One JSON object, format headroom.predict/1");
  command_
      .AddOption("-o,--output,--out", output_path_,
                 "Write to FILE, whole or not at all, not to stdout")
      .TypeName("FILE")
      .Check(NotEmpty());
  AddJobFlags(command_, options_);
  AddCaptureFlag(command_, options_);
  command_.AddFlag("-q,--quiet", options_.quiet, "No remarks and no progress on stderr");
}

Status PredictCommand::CheckFlags() const {
  const int inputs =
      (traces_.empty() ? 0 : 1) + (operators_path_.empty() ? 0 : 1) + (table_path_.empty() ? 0 : 1);
  if (inputs != 1) {
    return Status::Usage(
        "choose one input: TRACE, --ops FILE or --kernels FILE (headroom predict --help has "
        "examples)");
  }
  if (table_path_.empty() && !to_.empty())
    return Status::Usage("--to requires --kernels; for a TRACE or --ops, name the GPUs with --gpu");
  if (!operators_path_.empty() && !from_.empty())
    return Status::Usage("--ops FILE has no source GPU: leave out --from");
  if (operators_path_.empty() && command_.is_given("--host-us-per-kernel"))
    return Status::Usage("--host-us-per-kernel requires --ops; for a TRACE, use --host-factor");
  if (!table_path_.empty() && !change_.empty())
    return Status::Usage("--with requires a TRACE or --ops; leave out --kernels");
  if (batch_curve_ && !change_.empty())
    return Status::Usage("--batch-curve excludes --with: leave one out");
  if (!table_path_.empty() && (from_.empty() || to_.empty() || gpus_.is_given() || json_)) {
    return Status::Usage(
        "--kernels FILE requires --from NAME and --to NAME, and writes a table: leave out --gpu "
        "and --json");
  }
  if (Status status = plan_.Check(); !status.ok()) return status;
  const bool trace_flags = command_.is_given("--host-factor") || batch_curve_ ||
                           !timeline_path_.empty() || options_.measured_step_ms ||
                           !options_.steps.empty() || !options_.step_marker.empty() ||
                           !options_.calibration.path.empty() || !options_.capture.empty();
  if (trace_flags && traces_.empty()) {
    return Status::Usage(
        "--host-factor, --batch-curve, --memory-timeline, --steps, --step-marker, --capture, "
        "--measured-step-ms and --calibration "
        "require a TRACE");
  }
  if (plan_.total_steps && !table_path_.empty())
    return Status::Usage(
        "--total-steps requires a job, but --kernels FILE is a table of operators");
  if ((options_.measured_step_ms || !timeline_path_.empty()) && traces_.size() != 1) {
    return Status::Usage(
        "--measured-step-ms and --memory-timeline describe one job: give one TRACE");
  }
  Result<std::vector<std::string>> with_captures = WithCaptures(traces_, options_.capture);
  if (!with_captures.ok()) return with_captures.status();
  std::vector<std::string> inputs_read = std::move(with_captures).value();
  for (const std::string& path :
       {operators_path_, table_path_, timeline_path_, options_.calibration.path, plan_.prices_path,
        plan_.carbon_path}) {
    if (!path.empty()) inputs_read.push_back(path);
  }
  const std::vector<std::string> of_gpus = gpus_.Inputs();
  inputs_read.insert(inputs_read.end(), of_gpus.begin(), of_gpus.end());
  if (output_path_.empty() || output_path_ == "-") return Status::Ok();
  return RefuseToOverwrite("-o", output_path_, inputs_read);
}

void PredictCommand::RemarkOnUnused(std::span<const DeviceRates> used) const {
  const std::string unused = gpus_.models().UnusedCalibrations(used);
  if (!unused.empty() && !options_.quiet)
    Remark(fmt::format("--gpu-calibration of {} is not used in this prediction\n", unused));
}

Status PredictCommand::PredictTable() const {
  const Result<DeviceRates> source = gpus_.models().RatesNamed(from_),
                            target = gpus_.models().RatesNamed(to_);
  if (!source.ok()) return source.status();
  if (!target.ok()) return target.status();
  RemarkOnUnused(std::array{source.value(), target.value()});
  const Result<CsvTable> table = ReadCsv(table_path_);
  if (!table.ok()) return table.status();
  const Result<PredictedTable> predicted = PredictOperatorTable(
      table.value(), table_path_, source.value(), target.value(), gpus_.models());
  if (!predicted.ok()) return predicted.status();
  if (!options_.quiet) {
    for (const std::string& remark : predicted.value().remarks)
      Remark(Printable(remark, CharsetOfEnvironment()) + "\n");
  }
  return WriteData(predicted.value().csv, output_path_);
}

Status PredictCommand::AddLists(PredictAnswer& answer) const {
  const Result<HostModel> host = HostModel::Named(host_us_per_kernel_);
  if (!host.ok()) {
    return Status::Usage(fmt::format("--host-us-per-kernel {}", host.status().message()));
  }
  Result<std::vector<OperatorList>> lists = ReadOperatorLists(operators_path_);
  if (!lists.ok()) return lists.status();
  std::vector<OperatorList> unchanged;
  if (!change_.empty()) {
    unchanged = lists.value();
    if (Status status = ApplyToLists(change_, lists.value()); !status.ok()) return status;
  }
  return answer.AddLists(lists.value(), unchanged, operators_path_, host.value());
}

bool PredictCommand::ShowsCurrentGpus() const {
  return !json_ && !full_ && !gpus_.is_given() && gpus_.device_files().empty();
}

Status PredictCommand::AddTrace(const std::string& trace, std::span<const DeviceRates> targets,
                                PredictAnswer& answer) const {
  RecordedStepQuestion question = {.trace = trace,
                                   .workload = traces_.size() > 1 ? trace : "",
                                   .host_factor = host_factor_,
                                   .batch_curve = batch_curve_,
                                   .only_current = ShowsCurrentGpus() && !plan_.total_steps};
  if (!change_.empty()) {
    Result<std::vector<ScenarioCall>> change = ParsePredictedChange(change_);
    if (!change.ok()) return change.status();
    question.change = std::move(change).value();
  }
  if (!timeline_path_.empty()) {
    const Result<RecordedMemory> read = ReadMemoryTimeline(timeline_path_);
    if (!read.ok()) return read.status();
    question.timeline = read.value();
  }
  const Result<OpenedJob> opened = OpenJob(trace, options_);
  Status why_none = opened.ok() ? opened.value().forecasts : opened.status();
  if (why_none.code() == StatusCode::kNoAnswer) {
    answer.AddAbstention(trace, why_none.message());
    return Status::Ok();
  }
  if (!why_none.ok()) return why_none;
  const Job& job = *opened.value().job;
  const Result<DeviceRates> source = SourceGpuOf(gpus_.models(), job, trace, from_);
  if (!source.ok()) return source.status();
  std::vector<DeviceRates> used(targets.begin(), targets.end());
  used.push_back(source.value());
  RemarkOnUnused(used);
  return answer.AddTrace(job, Forecaster(job), opened.value().note, source.value(), question);
}

Status PredictCommand::Run() {
  for (std::string& trace : traces_) {
    Result<std::string> file = FindOneTraceFile(trace);
    if (!file.ok()) return file.status();
    trace = std::move(file).value();
  }
  if (Status status = CheckFlags(); !status.ok()) return status;
  if (Status status = gpus_.Load(); !status.ok()) return status;
  options_.device_files = gpus_.device_files();
  if (!table_path_.empty()) return PredictTable();
  const Result<std::vector<DeviceRates>> targets = gpus_.Chosen(options_.quiet);
  if (!targets.ok()) return targets.status();
  Result<PredictAnswer> answer = PredictAnswer::Make(gpus_.models(), targets.value(), plan_);
  if (!answer.ok()) return answer.status();
  if (!operators_path_.empty()) {
    RemarkOnUnused(targets.value());
    if (Status status = AddLists(answer.value()); !status.ok()) return status;
  }
  for (const std::string& trace : traces_) {
    if (Status status = AddTrace(trace, targets.value(), answer.value()); !status.ok())
      return status;
  }
  PredictReport report = std::move(answer.value()).Finish();
  report.change = change_;
  if (json_) return WriteResult(RenderPredictJson(report), output_path_);
  const PageStyle style = StyleOfPage(output_path_);
  if (ShowsCurrentGpus()) KeepCurrentGpus(report);
  if (full_ || batch_curve_ || plan_.total_steps || !timeline_path_.empty())
    return WritePaged(RenderPredictText(report, style), output_path_);
  return WritePaged(RenderPredictSummary(report, style), output_path_);
}

}  // namespace headroom::cli
