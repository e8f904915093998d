// Flags of `headroom whatif` that show the engine itself, in addition to the forecasts.
#pragma once

#include <string>
#include <vector>

#include "answers/whatif/render.h"
#include "base/status.h"
#include "cli/flags/command.h"
#include "distributed/sweep_sharing.h"
#include "whatif/job/job.h"

namespace headroom::cli {

class WhatifViews {
 public:
  void AddFlags(Command command);
  /// Returns true if the user asked for a file or a gate. A trace without a graph must then fail.
  bool Asked() const { return self_check_ || !graph_path_.empty() || !timeline_path_.empty(); }
  bool explains() const { return explain_; }
  bool sweeps() const { return sweep_; }
  bool checks() const { return self_check_; }
  /// Returns the error for a trace without a graph. The error names the flag that requires a graph,
  /// and the reason `why`. Requires Asked().
  Status RefuseWithoutGraph(const std::string& trace, const Status& why) const;
  /// Checks the flags before the trace is read. `inputs` are files that must not be overwritten.
  Status Check(const std::vector<std::string>& inputs,
               const std::vector<std::string>& scenarios) const;
  /// Writes the files of the unchanged job.
  Status WriteJob(const Job& job, const std::string& trace,
                  const std::vector<std::string>& scenarios) const;
  /// Writes the timeline of a scenario. Fails (kUsage) if it does not apply.
  ///
  /// @param plan  plan of `forecast`; not read unless the forecast applies
  Status WriteScenario(const Job& job, const Forecast& forecast, const EditedPlan& plan) const;
  /// Fails with kGateFailed if a check of the report failed.
  static Status Gate(const ForecastReport& report);

 private:
  Status WriteTimeline(const Job& job, const EditedPlan& plan, const std::string& scenario) const;

  bool explain_ = false;
  bool sweep_ = false;
  bool self_check_ = false;
  std::string graph_path_;
  std::string timeline_path_;
};

}  // namespace headroom::cli
