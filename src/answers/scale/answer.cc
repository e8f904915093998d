#include "answers/scale/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "base/units.h"
#include "scale/loop_job.h"
#include "scale/periodic_exchange.h"
#include "scale/pipelined_job.h"
#include "scale/recorded_collectives.h"
#include "scale/traced_job.h"
#include "whatif/job/gradients.h"

namespace headroom {
namespace {

/// Scenarios that --with refuses, because flags of `headroom scale` have the same effect.
constexpr std::array kOfTheNetwork = {"data-parallel", "network-speed", "p3", "dgc", "blueconnect"};

}  // namespace

Result<ScaleAnswer> ScaleAnswer::Make(ScaleQuestion question, NetworkChoice network) {
  ScaleAnswer answer(std::move(question), std::move(network));
  if (Status status = answer.Read(); !status.ok()) return status;
  return answer;
}

Status ScaleAnswer::Read() {
  constexpr double kBytesPerMb = 1024.0 * 1024;
  Result<ExchangeSchedule> exchange = ParseSchedule(question_.schedule);
  if (!exchange.ok()) return exchange.status();
  exchange_ = std::move(exchange).value();
  transfer_.bucket_bytes = exchange_.per_tensor ? 0 : question_.bucket_mb * kBytesPerMb;
  if (Status status = ReadTransfer(); !status.ok()) return status;
  if (exchange_.local_sgd && question_.exchange_every == 1) {
    return Status::Usage(
        "--schedule local-sgd averages parameters once in --exchange-every N steps: give N, at "
        "least 2");
  }
  if (exchange_.shards() && question_.exchange_every > 1) {
    return Status::Usage(
        fmt::format("--schedule {} communicates in each step, so its savings from --exchange-every "
                    "are unknown; leave out --exchange-every",
                    question_.schedule));
  }
  if (question_.split.micro_batches > 1 && question_.split.stages == 1) {
    return Status::Usage(
        "--micro-batches requires --pipeline-parallel; for gradients of several batches use "
        "--exchange-every");
  }
  const bool plain = std::holds_alternative<BucketSchedule>(exchange_.schedule) &&
                     !exchange_.local_sgd && question_.exchange_every == 1;
  if (question_.split.Gpus() > 1 && !plain) {
    return Status::Usage(
        "--tensor-parallel and --pipeline-parallel require --schedule ddp or per-tensor, and no "
        "--exchange-every");
  }
  if (question_.changes.empty()) return Status::Ok();
  Result<std::vector<ScenarioCall>> changes = ParseScenario(question_.changes);
  if (!changes.ok()) return changes.status();
  for (const ScenarioCall& change : changes.value()) {
    const std::string_view name = change.scenario->name;
    if (std::find(kOfTheNetwork.begin(), kOfTheNetwork.end(), name) != kOfTheNetwork.end()) {
      return Status::Usage(
          fmt::format("--with {}: use --gpus, --bandwidth-gbps and --schedule instead", name));
    }
    if ((name == "batch-size" || name == "gradient-accumulation") && question_.strong) {
      return Status::Usage(
          fmt::format("--with {} and --strong both set the batch; give one of them", name));
    }
  }
  changes_ = std::move(changes).value();
  return Status::Ok();
}

Status ScaleAnswer::ReadTransfer() {
  const bool buckets = std::holds_alternative<BucketSchedule>(exchange_.schedule);
  const bool replicas = buckets && !exchange_.local_sgd && question_.split.stages == 1;
  if (question_.no_overlap && !replicas) {
    return Status::Usage(
        "--no-overlap requires --schedule ddp or per-tensor, and no --pipeline-parallel");
  }
  transfer_.overlaps = !question_.no_overlap;
  if (question_.bucket_host_us) {
    if (!buckets || exchange_.local_sgd)
      return Status::Usage("--bucket-host-us requires --schedule ddp or per-tensor");
    transfer_.bucket_call = DurationNs(std::llround(*question_.bucket_host_us * kNsPerUs));
  }
  if (question_.gradient_dtype.empty()) return Status::Ok();
  const bool scenario = std::holds_alternative<ScenarioCall>(exchange_.schedule);
  if (scenario || exchange_.local_sgd || question_.split.stages > 1) {
    return Status::Usage(
        "--gradient-dtype requires --schedule ddp, per-tensor, parameter-server, zero-1, zero-2, "
        "zero-3 or fsdp, and no --pipeline-parallel");
  }
  transfer_.element_bytes = question_.gradient_dtype == "fp32" ? 4 : 2;
  return Status::Ok();
}

bool ScaleAnswer::IsPlain() const {
  return std::holds_alternative<BucketSchedule>(exchange_.schedule) && changes_.empty();
}

ScaleReport ScaleAnswer::ReportOf(const std::string& path) const {
  ScaleReport report;
  report.path = path;
  report.strong = question_.strong;
  report.schedule = question_.schedule;
  report.exchange_every = question_.exchange_every;
  report.split = question_.split;
  report.changes = question_.changes;
  report.assumed_deviation = question_.costs.deviation;
  return report;
}

ScaleReport ScaleAnswer::Without(const std::string& path, const std::string& why) const {
  ScaleReport report = ReportOf(path);
  report.no_answer = why;
  return report;
}

Status ScaleAnswer::SplitJob(const Job& job, std::int64_t recorded_gpus,
                             std::optional<TracedLayers>& layers,
                             std::optional<TensorParallel>& sharing, PipelineStages& stages) const {
  if (recorded_gpus > 1) {
    return Status::NoAnswer(
        "the recorded job already runs on several GPUs; --tensor-parallel and --pipeline-parallel "
        "require a recording on one GPU");
  }
  Result<TracedLayers> found = TracedLayers::Find(job);
  if (!found.ok()) return found.status();
  layers.emplace(std::move(found).value());
  Result<TensorParallel> shared = TensorParallel::Share(*layers, question_.split.tensor);
  if (!shared.ok()) return shared.status();
  sharing.emplace(std::move(shared).value());
  if (question_.split.stages == 1) return Status::Ok();
  Result<PipelineStages> of_layers = sharing->Stages(question_.split.stages);
  if (!of_layers.ok()) return of_layers.status();
  stages = std::move(of_layers).value();
  return Status::Ok();
}

Status ScaleAnswer::FillStaged(ScalableJob& job, PipelineStages stages,
                               const std::vector<NamedNetwork>& networks,
                               ScaleReport& report) const {
  if (question_.split.stages == 1) return FillCurves(job, networks, report);
  PipelinedJob pipelined(job, {.split = question_.split,
                               .stages = std::move(stages),
                               .bucket_bytes = transfer_.bucket_bytes});
  return FillCurves(pipelined, networks, report);
}

Status ScaleAnswer::FillCurves(ScalableJob& job, const std::vector<NamedNetwork>& networks,
                               ScaleReport& report) const {
  const bool local = exchange_.local_sgd;
  if (local && !report.gradient_bytes) {
    report.no_answer =
        "the bytes of parameters to average are unknown: no gradient has a recorded shape";
    return Status::Ok();
  }
  PeriodicExchange rare(job, local ? PeriodicKind::kLocalSgd : PeriodicKind::kAccumulation,
                        question_.exchange_every, report.gradient_bytes.value_or(0));
  for (const NamedNetwork& network : networks) {
    const Result<std::vector<Placement>> placements = network_.PlacementsOn(network.topology);
    if (!placements.ok()) return placements.status();
    report.curves.push_back(
        {.cluster = network.topology.name,
         .bandwidth_gbps = network.bandwidth_gbps,
         .description = network.description,
         .points = ScalingCurve(question_.exchange_every > 1 ? rare : job, network.topology,
                                placements.value(), question_.strong, question_.costs,
                                question_.is_wanted)});
  }
  return Status::Ok();
}

Result<ScaleReport> ScaleAnswer::OfTrace(const Job& job, Forecaster& forecaster,
                                         const ForecastSource& source,
                                         const ReplayedRankFacts& rank) const {
  ScaleReport report = ReportOf(source.path);
  const std::optional<std::int64_t> recorded = RecordedGpus(job);
  if (!recorded) {
    report.no_answer =
        "the recorded job communicates, but its trace does not state its number of GPUs";
    return report;
  }
  report.recorded_gpus = *recorded;
  std::vector<NamedNetwork> networks = network_.networks();
  GpusOfJob recorded_on;
  recorded_on.placement = {.gpus = *recorded, .nodes = *recorded};
  if (*recorded > 1) {
    CollectiveSkew skew = rank.skew ? rank.skew(*recorded) : CollectiveSkew();
    Result<Topology> fitted = FitRecordedNetwork(job, *recorded, skew.all_reduces);
    if (!fitted.ok()) {
      report.no_answer = fitted.status().message();
      return report;
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
  if (question_.split.Gpus() > 1) {
    if (Status status = SplitJob(job, *recorded, layers, sharing, stages); !status.ok()) {
      report.no_answer = status.message();
      return report;
    }
  }
  TracedJob scalable(job, forecaster,
                     {.recorded = recorded_on,
                      .transfer = transfer_,
                      .schedule = exchange_.schedule,
                      .changes = changes_,
                      .split = question_.split,
                      .layers = sharing ? &*sharing : nullptr});
  if (question_.split.stages > 1) stages = scalable.Complete(std::move(stages));
  const ScaledStep one = scalable.OnOneGpu();
  if (!one.no_answer.empty()) {
    report.no_answer = one.no_answer;
    return report;
  }
  report.step_ms = one.step_ms;
  report.limit = OwnLimit(one, scalable.loader_share());
  report.source = "trace";
  report.replayed_rank = rank.number;
  report.ranks = rank.compared;
  report.samples = scalable.samples();
  report.deviation = scalable.deviation();
  const std::vector<GradientStep> gradients = FindGradients(job);
  if (!gradients.empty()) report.gradient_bytes = transfer_.Sent(gradients.front()).Bytes();
  report.calibration = source.calibration;
  Baseline baseline = forecaster.baseline();
  baseline.AlsoNote(source.note);
  report.steps_note = baseline.steps_note;
  if (Status status = FillStaged(scalable, std::move(stages), networks, report); !status.ok())
    return status;
  return report;
}

Result<ScaleReport> ScaleAnswer::OfLoop(const TraceStore& store, const ReferenceData& reference,
                                        const AnalysisOptions& analysis) const {
  ScaleReport report = ReportOf(analysis.path);
  if (!IsPlain() || question_.split.Gpus() > 1 || transfer_.element_bytes) {
    report.no_answer =
        "a loop without GPU work allows only --schedule ddp, per-tensor or local-sgd, and no "
        "--with, --gradient-dtype, --tensor-parallel or --pipeline-parallel";
    return report;
  }
  const Result<std::unique_ptr<LoopJob>> job = LoopJob::Make(store, reference, analysis, transfer_);
  if (job.status().code() == StatusCode::kNoAnswer) {
    report.no_answer = job.status().message();
    return report;
  }
  if (!job.ok()) return job.status();
  const ScaledStep one = job.value()->OnOneGpu();
  report.step_ms = one.step_ms;
  report.limit = OwnLimit(one, job.value()->loader_share());
  report.source = "loop";
  report.deviation = job.value()->deviation();
  report.gradient_bytes = job.value()->GradientBytes();
  if (Status status = FillCurves(*job.value(), network_.networks(), report); !status.ok())
    return status;
  return report;
}

Result<ScaleReport> ScaleAnswer::OfList(const std::string& path, const OperatorList& list,
                                        const DeviceRates& rates, const GpuModels& models) const {
  if (!std::holds_alternative<BucketSchedule>(exchange_.schedule)) {
    return Status::Usage(
        "a list of operators (--ops) allows only --schedule ddp, per-tensor or local-sgd");
  }
  ScaleReport report = ReportOf(path);
  const Result<std::unique_ptr<ListedJob>> job =
      ListedJob::Make(list, rates, models.constants(), transfer_, question_.split);
  if (job.status().code() == StatusCode::kNoAnswer) {
    report.no_answer = job.status().message();
    return report;
  }
  if (!job.ok()) return job.status();
  const ScaledStep one = job.value()->OnOneGpu();
  report.step_ms = one.step_ms;
  report.limit = OwnLimit(one, job.value()->loader_share());
  report.source = "operators";
  report.gpu = rates.device->short_name;
  report.samples = job.value()->samples();
  report.gradient_bytes = job.value()->GradientBytes();
  report.steps_note = models.WhyExtrapolated(rates);
  Status status = FillStaged(*job.value(), job.value()->stages(), network_.networks(), report);
  if (!status.ok()) return status;
  return report;
}

}  // namespace headroom
