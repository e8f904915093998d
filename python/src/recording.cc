#include "recording.h"

#include <algorithm>
#include <map>
#include <thread>

#include "answers/report/answer.h"
#include "answers/report/json.h"
#include "answers/whatif/answer.h"
#include "answers/whatif/render.h"
#include "errors.h"
#include "ingest/open_trace.h"
#include "whatif/forecast_record.h"

namespace headroom::python {
namespace {

AnalysisOptions AnalysisOf(const Trace& trace, const StepOptions& options) {
  AnalysisOptions analysis;
  analysis.path = trace.path();
  analysis.rank = options.rank;
  analysis.step_marker = options.step_marker;
  if (options.steps) {
    if (options.steps->first > options.steps->second)
      ThrowUsage("steps=(first, last): first must not exceed last");
    analysis.first_step = options.steps->first;
    analysis.last_step = options.steps->second;
  }
  return analysis;
}

}  // namespace

Trace::Trace(std::string path)
    : path_(std::move(path)), reference_(ValueOrThrow(ReferenceData::LoadBuiltIn())) {
  OpenOptions open;
  open.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  store_ = ValueOrThrow(OpenTrace(path_, open));
}

QueryTables& Trace::tables() const {
  std::call_once(tables_made_, [this] { tables_ = std::make_unique<QueryTables>(*store_); });
  return *tables_;
}

std::string Trace::ReportJson(const JobOptions& options) const {
  const TraceReport report =
      ValueOrThrow(AnswerReport(*store_, *reference_,
                                {.analysis = AnalysisOf(*this, options.steps),
                                 .calibration = options.calibration,
                                 .measured_step_ms = options.measured_step_ms}));
  return RenderJson({&report, 1}, {});
}

Recording::Recording(std::shared_ptr<const Trace> trace, const JobOptions& options)
    : trace_(std::move(trace)),
      job_(ValueOrThrow(MakeCalibratedJob(trace_->store(), trace_->reference(),
                                          AnalysisOf(*trace_, options.steps), options.calibration,
                                          options.measured_step_ms))),
      local_state_(!options.calibration.no_local_state),
      step_ms_(
          job().step_scale().Ms(job().corrected(), Replayer().Run(job().corrected()).step_ns)) {
  FollowStreams();
  step_numbers_.reserve(job().graph().tasks.size());
  for (TaskIndex task = 0; task < job().graph().tasks.size(); ++task)
    step_numbers_.push_back(job().StepNumberOf(task).value_or(kNoStep));
}

void Recording::FollowStreams() {
  const Graph& graph = job().graph();
  next_on_stream_.assign(graph.tasks.size(), kNoTask);
  first_on_stream_.assign(graph.tasks.size(), kNoTask);
  std::map<StreamId, std::pair<TaskIndex, TaskIndex>>
      ends;  // By stream: first and last task so far.
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    if (graph.tasks[task].kind != TaskKind::kGpu) continue;
    const StreamId stream = job().store().gpu_tasks.stream[graph.tasks[task].row];
    const auto [end, is_first] = ends.try_emplace(stream, task, task);
    if (!is_first) next_on_stream_[end->second.second] = task;
    end->second.second = task;
    first_on_stream_[task] = end->second.first;
  }
}

std::string Recording::WhatifJson(const std::vector<std::string>& scenarios) const {
  const std::vector<std::vector<ScenarioCall>> calls = ValueOrThrow(ParseScenarios(scenarios));
  if (!job_.forecasts.ok()) throw StatusError(job_.forecasts);
  const ForecastRecord record = ValueOrThrow(ForecastRecord::Open(!local_state_));
  const std::unique_lock lock = Lock();
  if (!forecaster_) forecaster_.emplace(job());
  const ForecastSource source = {
      .path = trace_->path(), .calibration = calibration(), .note = job_.note};
  ForecastReport report = ValueOrThrow(
      AnswerForecasts(job(), source, {.scenarios = scenarios, .calls = calls}, *forecaster_));
  AdjustIntervals(job(), record, report);
  return RenderForecastJson(report);
}

}  // namespace headroom::python
