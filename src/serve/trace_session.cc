#include "serve/trace_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "answers/data/render.h"
#include "answers/diff/answer.h"
#include "answers/predict/answer.h"
#include "answers/predict/render.h"
#include "answers/report/answer.h"
#include "answers/report/json.h"
#include "answers/whatif/answer.h"
#include "answers/whatif/render.h"
#include "network/topology.h"
#include "render/escape.h"
#include "render/json_writer.h"
#include "serve/join_capture_files.h"
#include "serve/metrics_json.h"
#include "serve/open_recordings.h"
#include "serve/source_lines.h"

namespace headroom {
namespace {

Status Unwanted() { return Status::NoAnswer("the client no longer waits for the answer"); }

std::string_view NameOf(KeyKind kind) {
  switch (kind) {
    case KeyKind::kFactor:
      return "factor";
    case KeyKind::kCount:
      return "count";
    case KeyKind::kChoice:
      return "choice";
    case KeyKind::kRegex:
      return "regex";
  }
  return "";
}

}  // namespace

Result<std::unique_ptr<TraceSession>> TraceSession::Open(const Options& options) {
  std::unique_ptr<TraceSession> session(new TraceSession(options));
  if (Status status = session->Read(); !status.ok()) return status;
  if (Status status = session->Analyze(); !status.ok()) return status;
  return session;
}

Status TraceSession::Read() {
  Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
  if (!reference.ok()) return reference.status();
  reference_ = std::move(reference).value();
  Result<std::unique_ptr<TraceStore>> store = OpenTrace(path(), options_.open);
  if (!store.ok()) return store.status();
  if (!options_.recordings.empty()) {
    store = OpenRecordings(path(), std::move(store).value(), options_.recordings,
                           [&](const std::string& file) { return OpenTrace(file, options_.open); });
    if (!store.ok()) return store.status();
  }
  store_ = std::move(store).value();
  return JoinCaptureFiles(*store_, *reference_, options_.captures, options_.open);
}

Status TraceSession::Analyze() {
  Result<TraceReport> answer = AnswerReport(*store_, *reference_,
                                            {.analysis = options_.analysis,
                                             .calibration = options_.calibration,
                                             .measured_step_ms = options_.measured_step_ms});
  if (!answer.ok()) return answer.status();
  TraceReport& report = answer.value();
  if (!options_.recordings.empty()) MarkRecordings(options_.recordings.size(), report);
  data_.emplace(*store_, path(), LoopViewOf(report, *store_));
  trace_start_ = report.trace_start;
  report_json_ = RenderJson(std::span(&report, 1), options_.report);
  for (const LineRow& line : report.lines) locations_.insert(line.location);
  Result<CalibratedJob> job = MakeCalibratedJob(*store_, *reference_, options_.analysis,
                                                options_.calibration, options_.measured_step_ms);
  why_no_forecasts_ = job.ok() ? job.value().forecasts : job.status();
  if (!job.ok() && job.status().code() != StatusCode::kNoAnswer) return job.status();
  if (why_no_forecasts_.ok()) {
    job_ = std::move(job).value();
    forecaster_.emplace(*job_.job);
    why_no_gpu_forecasts_ = job_.job->RequireGpuWork();
  } else {
    why_no_gpu_forecasts_ = why_no_forecasts_;
  }
  query_.emplace(*store_);
  timeline_.emplace(*store_, *reference_, std::move(report.steps.list),
                    why_no_gpu_forecasts_.ok() ? job_.job.get() : nullptr, mutex_);
  return Status::Ok();
}

Result<JobProfile> TraceSession::Profile() const {
  Result<ProfiledTrace> profiled =
      ProfileTrace(*store_, path(), *reference_,
                   {.analysis = options_.analysis, .calibration = options_.calibration});
  if (!profiled.ok()) return profiled.status();
  std::vector<ProfiledTrace> runs;
  runs.push_back(std::move(profiled).value());
  return JoinTraces(std::move(runs));
}

Result<std::string> TraceSession::SourceJson(const std::string& location) const {
  if (!locations_.contains(location))
    return Status::Usage(fmt::format("{}: the trace has no such line", Printable(location)));
  return headroom::SourceJson(location, path());
}

std::string TraceSession::MetricsJson() const {
  return RenderMetricsJson(*store_, timeline_->steps(), trace_start_);
}

bool TraceSession::HasWork() const {
  // The recorder's tracks about itself and the machine have no process.
  const auto has_process = [this](ThreadId thread) {
    return !store_->Text(store_->processes.pid[store_->threads.process[thread.index()].index()])
                .empty();
  };
  const auto tells = [&](const auto& points) {
    for (std::size_t row = 0; row < points.rows(); ++row) {
      if (has_process(points.thread[row])) return true;
    }
    return false;
  };
  return store_->host_events.rows() > 0 || store_->gpu_tasks.rows() > 0 ||
         tells(store_->instants) || tells(store_->counters);
}

Result<std::string> TraceSession::WhatifJson(const std::vector<std::string>& scenarios,
                                             const IsWanted& is_wanted) {
  const Result<std::vector<std::vector<ScenarioCall>>> calls = ParseScenarios(scenarios);
  if (!calls.ok()) return calls.status();
  if (!forecaster_) return RenderForecastJson(AnswerWithout(path(), why_no_forecasts_, scenarios));
  const Result<ForecastRecord> record = ForecastRecord::Open(options_.calibration.no_local_state);
  if (!record.ok()) return record.status();
  const std::lock_guard<std::mutex> lock(mutex_);
  const ForecastSource source = {
      .path = path(), .calibration = job_.calibration, .note = job_.note};
  if (scenarios.empty()) ranked_ = 0;
  const IsWanted counts = [&] {  // Asked before each change of a ranking.
    ++ranked_;
    return is_wanted();
  };
  Result<ForecastReport> report =
      AnswerForecasts(*job_.job, source,
                      {.scenarios = scenarios,
                       .calls = calls.value(),
                       .is_wanted = scenarios.empty() ? counts : is_wanted},
                      *forecaster_);
  if (!report.ok()) return report.status();
  if (!is_wanted()) return Unwanted();
  AdjustIntervals(*job_.job, record.value(), report.value());
  return RenderForecastJson(report.value());
}

std::string TraceSession::ProgressJson() const {
  const std::int64_t ranked = std::ranges::count_if(
      Catalogue(), [](const Scenario& scenario) { return !scenario.by_name_only; });
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("headroom.progress/1");
  json.Key("done").Integer(std::min(ranked_.load(), ranked));
  json.Key("of").Integer(ranked);
  json.EndObject();
  return std::move(json).Take();
}

Result<const GpuModels*> TraceSession::Models() {
  const std::lock_guard<std::mutex> lock(models_mutex_);
  if (!models_) {
    Result<GpuModels> models = GpuModels::Load({}, std::nullopt);
    if (!models.ok()) return models.status();
    models_ = std::move(models).value();
  }
  return &*models_;
}

Result<std::string> TraceSession::PredictJson(const PredictQuestion& question,
                                              JobPlanQuestion plan) {
  if (Status status = plan.Check(); !status.ok()) return status;
  plan.prices_path.clear();
  plan.carbon_path.clear();
  const Result<const GpuModels*> models = Models();
  if (!models.ok()) return models.status();
  Result<std::vector<DeviceRates>> targets = question.gpus.empty()
                                                 ? models.value()->All(nullptr)
                                                 : models.value()->AllNamed(question.gpus);
  if (!targets.ok()) return targets.status();
  Result<PredictAnswer> answer =
      PredictAnswer::Make(*models.value(), std::move(targets).value(), std::move(plan));
  if (!answer.ok()) return answer.status();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (why_no_gpu_forecasts_.code() == StatusCode::kNoAnswer) {
    answer.value().AddAbstention(path(), why_no_gpu_forecasts_.message());
  } else if (!why_no_gpu_forecasts_.ok()) {
    return why_no_gpu_forecasts_;
  } else {
    const Result<DeviceRates> source = SourceGpuOf(*models.value(), *job_.job, path(), "");
    if (!source.ok()) return source.status();
    Status status = answer.value().AddTrace(*job_.job, *forecaster_, job_.note, source.value(),
                                            {.trace = path(),
                                             .batch_curve = question.batch_curve,
                                             .only_current = question.only_current});
    if (!status.ok()) return status;
  }
  return RenderPredictJson(std::move(answer.value()).Finish());
}

Result<std::string> TraceSession::ScaleJson(ScaleQuestion question, NetworkQuestion network) {
  if (!network.cluster.empty()) {
    const Result<std::vector<Topology>> clusters = LoadBuiltInTopologies();
    if (!clusters.ok()) return clusters.status();
    const auto named = [&](const Topology& cluster) { return cluster.name == network.cluster; };
    // A path would let any client make the server read a file.
    if (std::none_of(clusters.value().begin(), clusters.value().end(), named)) {
      std::string names;
      for (const Topology& cluster : clusters.value())
        names += (names.empty() ? "" : ", ") + cluster.name;
      return Status::Usage(fmt::format("unknown cluster '{}'; known clusters: {}",
                                       Printable(network.cluster, Charset::kAscii), names));
    }
  }
  Result<NetworkChoice> networks = NetworkChoice::Make(std::move(network));
  if (!networks.ok()) return networks.status();
  const IsWanted is_wanted = question.is_wanted;
  const Result<ScaleAnswer> answer =
      ScaleAnswer::Make(std::move(question), std::move(networks).value());
  if (!answer.ok()) return answer.status();
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto ask = [&]() -> Result<ScaleReport> {
    if (store_->gpu_tasks.rows() == 0)
      return answer.value().OfLoop(*store_, *reference_, options_.analysis);
    if (!why_no_gpu_forecasts_.ok())
      return answer.value().Without(path(), why_no_gpu_forecasts_.message());
    return answer.value().OfTrace(
        *job_.job, *forecaster_,
        {.path = path(), .calibration = job_.calibration, .note = job_.note}, {});
  };
  const Result<ScaleReport> report = ask();
  if (!report.ok()) return report.status();
  if (!is_wanted()) return Unwanted();
  return RenderScaleJson(report.value());
}

Result<std::string> TraceSession::DataJson(std::int64_t loader,
                                           const std::vector<std::string>& changes) {
  const Result<std::vector<NamedLoadingChange>> parsed = ParseLoadingChanges(changes);
  if (!parsed.ok()) return parsed.status();
  const std::lock_guard<std::mutex> lock(data_mutex_);
  const Result<DataReport> report = data_->Ask(loader, parsed.value());
  if (!report.ok()) return report.status();
  return RenderDataJson(report.value());
}

Result<std::string> TraceSession::GpusJson() {
  const Result<const GpuModels*> models = Models();
  if (!models.ok()) return models.status();
  std::string recorded;
  if (why_no_gpu_forecasts_.ok()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Result<DeviceRates> source = SourceGpuOf(*models.value(), *job_.job, path(), "");
    if (source.ok()) recorded = source.value().device->short_name;
  }
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.gpus/1");
  json.Key("gpus").BeginArray(JsonWriter::Layout::kLines);
  for (const DeviceRates& rates : models.value()->All(nullptr)) {
    const DeviceSpec& device = *rates.device;
    json.BeginObject();
    json.Key("gpu").String(device.short_name);
    json.Key("name").String(device.name);
    json.Key("vendor").String(device.vendor);
    json.Key("architecture").String(device.architecture);
    json.Key("memory_bytes").Number(device.memory_bytes);
    json.Key("memory_type").StringOrNull(device.memory_type);
    json.Key("tdp_w").Number(device.tdp_w);
    json.Key("recorded").Bool(device.short_name == recorded);
    json.Key("current").Bool(IsCurrentGpu(device.short_name));
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Take();
}

Result<std::string> RenderClustersJson() {
  const Result<std::vector<Topology>> clusters = LoadBuiltInTopologies();
  if (!clusters.ok()) return clusters.status();
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.clusters/1");
  json.Key("clusters").BeginArray(JsonWriter::Layout::kLines);
  for (const Topology& cluster : clusters.value()) {
    json.BeginObject();
    json.Key("cluster").String(cluster.name);
    json.Key("description").String(cluster.description);
    json.Key("gpus_per_node").Integer(cluster.gpus_per_node);
    json.Key("nodes_at_most").Integer(cluster.nodes_at_most);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Take();
}

std::string RenderScenariosJson() {
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.scenarios/1");
  json.Key("scenarios").BeginArray(JsonWriter::Layout::kLines);
  for (const Scenario& scenario : Catalogue()) {
    json.BeginObject();
    json.Key("name").String(scenario.name);
    json.Key("title").String(scenario.title);
    json.Key("group").String(NameOf(scenario.group));
    json.Key("summary").String(scenario.summary);
    json.Key("ranked").Bool(!scenario.by_name_only);
    json.Key("keys").BeginArray();
    for (const ScenarioKey& key : scenario.keys) {
      json.BeginObject();
      json.Key("name").String(key.name);
      json.Key("kind").String(NameOf(key.kind));
      json.Key("choices").StringOrNull(key.choices);
      json.Key("otherwise").StringOrNull(key.otherwise);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace headroom
