#include "cli/commands/predict_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "answers/predict/answer.h"
#include "answers/predict/machine_steps.h"
#include "base/read_file.h"
#include "base/text.h"
#include "cli/flags/value_checks.h"
#include "cli/terminal/output.h"
#include "cost/device_spec.h"
#include "network/gradient_exchange.h"
#include "predict/csv_table.h"
#include "predict/kernel_table.h"
#include "predict/memory_timeline.h"
#include "predict/operator_list.h"
#include "predict/step_estimate.h"
#include "render/escape.h"
#include "render/number_format.h"
#include "scale/listed_job.h"
#include "whatif/forecast.h"

namespace headroom::cli {
namespace {

constexpr const char* kPredictExamples = R"(Examples:
  headroom predict trace.json.gz --gpu H100,L4,A100-80   the recorded job on other GPUs
  headroom predict trace.json.gz                         on all that are known
  headroom predict --ops ops.csv --gpu A100-40,V100      a step known by operators and shapes alone
  headroom predict --kernels t4.csv --from T4 --to L4 -o l4.csv   a table of measured operators
  headroom predict trace.json.gz --gpu mine --gpu-file mine.toml  a GPU of your own (docs/devices.md)

Each time has the range in which four of five true ones lay on GPUs that had no part in the model.

Exit codes: 0 fine, also where a trace has nothing to replay, which is said; 2 usage, an unknown GPU;
3 an input is unreadable, or does not tell the GPU, the steps or the shapes that the question is of; 4
cannot write, or internal error.
)";

/// No machines of one time are as far apart, and beyond them times have no room.
constexpr double kMinHostFactor = 1e-3, kMaxHostFactor = 1e3;

void AddPlanFlags(Command command, JobPlanQuestion& plan) {
  command
      .AddOption("--total-steps", plan.total_steps, "Steps of the whole job: hours, money and CO2")
      .TypeName("N")
      .Check(WholeNumber(1, kMaxTotalSteps));
  command.AddOption("--prices", plan.prices_path, "Instances with prices [a small dated sample]")
      .TypeName("FILE");
  command.AddOption("--provider", plan.provider, "Only instances of this provider")
      .TypeName("NAME");
  command.AddOption("--max-hours", plan.max_hours, "Only instances that take no more time")
      .TypeName("H");
  command
      .AddOption("--max-money", plan.max_money, "Only instances that take no more of the currency")
      .TypeName("X");
  command.AddOption("--region", plan.region, "Grid that feeds the GPU: DE, US, gcp:..., [WORLD]")
      .TypeName("CODE");
  command.AddOption("--pue", plan.pue, "Overhead of the data centre: a number, or whose [survey]")
      .TypeName("X");
  command.AddOption("--carbon", plan.carbon_path, "Grids and overheads over the built-in ones")
      .TypeName("FILE");
}

}  // namespace

PredictCommand::PredictCommand(Command parent) {
  command_ = parent.AddCommand("predict", "What a step takes on another GPU", kPredictExamples);
  command_.AddOption("TRACE", traces_, "PyTorch-profiler trace or recording; several give a matrix")
      .TypeName("");
  command_.AddOption("--ops", operators_path_, "A list of operators instead of a trace")
      .TypeName("FILE");
  command_.AddOption("--kernels", table_path_, "A table of operators measured on --from")
      .TypeName("FILE");
  command_
      .AddOption("--from", from_,
                 "GPU that --kernels was measured on, or a trace that does not say")
      .TypeName("GPU");
  command_.AddOption("--to", to_, "GPU to predict --kernels for").TypeName("GPU");
  gpus_.AddFlags(command_);
  command_
      .AddOption("--host-factor", host_factor_,
                 "How many times as fast the other machine's host is [1]")
      .TypeName("F")
      .Check(Between(kMinHostFactor, kMaxHostFactor));
  command_
      .AddOption("--memory-timeline", timeline_path_,
                 "What the job allocated (prof.export_memory_timeline, raw)")
      .TypeName("FILE");
  command_.AddFlag("--batch-curve", batch_curve_,
                   "Step, throughput and memory over batch sizes, on each GPU");
  AddPlanFlags(command_, plan_);
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
        "one input: TRACE, --ops FILE or --kernels FILE (headroom predict --help has examples)");
  }
  if (table_path_.empty() && !to_.empty())
    return Status::Usage("--to belongs to --kernels; name GPUs with --gpu");
  if (!operators_path_.empty() && !from_.empty())
    return Status::Usage("--ops FILE is of no GPU: leave out --from");
  if (!table_path_.empty() && (from_.empty() || to_.empty() || gpus_.is_given() || json_)) {
    return Status::Usage(
        "--kernels FILE takes --from NAME and --to NAME, and writes a table: no --gpu, no --json");
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
        "are about a recorded job: they belong to a TRACE");
  }
  if (plan_.total_steps && !table_path_.empty())
    return Status::Usage("--total-steps is about a job; --kernels FILE is a table of operators");
  if ((options_.measured_step_ms || !timeline_path_.empty()) && traces_.size() != 1) {
    return Status::Usage("--measured-step-ms and --memory-timeline are of one job: give one TRACE");
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
    Remark(fmt::format("--gpu-calibration of {} has no part in this prediction\n", unused));
}

