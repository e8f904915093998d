#include "cli/scale_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "cli/help.h"
#include "cli/output.h"
#include "predict/operator_list.h"
#include "scale/listed_job.h"
#include "scale/loop_job.h"
#include "scale/rare_exchange.h"
#include "scale/recorded_collectives.h"
#include "scale/traced_job.h"
#include "whatif/forecast.h"

namespace headroom::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  headroom scale trace.json.gz --gpus 1,2,4,8 --bandwidth-gbps 25   machines of one GPU
  headroom scale trace.json.gz --gpus 8,64,1024 --cluster dgx-h100  machines of eight
  headroom scale trace.json.gz --gpus 4x2 --bandwidth-gbps 10,25,100  a sweep of the network
  headroom scale traces/ --gpus 16,64 --cluster dgx-h100            a job's folder, a file per rank
  headroom scale trace.json.gz --strong --with amp                  shared batch, and a change
  headroom scale trace.json.gz --gpus 8 --exchange-every 4          gradients of four batches
  headroom scale trace.json.gz --gpus 8,64 --schedule fsdp          parameters shared out
  headroom scale trace.json.gz --gpus 8,64 --tensor-parallel 8      layers shared out (experimental)
  headroom scale trace.json.gz --gpus 16 --pipeline-parallel 4 --micro-batches 16   in stages
  headroom scale --ops ops.csv --gpu A100-SXM-40 --gpus 4 --cluster dgx-a100  no trace at all
  headroom scale --list                                             clusters that are known

Each GPU has the recorded batch, unless --strong shares it out. Exit codes: 0 fine, also where it
cannot be told; 2 usage; 3 the file is unreadable or no trace; 4 cannot write, or internal error.
)";

/// Changes that say what flags of the network say.
constexpr std::array kOfTheNetwork = {"data-parallel", "network-speed", "p3", "dgc", "blueconnect"};

constexpr std::int64_t kMostSteps = 1'000'000;
constexpr std::int64_t kMostGpusOfReplica = 10'000;

/// Of several files.
Status NotOfOneJob(std::string_view why) {
  return Status::Usage(
      fmt::format("the files {}, so they are not the ranks of one job on several GPUs: give one of "
                  "them",
                  why));
}

}  // namespace

ScaleCommand::ScaleCommand(CLI::App& parent) {
  app_ = parent.add_subcommand("scale", "What a step takes on 2, 8 or 1024 GPUs");
  app_->footer(kExamples);
  app_->add_option("TRACE", traces_,
                   "PyTorch-profiler trace or recording; several, or a folder: a file per rank")
      ->type_name("");
  app_->add_option("--ops", operators_path_,
                   "A list of operators of one GPU's step instead of a trace (docs/predict.md)")
      ->type_name("FILE");
  network_.AddFlags(*app_);
  app_->add_flag("--strong", strong_, "Share the recorded batch out over the GPUs");
  app_->add_option("--schedule", schedule_, fmt::format("{} [ddp]", kSchedules))->type_name("NAME");
  app_->add_option("--exchange-every", exchange_every_,
                   "Steps from one exchange to the next: gradients are accumulated [1]")
      ->type_name("N")
      ->check(WholeNumber(1, kMostSteps));
  app_->add_option("--tensor-parallel", split_.tensor,
                   "GPUs that share each layer of a transformer, experimental [1]")
      ->type_name("N")
      ->check(WholeNumber(1, kMostGpusOfReplica));
  app_->add_option("--pipeline-parallel", split_.stages,
                   "Stages of layers of a transformer, experimental [1]")
      ->type_name("N")
      ->check(WholeNumber(1, kMostGpusOfReplica));
  app_->add_option("--micro-batches", split_.micro_batches,
                   "Batches as recorded that pass the stages in a step [1]")
      ->type_name("N")
      ->check(WholeNumber(1, kMostSteps));
  app_->add_option("--bucket-mb", bucket_mb_, "MiB of gradients that are sent at once [25]")
      ->type_name("X")
      ->check(AboveZero, "");
  app_->add_option("--with", changes_, "Changes that are made before (headroom whatif --list)")
      ->type_name("SCENARIO");
  app_->add_flag("--list", list_, "List the clusters that are known");
  app_->add_flag("--json", json_, "One JSON object, format headroom.scale/1");
  app_->add_option("-o,--output", output_path_, "Write to FILE, whole or not at all, not to stdout")
      ->type_name("FILE");
  gpus_.AddFlags(*app_);
  AddJobFlags(*app_, options_);
  app_->add_flag("-q,--quiet", options_.quiet, "No remarks and no progress on stderr");
}

