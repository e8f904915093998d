#include "cli/commands/scale_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "cli/flags/value_checks.h"
#include "cli/terminal/output.h"
#include "predict/list_change.h"
#include "predict/operator_list.h"
#include "render/escape.h"
#include "scale/recorded_collectives.h"
#include "whatif/forecast.h"

namespace headroom::cli {
namespace {

constexpr const char* kScaleExamples = R"(Examples:
  headroom scale trace.json.gz --gpus 1,2,4,8 --bandwidth-gbps 25   machines of one GPU
  headroom scale trace.json.gz --gpus 8,64,1024 --cluster dgx-h100  machines of eight
  headroom scale trace.json.gz --gpus 4x2 --bandwidth-gbps 10,25,100  a sweep of the network
  headroom scale traces/ --gpus 16,64 --cluster dgx-h100            a folder, one file per rank
  headroom scale trace.json.gz --strong --with amp                  shared batch, and a change
  headroom scale trace.json.gz --gpus 8 --exchange-every 4          gradients of four batches
  headroom scale trace.json.gz --gpus 8,64 --schedule fsdp          sharded parameters
  headroom scale trace.json.gz --gpus 8,64 --tensor-parallel 8      sharded layers (experimental)
  headroom scale trace.json.gz --gpus 16 --pipeline-parallel 4 --micro-batches 16   in stages
  headroom scale --ops ops.csv --gpu A100-SXM-40 --gpus 4 --cluster dgx-a100  without a trace
  headroom scale --list                                             the known clusters

Each GPU has the recorded batch, unless --strong splits it. Exit codes: 0 fine, also if the
answer is unknown; 2 usage; 3 the file is unreadable or not a trace; 4 cannot write, or internal
error.
)";

constexpr std::int64_t kMaxSteps = 1'000'000;
constexpr std::int64_t kMaxGpusOfReplica = 10'000;

/// Returns the error for several files that are not ranks of one job.
Status NotOfOneJob(std::string_view why) {
  return Status::Usage(
      fmt::format("the files {}, so they are not the ranks of one job on several GPUs: give one of "
                  "them",
                  why));
}

void AddNetworkFlags(Command command, NetworkQuestion& network) {
  command
      .AddOption("--gpus", network.gpus,
                 "Numbers of GPUs, or machines x GPUs such as 4x2 [1,2,4,...,64]")
      .Delimiter(',')
      .TypeName("N,...");
  command
      .AddOption("--cluster", network.cluster,
                 "Cluster type (see --list), or a file (docs/clusters.md)")
      .TypeName("CLUSTER|FILE");
  command
      .AddOption("--bandwidth-gbps", network.bandwidths_gbps,
                 "Bandwidth between machines in each direction; one curve per value [100]")
      .Delimiter(',')
      .TypeName("X,...");
  command
      .AddOption("--latency-us", network.latency_us, "Latency of a message between machines [14]")
      .TypeName("L");
  command
      .AddOption("--gpus-per-node", network.gpus_per_node, "GPUs per machine, behind PCIe 4.0 [1]")
      .TypeName("N");
}

/// Limit of --overlap-slowdown. No measured kernel is slower by more.
constexpr double kMaxSlowdown = 10;
constexpr double kMaxHostUs = 1e6;

}  // namespace