Status PredictCommand::PredictTable() const {
  const Result<DeviceRates> source = gpus_.models().RatesNamed(from_),
                            target = gpus_.models().RatesNamed(to_);
  if (!source.ok()) return source.status();
  if (!target.ok()) return target.status();
  RemarkOnUnused(std::array{source.value(), target.value()});
  const Result<CsvTable> table = ReadCsv(table_path_);
  if (!table.ok()) return table.status();
  const DeviceCatalog& catalog = gpus_.models().devices();
  std::map<std::string, bool> is_source;  // By name of a device.
  const Result<std::vector<MeasuredOperator>> operators =
      ReadMeasuredOperators(table.value(), [&](const std::string& name) {
        const auto [entry, is_new] = is_source.try_emplace(name);
        if (is_new) entry->second = catalog.Find(name) == source.value().device;
        return entry->second;
      });
  if (!operators.ok()) return operators.status();
  const std::vector<std::optional<PredictedMs>> predictions = PredictOperators(
      operators.value(), source.value(), target.value(), gpus_.models().constants());
  if (operators.value().empty())
    return Status::NoAnswer(fmt::format(
        "{}: has a header and no row; each row is an operator (docs/predict.md)", table_path_));
  if (std::none_of(predictions.begin(), predictions.end(),
                   [](const auto& prediction) { return prediction.has_value(); })) {
    return Status::NoAnswer(fmt::format(
        "{}: no row can be predicted: none was measured on {}, or in a type that it and {} have a "
        "peak for",
        table_path_, source.value().device->short_name, target.value().device->short_name));
  }
  std::vector<std::string> cells = table.value().header;
  for (const char* column : {"predicted_ms", "predicted_low_ms", "predicted_high_ms"}) {
    if (table.value().Column(column)) {
      return Status::BadInput(
          fmt::format("{}: has a column {} already; leave it out", table_path_, column));
    }
    cells.emplace_back(column);
  }
  std::string text = CsvLine(cells);
  std::size_t elsewhere = 0, without_model = 0, on_tensor_cores = 0;
  for (std::size_t row = 0; row < predictions.size(); ++row) {
    cells = table.value().rows[row];
    const std::optional<PredictedMs>& ms = predictions[row];
    for (const double PredictedMs::*part :
         {&PredictedMs::mid, &PredictedMs::low, &PredictedMs::high})
      cells.push_back(ms ? fmt::format("{:.6f}", *ms.*part) : "");
    text += CsvLine(cells);
    if (!ms) ++(operators.value()[row].on_source ? without_model : elsewhere);
    // What was measured on the target itself is as it was.
    if (ms && ms->low < ms->high && OnTensorCores(operators.value()[row].work)) ++on_tensor_cores;
  }
  if (!options_.quiet) {
    const std::vector<std::string> misspelt = MisspeltColumns(table.value());
    if (!misspelt.empty())
      Remark(fmt::format(
          "not read: {} {}\n", misspelt.size() == 1 ? "column" : "columns",
          Printable(fmt::format("{}", fmt::join(misspelt, ", ")), CharsetOfEnvironment())));
    const TableUncertainty doubts =
        UncertaintyOf(operators.value(), source.value(), gpus_.models().constants());
    if (doubts.implausible > 0) {
      Remark(fmt::format(
          "{}: {} took a time that {} cannot have taken, or 100 times what it should; latency_ms "
          "is in milliseconds\n",
          table.value().Place(doubts.first),
          doubts.implausible == 1
              ? "the row"
              : fmt::format("this and {}", Plural(doubts.implausible - 1, "more row")),
          source.value().device->short_name));
    }
    if (on_tensor_cores > 0) {
      Remark(
          fmt::format("{} on tensor cores: only ever held against one H200, so their ranges are "
                      "{} times as wide\n",
                      Plural(on_tensor_cores, "row"), kTensorCoreDoubt));
    }
    if (elsewhere > 0) {
      Remark(fmt::format("{} rows are of another device than {} and have no prediction\n",
                         elsewhere, source.value().device->short_name));
    }
    if (without_model > 0)
      Remark(fmt::format("{} rows have a type that {} or {} has no peak for, and no prediction\n",
                         without_model, source.value().device->short_name,
                         target.value().device->short_name));
    const std::string why = gpus_.models().WhyExtrapolated(target.value());
    if (!why.empty()) Remark(fmt::format("{}: {}\n", target.value().device->short_name, why));
  }
  return WriteResult(text, output_path_);
}