Result<ScaleCommand::Question> ScaleCommand::ReadQuestion() const {
  constexpr double kBytesPerMb = 1024.0 * 1024;
  Question question;
  Result<ExchangeSchedule> exchange = ParseSchedule(schedule_);
  if (!exchange.ok()) return exchange.status();
  question.exchange = std::move(exchange).value();
  question.bucket_bytes = question.exchange.per_tensor ? 0 : bucket_mb_ * kBytesPerMb;
  if (!question.exchange.has_buckets)
    RemarkOnBuckets(fmt::format("--schedule {} sends no buckets", schedule_));
  if (question.exchange.local_sgd && exchange_every_ == 1) {
    return Status::Usage(
        "--schedule local-sgd averages parameters in every --exchange-every N steps: give N, 2 or "
        "more");
  }
  if (question.exchange.shards() && exchange_every_ > 1) {
    return Status::Usage(fmt::format(
        "--schedule {} sends something in each step; what --exchange-every would save of it is not "
        "told",
        schedule_));
  }
  if (split_.micro_batches > 1 && split_.stages == 1) {
    return Status::Usage(
        "--micro-batches pass the stages of --pipeline-parallel: give both, or --exchange-every "
        "for "
        "gradients of several batches");
  }
  const bool plain = std::holds_alternative<BucketSchedule>(question.exchange.schedule) &&
                     !question.exchange.local_sgd && exchange_every_ == 1;
  if (split_.Gpus() > 1 && !plain) {
    return Status::Usage(
        "with --tensor-parallel and --pipeline-parallel, replicas exchange their gradients by ddp "
        "or per-tensor in each step: leave --schedule and --exchange-every out");
  }
  if (changes_.empty()) return question;
  Result<std::vector<ScenarioCall>> changes = ParseScenario(changes_);
  if (!changes.ok()) return changes.status();
  for (const ScenarioCall& change : changes.value()) {
    const std::string_view name = change.scenario->name;
    if (std::find(kOfTheNetwork.begin(), kOfTheNetwork.end(), name) != kOfTheNetwork.end()) {
      return Status::Usage(fmt::format(
          "--with {}: says what --gpus, --bandwidth-gbps and --schedule say; use those", name));
    }
    if (name == "batch-size" && strong_)
      return Status::Usage("--with batch-size and --strong both set the batch; give one of them");
  }
  question.changes = std::move(changes).value();
  return question;
}

void ScaleCommand::RemarkOnBuckets(const std::string& why) const {
  if (app_->get_option("--bucket-mb")->count() > 0 && !options_.quiet)
    Remark(fmt::format("headroom: --bucket-mb says nothing here: {}\n", why));
}

bool ScaleCommand::IsPlain(const Question& question) {
  return std::holds_alternative<BucketSchedule>(question.exchange.schedule) &&
         question.changes.empty();
}

Status ScaleCommand::SplitJob(const Job& job, std::int64_t recorded_gpus,
                              std::optional<TracedLayers>& layers,
                              std::optional<TensorParallel>& sharing,
                              PipelineStages& stages) const {
  if (recorded_gpus > 1) {
    return Status::NoAnswer(
        "the recorded job is shared out over several GPUs already, as it was written to; "
        "--tensor-parallel and --pipeline-parallel need a recording on one GPU");
  }
  Result<TracedLayers> found = TracedLayers::Find(job);
  if (!found.ok()) return found.status();
  layers.emplace(std::move(found).value());
  Result<TensorParallel> shared = TensorParallel::Share(*layers, split_.tensor);
  if (!shared.ok()) return shared.status();
  sharing.emplace(std::move(shared).value());
  if (split_.stages == 1) return Status::Ok();
  Result<PipelineStages> of_layers = sharing->Stages(split_.stages);
  if (!of_layers.ok()) return of_layers.status();
  stages = std::move(of_layers).value();
  return Status::Ok();
}

Status ScaleCommand::FillStaged(ScalableJob& job, PipelineStages stages, const Question& question,
                                const std::vector<NamedNetwork>& networks,
                                ScaleReport& report) const {
  if (split_.stages == 1) return FillCurves(job, question, networks, report);
  PipelinedJob pipelined(
      job, {.split = split_, .stages = std::move(stages), .bucket_bytes = question.bucket_bytes});
  return FillCurves(pipelined, question, networks, report);
}

Status ScaleCommand::FillCurves(ScalableJob& job, const Question& question,
                                const std::vector<NamedNetwork>& networks,
                                ScaleReport& report) const {
  const bool local = question.exchange.local_sgd;
  if (local && !report.gradient_bytes) {
    report.no_answer =
        "how many bytes of parameters there are to average cannot be told: no gradient is known by "
        "its shape";
    return Status::Ok();
  }
  RareExchange rare(job, local ? RareKind::kLocalSgd : RareKind::kAccumulation, exchange_every_,
                    report.gradient_bytes.value_or(0));
  for (const NamedNetwork& network : networks) {
    const Result<std::vector<Placement>> placements = network_.PlacementsOn(network.topology);
    if (!placements.ok()) return placements.status();
    report.curves.push_back(
        {.cluster = network.topology.name,
         .bandwidth_gbps = network.bandwidth_gbps,
         .description = network.description,
         .points = ScalingCurve(exchange_every_ > 1 ? rare : job, network.topology,
                                placements.value(), strong_)});
  }
  return Status::Ok();
}

