// `headroom whatif TRACE [SCENARIO...]`: forecasts what a change would save.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/commands/whatif_views.h"
#include "cli/flags/subcommand.h"
#include "cli/inputs/open_job.h"
#include "render/escape.h"
#include "whatif/forecast_record.h"

namespace headroom::cli {

class WhatifCommand : public Subcommand {
 public:
  explicit WhatifCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;
  bool shares_work() const override { return true; }

 private:
  /// Does the work of the leading process.
  Status Lead(SweepSharing& sharing);
  /// Returns true if the text has all reasons, not one line per change.
  bool ShowsAll() const;
  /// Fails if the result would replace one of its inputs.
  Status CheckOutput(const std::vector<std::string>& inputs) const;
  /// Renders the answer for a trace that cannot be replayed.
  std::string RenderNoAnswer(const Status& status, const PageStyle& style) const;
  /// Adds the forecasts that apply to the ledger.
  Status Save(const Job& job, const ForecastReport& report, ForecastRecord& record) const;
  Status Score();
  Status ListScores() const;
  /// Fails with kUsage if AFTER is unlikely to be the same job as BEFORE.
  Status RefuseOtherJob(const Job& after) const;

  Command command_;
  std::string trace_;
  std::vector<std::string> scenarios_;
  bool list_ = false;
  WhatifViews views_;
  bool full_ = false;
  bool json_ = false;
  std::string output_path_;
  bool save_ = false;
  std::pair<std::string, std::string> score_;  ///< Before and after; empty without --score.
  bool scores_ = false;
  JobOptions options_;
};

}  // namespace headroom::cli