Status PredictCommand::PredictLists(std::span<const DeviceRates> targets,
                                    std::span<const PlannedMachine> machines,
                                    PredictReport& report) const {
  RemarkOnUnused(targets);
  const Result<std::vector<OperatorList>> lists = ReadOperatorLists(operators_path_);
  if (!lists.ok()) return lists.status();
  for (std::size_t group = 0; group < lists.value().size(); ++group) {
    const OperatorList& list = lists.value()[group];
    if (list.works.empty()) {
      const std::string doubt = list.Doubt();
      report.abstained.push_back(
          {.trace = operators_path_,
           .why = fmt::format("no operator{} has kernels that are known (docs/predict.md){}{}",
                              list.name.empty() ? "" : fmt::format(" of '{}'", list.name),
                              doubt.empty() ? "" : ": ", doubt)});
      continue;
    }
    for (const DeviceRates& rate : targets) {
      const Result<StepEstimate> estimate = EstimateStep(list, rate, gpus_.models().constants());
      if (!estimate.ok()) {
        return Status::Of(estimate.status().code(),
                          fmt::format("{}: {}", operators_path_, estimate.status().message()));
      }
      std::string why = fmt::format("{} of {} operators have no kernels: views, or not known",
                                    list.without_work, list.operators);
      if (list.collectives > 0) {
        why +=
            fmt::format("; {} of communication between GPUs {} not in it",
                        Plural(list.collectives, "kernel"), list.collectives == 1 ? "is" : "are");
      }
      std::string doubt = list.Doubt();
      if (const std::string of_gpu = gpus_.models().WhyExtrapolated(rate); !of_gpu.empty())
        doubt += (doubt.empty() ? "" : "; ") + of_gpu;
      report.targets.push_back(
          {.group = group,
           .workload = list.name,
           .gpu = rate.device->short_name,
           .full_name = rate.device->name,
           .step = estimate.value().step,
           .phases_ms = estimate.value().phase_ms,
           .gpu_memory_bytes = rate.device->UsableBytes(),
           .energy = EnergyOn(rate, estimate.value().activity, estimate.value().step,
                              gpus_.models().constants()),
           .measured_operators = rate.correction ? rate.correction->size() : 0,
           .measured_share = estimate.value().measured_share,
           .why = why,
           .doubt = doubt});
      if (!machines.empty()) ScaleOut(list, rate, estimate.value(), machines, report);
    }
  }
  if (report.targets.empty()) {
    const PredictAbstention& first = report.abstained.front();
    return Status::NoAnswer(fmt::format("{}: {}", first.trace, first.why));
  }
  return Status::Ok();
}