Status ScaleCommand::AnswerForLoop(const OpenedTrace& trace, const Question& question,
                                   ScaleReport& report) const {
  if (!IsPlain(question) || split_.Gpus() > 1) {
    report.no_answer =
        "of a loop without GPU work, only ddp, per-tensor and local-sgd can be told, and no "
        "changes";
    return Status::Ok();
  }
  const Result<std::unique_ptr<LoopJob>> job =
      LoopJob::Make(*trace.store, *trace.knowledge, trace.analysis, question.bucket_bytes);
  if (job.status().code() == StatusCode::kNoAnswer) {
    report.no_answer = job.status().message();
    return Status::Ok();
  }
  if (!job.ok()) return job.status();
  report.step_ms = job.value()->OnOneGpu().step_ms;
  report.source = "loop";
  report.deviation = job.value()->deviation();
  report.gradient_bytes = job.value()->GradientBytes();
  return FillCurves(*job.value(), question, network_.networks(), report);
}

Status ScaleCommand::AnswerForFiles(const TraceFiles& files, const Question& question,
                                    ScaleReport& report) const {
  const Result<ReplayedRank> rank = ChooseReplayedRank(files, options_);
  if (!rank.ok()) return rank.status();
  Result<OpenedTrace> trace = ReadTrace(rank.value().path, options_);
  if (!trace.ok()) return trace.status();
  if (trace.value().store->gpu_tasks.rows() > 0)
    return AnswerForTrace(std::move(trace).value(), rank.value(), question, report);
  if (rank.value().number) return NotOfOneJob("have no GPU work");
  return AnswerForLoop(trace.value(), question, report);
}

Status ScaleCommand::AnswerForTrace(OpenedTrace trace, const ReplayedRank& rank,
                                    const Question& question, ScaleReport& report) const {
  Result<OpenedJob> opened = MakeJob(std::move(trace), options_);
  const Status why_none = opened.ok() ? opened.value().forecasts : opened.status();
  if (why_none.code() == StatusCode::kNoAnswer) {
    report.no_answer = why_none.message();
    return Status::Ok();
  }
  if (!opened.ok()) return opened.status();
  const Job& job = *opened.value().job;
  Forecaster forecaster(job);
  const std::optional<std::int64_t> recorded = RecordedGpus(job);
  if (!recorded) {
    report.no_answer =
        "the recorded job communicates, and its trace does not say among how many GPUs";
    return Status::Ok();
  }
  if (*recorded == 1 && rank.number) return NotOfOneJob("do not communicate");
  std::vector<NamedNetwork> networks = network_.networks();
  GpusOfJob recorded_on;
  recorded_on.placement = {.gpus = *recorded, .nodes = *recorded};
  if (*recorded > 1) {
    RemarkOnBuckets("the recorded job exchanges gradients already, in buckets of its own");
    CollectiveSkew skew = rank.SkewOf(*recorded);
    Result<Topology> fitted = FitRecordedNetwork(job, *recorded, skew.all_reduces);
    if (!fitted.ok()) {
      report.no_answer = fitted.status().message();
      return Status::Ok();
    }
    recorded_on.topology = std::move(fitted).value();
    recorded_on.overlap = RecordedOverlap(job);
    recorded_on.waits = std::move(skew.waits);
    report.overlap = recorded_on.overlap;
    const NamedNetwork own = NetworkChoice::AsRecorded(recorded_on.topology);
    report.recorded_network = own.description;
    if (!network_.is_given()) networks = {own};
  }
  std::optional<TracedLayers> layers;
  std::optional<TensorParallel> sharing;
  PipelineStages stages;
  if (split_.Gpus() > 1) {
    if (Status status = SplitJob(job, *recorded, layers, sharing, stages); !status.ok()) {
      report.no_answer = status.message();
      return Status::Ok();
    }
  }
  TracedJob scalable(job, forecaster,
                     {.recorded = recorded_on,
                      .bucket_bytes = question.bucket_bytes,
                      .schedule = question.exchange.schedule,
                      .changes = question.changes,
                      .split = split_,
                      .layers = sharing ? &*sharing : nullptr});
  if (split_.stages > 1) stages = scalable.Complete(std::move(stages));
  const ScaledStep one = scalable.OnOneGpu();
  if (!one.no_answer.empty()) {
    report.no_answer = one.no_answer;
    return Status::Ok();
  }
  report.step_ms = one.step_ms;
  report.source = "trace";
  report.recorded_gpus = *recorded;
  report.replayed_rank = rank.number;
  report.ranks = rank.compared;
  report.samples = scalable.samples();
  report.deviation = scalable.deviation();
  const std::vector<GradientStep> gradients = FindGradients(job);
  if (!gradients.empty()) report.gradient_bytes = gradients.front().Bytes();
  report.calibration = opened.value().calibration;
  Baseline baseline = forecaster.baseline();
  baseline.AlsoNote(opened.value().note);
  report.steps_note = baseline.steps_note;
  return FillStaged(scalable, stages, question, networks, report);
}

