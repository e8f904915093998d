#include "serve/trace_session.h"

#include <string_view>
#include <utility>

#include "analysis/analyzed_trace.h"
#include "report/forecast_answer.h"
#include "report/forecast_report.h"
#include "report/json_report.h"
#include "report/json_writer.h"
#include "whatif/finding_forecasts.h"

namespace headroom {
namespace {

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
  Result<std::unique_ptr<Knowledge>> knowledge = Knowledge::LoadBuiltIn();
  if (!knowledge.ok()) return knowledge.status();
  knowledge_ = std::move(knowledge).value();
  Result<std::unique_ptr<TraceStore>> store = OpenTrace(path(), options_.open);
  if (!store.ok()) return store.status();
  store_ = std::move(store).value();
  return Status::Ok();
}

Status TraceSession::Analyze() {
  NameFacts names(*store_, *knowledge_);
  Result<AnalyzedTrace> trace = AnalyzeTrace(*store_, *knowledge_, names, options_.analysis);
  if (!trace.ok()) return trace.status();
  TraceReport report = std::move(trace.value().report);
  trace.value().attribution.reset();  // The forecasts need memory of their own.
  Result<ChosenCalibration> chosen = ChooseCalibration(options_.calibration, *store_);
  if (!chosen.ok()) return chosen.status();
  const HostTruth truth = {.calibration = std::move(chosen.value().calibration),
                           .from = std::move(chosen.value().from),
                           .measured_step_ms = options_.measured_step_ms};
  if (Status status = ForecastFindings(*store_, *knowledge_, truth, report); !status.ok())
    return status;
  report_json_ = RenderJson(std::span(&report, 1), options_.report);
  Result<CalibratedJob> job = MakeCalibratedJob(*store_, *knowledge_, options_.analysis,
                                                options_.calibration, options_.measured_step_ms);
  why_no_forecasts_ = job.ok() ? job.value().forecasts : job.status();
  if (!job.ok() && job.status().code() != StatusCode::kNoAnswer) return job.status();
  if (!why_no_forecasts_.ok()) return Status::Ok();
  job_ = std::move(job).value();
  forecaster_.emplace(*job_.job);
  return Status::Ok();
}

Result<std::string> TraceSession::WhatifJson(const std::vector<std::string>& scenarios) {
  const Result<std::vector<std::vector<ScenarioCall>>> calls = ParseScenarios(scenarios);
  if (!calls.ok()) return calls.status();
  if (!forecaster_) return RenderForecastJson(AnswerWithout(path(), why_no_forecasts_, scenarios));
  const Result<ForecastRecord> record = ForecastRecord::Open(options_.calibration.no_local_state);
  if (!record.ok()) return record.status();
  const std::lock_guard<std::mutex> lock(mutex_);
  const ForecastSource source = {
      .path = path(), .calibration = job_.calibration, .note = job_.note};
  return RenderForecastJson(
      AnswerForecasts(*job_.job, source, scenarios, calls.value(), record.value(), *forecaster_));
}

std::string RenderScenariosJson() {
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.scenarios/1");
  json.Key("scenarios").BeginArray(JsonWriter::Layout::kLines);
  for (const Scenario& scenario : Catalogue()) {
    json.BeginObject();
    json.Key("name").String(scenario.name);
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