void PredictCommand::ScaleOut(const OperatorList& list, const DeviceRates& rate,
                              const StepEstimate& estimate,
                              std::span<const PlannedMachine> machines,
                              PredictReport& report) const {
  PredictedTarget& target = report.targets.back();
  const bool any = std::any_of(machines.begin(), machines.end(),
                               [&](const auto& machine) { return machine.gpu == target.gpu; });
  if (!any) return;
  const KernelConstants& constants = gpus_.models().constants();
  const Result<std::unique_ptr<ListedJob>> job =
      ListedJob::Make(list, rate, constants, kBucketBytes);
  if (!job.ok()) {
    for (const PlannedMachine& machine : machines)
      target.machines.push_back(
          {.price = machine.price, .step = {}, .no_answer = job.status().message()});
    return;
  }
  AddMachineSteps(
      *job.value(), machines,
      [&](double step_ms) -> std::optional<double> {
        StepActivity activity = estimate.activity;
        activity.step_ms = step_ms;
        const std::optional<StepEnergy> energy = ModelledEnergy(activity, rate, constants);
        return energy ? std::optional(energy->joules) : std::nullopt;
      },
      target);
}

Status PredictCommand::PredictTrace(const std::string& trace, std::span<const DeviceRates> targets,
                                    std::span<const PlannedMachine> machines,
                                    PredictReport& report) const {
  PredictQuestion question = {.trace = trace,
                              .workload = traces_.size() > 1 ? trace : "",
                              .host_factor = host_factor_,
                              .batch_curve = batch_curve_,
                              .whole_job = plan_.total_steps.has_value(),
                              .machines = machines};
  if (!timeline_path_.empty()) {
    const Result<RecordedMemory> read = ReadMemoryTimeline(timeline_path_);
    if (!read.ok()) return read.status();
    question.timeline = read.value();
  }
  const Result<OpenedJob> opened = OpenJob(trace, options_);
  if (const Status why_none = opened.ok() ? opened.value().forecasts : opened.status();
      why_none.code() == StatusCode::kNoAnswer) {
    report.abstained.push_back({.trace = trace, .why = why_none.message()});
    return Status::Ok();
  }
  if (!opened.ok()) return opened.status();
  if (!opened.value().forecasts.ok()) return opened.value().forecasts;
  const Job& job = *opened.value().job;
  const Result<DeviceRates> source = SourceGpuOf(gpus_.models(), job, trace, from_);
  if (!source.ok()) return source.status();
  std::vector<DeviceRates> used(targets.begin(), targets.end());
  used.push_back(source.value());
  RemarkOnUnused(used);
  const Forecaster forecaster(job);
  if (std::string why = forecaster.WhyNone(); !why.empty()) {
    report.abstained.push_back({.trace = trace, .why = std::move(why)});
    return Status::Ok();
  }
  Baseline baseline = forecaster.baseline();
  baseline.AlsoNote(opened.value().note);
  return AddPrediction(job, baseline, gpus_.models(), source.value(), targets, question, report);
}

Status PredictCommand::Run() {
  if (Status status = CheckFlags(); !status.ok()) return status;
  if (Status status = gpus_.Load(); !status.ok()) return status;
  options_.device_files = gpus_.device_files();
  if (!table_path_.empty()) return PredictTable();
  const Result<std::vector<DeviceRates>> targets = gpus_.Chosen(options_.quiet);
  if (!targets.ok()) return targets.status();
  JobPlan plan(plan_);
  if (Status status = plan.Load(gpus_.models().devices()); !status.ok()) return status;
  PredictReport report;
  report.constants = gpus_.models().constants().about;
  if (!operators_path_.empty()) {
    if (Status status = PredictLists(targets.value(), plan.machines(), report); !status.ok())
      return status;
  }
  for (const std::string& trace : traces_) {
    if (Status status = PredictTrace(trace, targets.value(), plan.machines(), report); !status.ok())
      return status;
  }
  FindTies(report.targets);
  plan.Make(report);
  return WriteResult(json_ ? RenderPredictJson(report)
                           : RenderPredictText(report, UseColor(ColorMode::kAuto, output_path_),
                                               CharsetOfEnvironment()),
                     output_path_);
}

}  // namespace headroom::cli