Status ScaleCommand::AnswerForList(const Question& question, ScaleReport& report) {
  if (!IsPlain(question)) {
    return Status::Usage(
        "of a list of operators (--ops), only ddp, per-tensor and local-sgd can be told, and no "
        "--with");
  }
  if (Status status = gpus_.Load(); !status.ok()) return status;
  const Result<std::vector<DeviceRates>> targets = gpus_.Chosen(options_.quiet);
  if (!targets.ok()) return targets.status();
  if (targets.value().size() != 1)
    return Status::Usage("--ops takes one --gpu NAME: curves are of one kind of GPU");
  const DeviceRates& rates = targets.value().front();
  const Result<std::vector<OperatorList>> lists = ReadOperatorLists(operators_path_);
  if (!lists.ok()) return lists.status();
  if (lists.value().size() > 1) {
    return Status::Usage(fmt::format("{} lists {} steps, the first {}; give a file of one",
                                     operators_path_, lists.value().size(),
                                     lists.value().front().name));
  }
  const Result<std::unique_ptr<ListedJob>> job = ListedJob::Make(
      lists.value().front(), rates, gpus_.constants(), question.bucket_bytes, split_);
  if (job.status().code() == StatusCode::kNoAnswer) {
    report.no_answer = job.status().message();
    return Status::Ok();
  }
  if (!job.ok()) return job.status();
  report.step_ms = job.value()->OnOneGpu().step_ms;
  report.source = "operators";
  report.gpu = rates.device->short_name;
  report.samples = job.value()->samples();
  report.gradient_bytes = job.value()->GradientBytes();
  report.steps_note = gpus_.WhyExtrapolated(rates);
  return FillStaged(*job.value(), job.value()->stages(), question, network_.networks(), report);
}

Status ScaleCommand::CheckFlags(const TraceFiles& files) const {
  if (traces_.empty() == operators_path_.empty()) {
    return Status::Usage(
        traces_.empty()
            ? "TRACE is missing: headroom scale TRACE --gpus N,..., or --ops FILE --gpu NAME"
            : "one input: TRACE, or --ops FILE");
  }
  if (!traces_.empty() && (gpus_.is_given() || !gpus_.Inputs().empty())) {
    return Status::Usage(
        "--gpu and its kin belong to --ops: a trace is scaled on the GPU that it was recorded on "
        "(headroom predict takes it to another)");
  }
  const bool of_trace = options_.measured_step_ms || !options_.steps.empty() ||
                        !options_.step_marker.empty() || !options_.calibration.path.empty();
  if (traces_.empty() && of_trace) {
    return Status::Usage(
        "--steps, --step-marker, --measured-step-ms and --calibration are about a recorded job: "
        "they belong to a TRACE");
  }
  if (output_path_.empty() || output_path_ == "-") return Status::Ok();
  std::vector<std::string> inputs = gpus_.Inputs();
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
  const Result<TraceFiles> files = FindTraceFiles(traces_);
  if (!files.ok()) return files.status();
  if (Status status = CheckFlags(files.value()); !status.ok()) return status;
  // Wrong flags are told before a large trace is read.
  if (Status status = network_.Load(); !status.ok()) return status;
  for (const NamedNetwork& network : network_.networks()) {
    const Result<std::vector<Placement>> placements = network_.PlacementsOn(network.topology);
    if (!placements.ok()) return placements.status();
  }
  const Result<Question> question = ReadQuestion();
  if (!question.ok()) return question.status();
  ScaleReport report;
  report.path = traces_.empty() ? operators_path_ : fmt::format("{}", fmt::join(traces_, " "));
  report.strong = strong_;
  report.schedule = schedule_;
  report.exchange_every = exchange_every_;
  report.split = split_;
  report.changes = changes_;
  Status status = traces_.empty() ? AnswerForList(question.value(), report)
                                  : AnswerForFiles(files.value(), question.value(), report);
  if (!status.ok()) return status;
  const bool color = UseColor(ColorMode::kAuto, output_path_);
  return WriteResult(
      json_ ? RenderScaleJson(report) : RenderScaleText(report, color, CharsetOfEnvironment()),
      output_path_);
}

}  // namespace headroom::cli