ScaleCommand::ScaleCommand(Command parent) {
  command_ = parent.AddCommand("scale", "Step time on 2, 8 or 1024 GPUs", kScaleExamples);
  command_
      .AddOption("TRACE", traces_,
                 "PyTorch-profiler trace or recording; several, or a folder: a file per rank")
      .TypeName("");
  command_
      .AddOption("--ops", operators_path_,
                 "A list of operators of one GPU's step instead of a trace (docs/predict.md)")
      .TypeName("FILE");
  AddNetworkFlags(command_, network_);
  command_.AddFlag("--strong", question_.strong, "Split the recorded batch over the GPUs");
  command_.AddOption("--schedule", question_.schedule, std::string(kSchedules))
      .ShowDefault()
      .TypeName("NAME")
      .Check(Known(ScheduleNames()));
  command_
      .AddOption(
          "--exchange-every", question_.exchange_every,
          "Exchange only in every N-th step; except in local-sgd, accumulates gradients until then")
      .ShowDefault()
      .TypeName("N")
      .Check(WholeNumber(1, kMaxSteps));
  command_
      .AddOption("--tensor-parallel", question_.split.tensor,
                 "GPUs that share each layer of a transformer, experimental")
      .ShowDefault()
      .TypeName("N")
      .Check(WholeNumber(1, kMaxGpusOfReplica));
  command_
      .AddOption("--pipeline-parallel", question_.split.stages,
                 "Pipeline stages that share the layers of a transformer, experimental")
      .ShowDefault()
      .TypeName("N")
      .Check(WholeNumber(1, kMaxGpusOfReplica));
  command_
      .AddOption("--micro-batches", question_.split.micro_batches,
                 "Micro-batches per step, each the size of the recorded batch")
      .ShowDefault()
      .TypeName("N")
      .Check(WholeNumber(1, kMaxSteps));
  command_.AddOption("--bucket-mb", question_.bucket_mb, "Size of a gradient bucket in MiB")
      .ShowDefault()
      .TypeName("X")
      .Check(AboveZero());
  command_
      .AddOption("--gradient-dtype", question_.gradient_dtype,
                 "Data type of exchanged gradients: fp32, fp16 or bf16 [as recorded]")
      .TypeName("TYPE")
      .Check(OneOf({"fp32", "fp16", "bf16"}));
  command_.AddFlag("--no-overlap", question_.no_overlap, "Exchange gradients after the backward");
  command_
      .AddOption(
          "--bucket-host-us", question_.bucket_host_us,
          "Host time to launch the all-reduce of a bucket [six operators of the recorded host]")
      .TypeName("X")
      .Check(Between(0, kMaxHostUs));
  command_
      .AddOption("--loader-samples-per-s", question_.costs.loader_samples_per_s,
                 "Samples per second that one machine loads for all its GPUs [unlimited]")
      .TypeName("X")
      .Check(AboveZero());
  command_
      .AddOption("--overlap-slowdown", question_.costs.overlap_slowdown,
                 "Computation during a collective takes X times as long, for a job of one GPU")
      .ShowDefault()
      .TypeName("X")
      .Check(Between(1, kMaxSlowdown));
  command_
      .AddOption("--step-deviation", question_.costs.deviation,
                 "Standard deviation of step times as a share, if too few steps are recorded")
      .ShowDefault()
      .TypeName("X")
      .Check(Between(0, 1));
  command_.AddOption("--with", question_.changes, "Changes to apply first (headroom whatif --list)")
      .TypeName("SCENARIO")
      .Check(Known(ScenarioNames()));
  command_.AddFlag("--list", list_, "List the known clusters");
  command_.AddFlag("--json", json_, "One JSON object, format headroom.scale/1");
  command_
      .AddOption("-o,--output", output_path_, "Write to FILE, whole or not at all, not to stdout")
      .TypeName("FILE")
      .Check(NotEmpty());
  gpus_.AddFlags(command_);
  AddJobFlags(command_, options_);
  AddCaptureFlag(command_, options_);
  command_.AddFlag("-q,--quiet", options_.quiet, "No remarks and no progress on stderr");
}

void ScaleCommand::RemarkOnBuckets(const std::string& why) const {
  if (command_.is_given("--bucket-mb") && !options_.quiet)
    Remark(fmt::format("headroom: --bucket-mb has no effect: {}\n", why));
}

Result<ScaleReport> ScaleCommand::AnswerForFiles(const TraceFiles& files,
                                                 const ScaleAnswer& answer) const {
  const Result<ReplayedRank> rank = ChooseReplayedRank(files, options_);
  if (!rank.ok()) return rank.status();
  Result<OpenedTrace> trace = ReadTrace(rank.value().path, options_);
  if (!trace.ok()) return trace.status();
  if (trace.value().store->gpu_tasks.rows() > 0)
    return AnswerForTrace(std::move(trace).value(), rank.value(), answer);
  if (rank.value().number) return NotOfOneJob("have no GPU work");
  return answer.OfLoop(*trace.value().store, *trace.value().reference, trace.value().analysis);
}

Result<ScaleReport> ScaleCommand::AnswerForTrace(OpenedTrace trace, const ReplayedRank& rank,
                                                 const ScaleAnswer& answer) const {
  Result<OpenedJob> opened = MakeJob(std::move(trace), options_);
  const Status why_none = opened.ok() ? opened.value().forecasts : opened.status();
  if (why_none.code() == StatusCode::kNoAnswer) return answer.Without("", why_none.message());
  if (!opened.ok()) return opened.status();
  const Job& job = *opened.value().job;
  if (rank.number && RecordedGpus(job) == 1) return NotOfOneJob("do not communicate");
  Forecaster forecaster(job);
  Result<ScaleReport> report = answer.OfTrace(
      job, forecaster,
      {.path = "", .calibration = opened.value().calibration, .note = opened.value().note},
      {.number = rank.number, .compared = rank.compared, .skew = [&](std::int64_t gpus) {
         return rank.SkewOf(gpus);
       }});
  if (report.ok() && report.value().recorded_gpus > 1)
    RemarkOnBuckets("the recorded job already exchanges gradients in its own buckets");
  return report;
}

