// `headroom whatif TRACE [SCENARIO...]`: what a change would buy.
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
  /// All that the leading process does.
  Status Lead(SweepSharing& sharing);
  /// Refuses to write the result over a file that it comes from.
  /// Whether the text has all reasons, not one line a change.
  bool ShowsAll() const;
  Status CheckOutput(const std::vector<std::string>& inputs) const;
  /// For a trace of which nothing can be replayed.
  std::string RenderNoAnswer(const Status& status, const PageStyle& style) const;
  /// Adds the forecasts that apply to the ledger.
  Status Save(const Job& job, const ForecastReport& report, ForecastRecord& record) const;
  Status Score();
  Status ListScores() const;
  /// Fails (kUsage) where the job behind AFTER can hardly be that of BEFORE.
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
  std::pair<std::string, std::string> score_;  ///< Before and after; empty: not asked for.
  bool scores_ = false;
  JobOptions options_;
};

}  // namespace headroom::cli
