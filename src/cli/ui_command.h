// `headroom ui TRACE`: the web page, on loopback.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/open_job.h"
#include "cli/subcommand.h"
#include "serve/trace_session.h"

namespace headroom::cli {

class UiCommand : public Subcommand {
 public:
  explicit UiCommand(CLI::App& parent);

  const CLI::App& app() const override { return *app_; }
  Status Run() override;

 private:
  /// What the report's check commands, and those of forecasts, need to give the same figures.
  std::vector<std::string> CheckArguments() const;
  std::vector<std::string> ForecastArguments(std::optional<double> measured_step_ms) const;
  /// @param measured_step_ms  of that trace; nullopt: not known
  Result<std::unique_ptr<TraceSession>> Open(const std::string& trace,
                                             std::optional<double> measured_step_ms) const;
  /// All of them: the first, which knows the others.
  Result<std::unique_ptr<TraceSession>> OpenAll() const;

  CLI::App* app_;
  std::vector<std::string> traces_;  ///< The job, and those that it is compared with.
  int port_ = 0;
  bool open_ = false;
  JobOptions options_;
};

}  // namespace headroom::cli
