// A trace that is open for questions: its report once, and forecasts as often as one asks.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analyze.h"
#include "analysis/names/reference_data.h"
#include "answers/data/answer.h"
#include "answers/predict/job_plan.h"
#include "answers/report/job_report.h"
#include "answers/scale/answer.h"
#include "answers/scale/network_choice.h"
#include "base/status.h"
#include "base/wanted.h"
#include "ingest/open_trace.h"
#include "predict/gpu_models.h"
#include "serve/timeline_answers.h"
#include "store/trace_store.h"
#include "whatif/calibrated_job.h"
#include "whatif/forecast.h"

namespace headroom {

class TraceSession {
 public:
  struct Options {
    AnalysisOptions analysis;  ///< With the path.
    CalibrationFlags calibration;
    std::optional<double> measured_step_ms;
    std::vector<std::string> captures = {};  ///< Traces that hold the captures of its graphs.
    OpenOptions open = {};
    /// What the report's check commands need to give the same figures.
    ReportOptions report = {};
  };

  /// Reads and analyses. Fails as OpenTrace(), AnalyzeTrace() and MakeCalibratedJob() do; where
  /// nothing can be replayed, forecasts say why.
  static Result<std::unique_ptr<TraceSession>> Open(const Options& options);

  /// Another trace, which is told of by its report alone.
  struct Other {
    std::string path;
    std::string report_json;
    /// What changed is told from it to the job; else from the job to it.
    bool is_earlier = false;
  };
  /// Before anything is asked.
  void CompareWith(std::vector<Other> others) { others_ = std::move(others); }

  const std::string& path() const { return options_.analysis.path; }
  /// headroom.report/1, as `headroom report --json` prints it.
  const std::string& ReportJson() const { return report_json_; }
  /// The same of the `trace`-th, the first being this one. Fails (kUsage) where there is none.
  Result<std::string> ReportJson(std::int64_t trace) const;
  /// Whether there is anything of a program, a mark or a counter, too: metrics of the machine alone
  /// are nothing.
  bool HasWork() const;
  /// headroom.traces/1: what ReportJson() can tell of.
  std::string TracesJson() const;
  /// headroom.whatif/1, as `headroom whatif --json` prints it: one row a scenario, in this order;
  /// without any, the ranking of all that apply. Fails (kUsage) with what is wrong with a scenario.
  /// One question at a time is replayed, and others wait; what is wrong with one is said at once.
  ///
  /// @param is_wanted  once it says no, fails (kNoAnswer)
  Result<std::string> WhatifJson(const std::vector<std::string>& scenarios,
                                 const IsWanted& is_wanted = AlwaysWanted);
  TimelineAnswers& timeline() { return *timeline_; }
  /// headroom.predict/1, as `headroom predict --json` prints it, of these GPUs; without any, of all
  /// that are known. Paths in `plan` are not read. Fails with what is wrong with the question, or
  /// what the trace lacks.
  Result<std::string> PredictJson(const std::vector<std::string>& gpus, JobPlanQuestion plan,
                                  bool batch_curve);
  /// headroom.scale/1, as `headroom scale --json` prints it. A cluster is one of those that are
  /// known, no file. Fails (kUsage) with what is wrong with the question; (kNoAnswer) once nobody
  /// waits for it.
  Result<std::string> ScaleJson(ScaleQuestion question, NetworkQuestion network);
  /// headroom.data/1, as `headroom data --json` prints it, of the `loader`-th by how long the loop
  /// waited for it, with a row for each change. Fails with what is wrong with the question, or what
  /// the trace lacks.
  Result<std::string> DataJson(std::int64_t loader, const std::vector<std::string>& changes);
  /// headroom.metrics/1: counters over time.
  std::string MetricsJson() const;
  /// headroom.gpus/1: what PredictJson() takes.
  Result<std::string> GpusJson();

 private:
  explicit TraceSession(Options options) : options_(std::move(options)) {}
  Status Read();
  Status Analyze();
  /// Read when they are first asked for.
  Result<const GpuModels*> Models();

  const Options options_;
  std::unique_ptr<ReferenceData> reference_;
  std::unique_ptr<TraceStore> store_;
  CalibratedJob job_;
  Status why_no_forecasts_;
  std::string report_json_;
  TimeNs trace_start_;  ///< Zero of the report's times.
  std::vector<Other> others_;
  std::mutex mutex_;  ///< Of the job, which keeps what it looked up, and of the forecaster.
  std::optional<TimelineAnswers> timeline_;
  std::optional<Forecaster> forecaster_;
  std::mutex models_mutex_;  ///< Of their reading.
  std::optional<GpuModels> models_;
  std::mutex data_mutex_;
  std::optional<DataAnswer> data_;
};

/// headroom.scenarios/1: the catalogue, with the keys of each scenario and what they may be.
std::string RenderScenariosJson();
/// headroom.clusters/1: the clusters that ScaleJson() takes.
Result<std::string> RenderClustersJson();

}  // namespace headroom
