// State shared by all objects of one trace: the trace in memory, and its job.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/names/reference_data.h"
#include "query/table_module.h"
#include "store/trace_store.h"
#include "whatif/calibrated_job.h"
#include "whatif/forecast.h"

namespace headroom::python {

/// The analyzed steps of a trace, and its rank.
struct StepOptions {
  std::optional<std::pair<std::int64_t, std::int64_t>>
      steps;  ///< First and last number, inclusive.
  std::string step_marker;
  std::optional<std::int64_t> rank;
};

/// Options with the meaning of the flags of `headroom report` and `headroom whatif`.
struct JobOptions {
  StepOptions steps;
  std::optional<double> measured_step_ms;
  CalibrationFlags calibration;
};

/// A trace file in memory. Immutable; any number of threads may read it.
class Trace {
 public:
  /// Reads the file. Throws StatusError. Slow: call it without the GIL.
  explicit Trace(std::string path);

  const std::string& path() const { return path_; }
  const TraceStore& store() const { return *store_; }
  const ReferenceData& reference() const { return *reference_; }
  /// Tables shared by SQL and Python. Created at first use; does not need the GIL.
  QueryTables& tables() const;
  /// Returns the object of `headroom report --json`.
  std::string ReportJson(const JobOptions& options) const;

 private:
  std::string path_;
  std::unique_ptr<ReferenceData> reference_;
  std::unique_ptr<TraceStore> store_;
  mutable std::once_flag tables_made_;
  mutable std::unique_ptr<QueryTables> tables_;
};

/// Value in columns of step numbers: the task is in no step.
inline constexpr std::int64_t kNoStep = -1;

/// The job of a trace with its forecasts. Python's graphs of one job, and the arrays that refer to
/// it, keep it alive.
///
/// Requires Lock() for access, because reads fill name caches. A thread that holds the lock never
/// waits for the GIL.
class Recording {
 public:
  /// Throws StatusError. Call it without the GIL.
  Recording(std::shared_ptr<const Trace> trace, const JobOptions& options);

  std::unique_lock<std::mutex> Lock() const { return std::unique_lock(mutex_); }
  const Trace& trace() const { return *trace_; }
  const Job& job() const { return *job_.job; }
  /// Step time in ms, without the profiler.
  double step_ms() const { return step_ms_; }
  const std::string& calibration() const { return job_.calibration; }
  /// By task: the next GPU task on its stream, in the graph's order; kNoTask: none.
  const std::vector<TaskIndex>& next_on_stream() const { return next_on_stream_; }
  /// By task: the trace's own number of the step in which it was called or launched; -1: none.
  const std::vector<std::int64_t>& step_numbers() const { return step_numbers_; }
  /// By task: the first GPU task on its stream.
  const std::vector<TaskIndex>& first_on_stream() const { return first_on_stream_; }

  /// Returns the object of `headroom whatif --json`; without scenarios, all that apply, ranked.
  /// Throws StatusError. Locks; call it without the GIL.
  std::string WhatifJson(const std::vector<std::string>& scenarios) const;

 private:
  void FollowStreams();

  std::shared_ptr<const Trace> trace_;
  CalibratedJob job_;
  bool local_state_;
  double step_ms_ = 0;
  std::vector<TaskIndex> next_on_stream_, first_on_stream_;
  std::vector<std::int64_t> step_numbers_;
  mutable std::mutex mutex_;
  mutable std::optional<Forecaster> forecaster_;  ///< Created at the first forecast.
};

}  // namespace headroom::python
