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
  bool explains() const { return explain_; }
  bool sweeps() const { return sweep_; }
  bool checks() const { return self_check_; }
  /// Of a trace without a graph: names the flag that needs one, and why there is none. REQUIRES:
  /// Asked().
  Status RefuseWithoutGraph(const std::string& trace, const Status& why) const;
  /// What can be refused before the trace is read. `inputs`: files that must not be overwritten.
  Status Check(const std::vector<std::string>& inputs,
               const std::vector<std::string>& scenarios) const;
  /// Writes the files of the job as it is.
  Status WriteJob(const Job& job, const std::string& trace,
                  const std::vector<std::string>& scenarios) const;
  /// Writes the timeline of a scenario. Fails (kUsage) if it does not apply.
  ///
  /// @param plan  of the forecast, where it applies
  Status WriteScenario(const Job& job, const Forecast& forecast, const EditedPlan& plan) const;
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
