// `headroom ui TRACE`: the web page, on loopback.
#pragma once

#include <string>
#include <vector>

#include "cli/open_job.h"
#include "cli/subcommand.h"

namespace headroom::cli {

class UiCommand : public Subcommand {
 public:
  explicit UiCommand(CLI::App& parent);

  const CLI::App& app() const override { return *app_; }
  Status Run() override;

 private:
  /// What the report's check commands, and those of forecasts, need to give the same figures.
  std::vector<std::string> CheckArguments() const;
  std::vector<std::string> ForecastArguments() const;

  CLI::App* app_;
  std::string trace_;
  int port_ = 0;
  bool open_ = false;
  JobOptions options_;
};

}  // namespace headroom::cli
