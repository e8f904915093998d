// An open trace: its report, computed once, and forecasts on request.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
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
#include "compare/job_profile.h"
#include "ingest/open_trace.h"
#include "predict/gpu_models.h"
#include "serve/timeline_answers.h"
#include "serve/trace_query.h"
#include "store/trace_store.h"
#include "whatif/calibrated_job.h"
#include "whatif/forecast.h"

namespace headroom {

class TraceSession {
 public:
  struct Options {
    AnalysisOptions analysis;  ///< Includes the path.
    /// Further recordings of the same process, which become part of the trace.
    std::vector<std::string> recordings = {};
    CalibrationFlags calibration;
    std::optional<double> measured_step_ms;
    /// Traces that contain the captures of its CUDA graphs.
    std::vector<std::string> captures = {};
    OpenOptions open = {};
    /// Flags that the report's check commands need to reproduce the figures.
    ReportOptions report = {};
  };

  /// Reads and analyses. Fails as OpenTrace(), AnalyzeTrace() and MakeCalibratedJob() do. If a
  /// replay is impossible, forecasts give the reason.
  static Result<std::unique_ptr<TraceSession>> Open(const Options& options);

  const std::string& path() const { return options_.analysis.path; }
  /// Returns the flags that make `headroom whatif` print the same forecasts.
  const std::vector<std::string>& forecast_arguments() const {
    return options_.report.forecast_arguments;
  }
  /// Returns headroom.report/1, as `headroom report --json` prints it.
  const std::string& ReportJson() const { return report_json_; }
  /// Returns the figures that a comparison requires, without a measured step: that is only known
  /// of one side. Fails (kNoAnswer) if no step is whole.
  Result<JobProfile> Profile() const;
  /// Returns the size of the trace's tables in memory.
  std::size_t MemoryBytes() const { return store_->MemoryBytes(); }
  /// Returns true if the trace has events of a program, a mark or a counter. Metrics of the machine
  /// alone do not count.
  bool HasWork() const;
  /// Returns headroom.whatif/1, as `headroom whatif --json` prints it: one row per scenario, in
  /// this order. Without scenarios, returns the ranking of all that apply. Fails (kUsage) with the
  /// error of a scenario. Replays one request at a time; other requests wait. Reports an invalid
  /// scenario without waiting.
  ///
  /// @param is_wanted  once it returns false, fails (kNoAnswer)
  Result<std::string> WhatifJson(const std::vector<std::string>& scenarios,
                                 const IsWanted& is_wanted = AlwaysWanted);
  /// Returns headroom.progress/1: the number of changes that the current or last ranking of
  /// WhatifJson() has replayed. Does not wait for it.
  std::string ProgressJson() const;
  TimelineAnswers& timeline() { return *timeline_; }
  TraceQuery& query() { return *query_; }
  struct PredictQuestion {
    std::vector<std::string> gpus;  ///< Empty: all known GPUs.
    bool only_current = false;      ///< Only IsCurrentGpu() and the recorded GPU.
    bool batch_curve = false;
  };
  /// Returns headroom.predict/1, as `headroom predict --json` prints it. Does not read paths in
  /// `plan`. Fails if the request is invalid or the trace lacks data.
  Result<std::string> PredictJson(const PredictQuestion& question, JobPlanQuestion plan);
  /// Returns headroom.scale/1, as `headroom scale --json` prints it. Accepts only known clusters,
  /// not files. Fails (kUsage) for an invalid request, and (kNoAnswer) once the client no longer
  /// waits.
  Result<std::string> ScaleJson(ScaleQuestion question, NetworkQuestion network);
  /// Returns headroom.data/1, as `headroom data --json` prints it, with a row for each change.
  /// `loader` is the loader's number from 1, ordered by the loop's wait. Fails if the request is
  /// invalid or the trace lacks data.
  Result<std::string> DataJson(std::int64_t loader, const std::vector<std::string>& changes);
  /// Returns headroom.source/1: the code at a `location` of the report's lines. Fails (kUsage) for
  /// another text, and as headroom::SourceJson() does.
  Result<std::string> SourceJson(const std::string& location) const;
  /// Returns headroom.metrics/1: counters over time.
  std::string MetricsJson() const;
  /// Returns headroom.gpus/1: the GPUs that PredictJson() accepts.
  Result<std::string> GpusJson();

 private:
  explicit TraceSession(Options options) : options_(std::move(options)) {}
  Status Read();
  Status Analyze();
  /// Reads the models at the first request.
  Result<const GpuModels*> Models();

  const Options options_;
  std::unique_ptr<ReferenceData> reference_;
  std::unique_ptr<TraceStore> store_;
  CalibratedJob job_;
  Status why_no_forecasts_;
  Status why_no_gpu_forecasts_;  ///< For forecasts that require GPU work.
  std::string report_json_;
  std::set<std::string> locations_;  ///< The locations of the report's lines.
  TimeNs trace_start_;               ///< Zero of the report's times.
  std::mutex mutex_;                 ///< Guards the job, which caches lookups, and the forecaster.
  std::optional<TimelineAnswers> timeline_;
  std::optional<TraceQuery> query_;
  std::optional<Forecaster> forecaster_;
  std::atomic<std::int64_t> ranked_ = 0;  ///< Changes of the current or last ranking.
  std::mutex models_mutex_;               ///< Guards the reading of the models.
  std::optional<GpuModels> models_;
  std::mutex data_mutex_;
  std::optional<DataAnswer> data_;
};

/// Returns headroom.scenarios/1: the catalogue, with the keys of each scenario and their values.
std::string RenderScenariosJson();
/// Returns headroom.clusters/1: the clusters that ScaleJson() accepts.
Result<std::string> RenderClustersJson();

}  // namespace headroom
