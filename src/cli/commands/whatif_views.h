// What `headroom whatif` shows of the engine itself: the flags beside the forecasts.
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
  /// Whether a file or a gate was asked for, which an abstention is no answer to.
  bool Asked() const { return self_check_ || !graph_path_.empty() || !timeline_path_.empty(); }
  bool sweeps() const { return sweep_; }
  /// Of a trace without a graph: names the flag that needs one, and why there is none. REQUIRES:
  /// Asked().
  Status RefuseWithoutGraph(const std::string& trace, const Status& why) const;
  /// What can be refused before the trace is read. `inputs`: files that must not be overwritten.
  Status Check(const std::vector<std::string>& inputs,
               const std::vector<std::string>& scenarios) const;
  /// Of the job as it is: adds to the report, and writes files. The report has its path.
  Status Begin(const Job& job, SweepSharing& sharing, ForecastReport& report) const;
  /// Of the last forecast of the report. `plan`: its plan, where it applies.
  Status AddScenario(const Job& job, const EditedPlan& plan, ForecastReport& report) const;
  /// kGateFailed where a check of the report failed.
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