Result<ScaleReport> ScaleCommand::AnswerForList(const ScaleAnswer& answer) {
  if (Status status = gpus_.Load(); !status.ok()) return status;
  const Result<std::vector<DeviceRates>> targets = gpus_.Chosen(options_.quiet);
  if (!targets.ok()) return targets.status();
  if (targets.value().size() != 1) return Status::Usage("--ops requires exactly one --gpu NAME");
  const DeviceRates& rates = targets.value().front();
  Result<std::vector<OperatorList>> lists = ReadOperatorLists(operators_path_);
  if (!lists.ok()) return lists.status();
  if (!question_.changes.empty()) {
    if (Status status = ApplyToLists(question_.changes, lists.value()); !status.ok()) return status;
  }
  if (lists.value().size() > 1) {
    return Status::Usage(fmt::format("{} lists {} steps, the first {}; give a file with one step",
                                     operators_path_, lists.value().size(),
                                     lists.value().front().name));
  }
  const OperatorList& list = lists.value().front();
  if (const std::string doubt = list.Doubt(); !doubt.empty() && !options_.quiet)
    Remark(fmt::format("{}: {}\n", Printable(operators_path_), Printable(doubt)));
  return answer.OfList(operators_path_, list, rates, gpus_.models());
}

Status ScaleCommand::CheckFlags(const TraceFiles& files) const {
  if (traces_.empty() == operators_path_.empty()) {
    return Status::Usage(
        traces_.empty()
            ? "TRACE is missing: headroom scale TRACE --gpus N,..., or --ops FILE --gpu NAME"
            : "choose one input: TRACE, or --ops FILE");
  }
  if (!traces_.empty() && (gpus_.is_given() || !gpus_.Inputs().empty())) {
    return Status::Usage(
        "--gpu and the other flags of --ops require --ops: a trace is scaled on the GPU of its "
        "recording (headroom predict forecasts other GPUs)");
  }
  const bool of_trace = options_.measured_step_ms || !options_.steps.empty() ||
                        !options_.step_marker.empty() || !options_.calibration.path.empty() ||
                        !options_.capture.empty();
  if (traces_.empty() && of_trace) {
    return Status::Usage(
        "--steps, --step-marker, --capture, --measured-step-ms and --calibration require a TRACE");
  }
  if (traces_.empty() && question_.bucket_host_us)
    return Status::Usage("--bucket-host-us requires a TRACE: a list of operators has no host");
  if (output_path_.empty() || output_path_ == "-") return Status::Ok();
  Result<std::vector<std::string>> with_captures = WithCaptures(gpus_.Inputs(), options_.capture);
  if (!with_captures.ok()) return with_captures.status();
  std::vector<std::string> inputs = std::move(with_captures).value();
  inputs.insert(inputs.end(), files.paths.begin(), files.paths.end());
  if (!operators_path_.empty()) inputs.push_back(operators_path_);
  return RefuseToOverwrite("-o", output_path_, inputs);
}

Status ScaleCommand::Run() {
  if (list_) {
    const Result<std::vector<Topology>> clusters = LoadBuiltInTopologies();
    if (!clusters.ok()) return clusters.status();
    return WriteResult(NetworkChoice::ListClusters(clusters.value()), output_path_);
  }
  const Result<TraceFiles> files = FindJobFiles(traces_);
  if (!files.ok()) return files.status();
  if (Status status = CheckFlags(files.value()); !status.ok()) return status;
  // Checks the flags before reading a large trace.
  Result<NetworkChoice> network = NetworkChoice::Make(network_);
  if (!network.ok()) return network.status();
  const Result<ScaleAnswer> answer = ScaleAnswer::Make(question_, std::move(network).value());
  if (!answer.ok()) return answer.status();
  if (!answer.value().has_buckets())
    RemarkOnBuckets(fmt::format("--schedule {} sends no buckets", question_.schedule));
  Result<ScaleReport> answered = traces_.empty() ? AnswerForList(answer.value())
                                                 : AnswerForFiles(files.value(), answer.value());
  if (!answered.ok()) return answered.status();
  ScaleReport& report = answered.value();
  report.path = traces_.empty() ? operators_path_ : fmt::format("{}", fmt::join(traces_, " "));
  return json_ ? WriteResult(RenderScaleJson(report), output_path_)
               : WritePaged(RenderScaleText(report, StyleOfPage(output_path_)), output_path_);
}

}  // namespace headroom::cli
