// `headroom ui TRACE`: the web page, on loopback, of traces or of a program that it records.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/subcommand.h"
#include "cli/inputs/open_job.h"
#include "cli/terminal/end_signals.h"
#include "serve/live_session.h"
#include "serve/loopback.h"
#include "serve/repeated_run.h"
#include "serve/trace_session.h"

namespace headroom::cli {

class UiCommand : public Subcommand {
 public:
  explicit UiCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  /// What the report's check commands, and those of forecasts, need to give the same figures.
  std::vector<std::string> CheckArguments() const;
  std::vector<std::string> ForecastArguments(std::optional<double> measured_step_ms) const;
  /// @param measured_step_ms  of that trace; nullopt: not known
  Result<std::unique_ptr<TraceSession>> Open(const std::string& trace,
                                             std::optional<double> measured_step_ms) const;
  /// All of them: the first, which knows the others.
  Result<std::unique_ptr<TraceSession>> OpenAll(const std::vector<std::string>& files) const;
  /// Whether the job was recorded by --run, and is no TRACE.
  bool IsRecordedHere(const std::vector<std::string>& files) const;

  /// What a run does; `live` is empty until the first files are open, which `first` then gets.
  RepeatedRun::Work WorkOf(std::optional<LiveSession>& live,
                           std::unique_ptr<TraceSession>& first) const;
  /// A new recording, and what it is compared with: the job before it, and each TRACE.
  std::vector<std::string> FilesWith(const std::string& recording, const std::string& before) const;
  /// Records and opens what there is to begin with. False: a signal came first.
  Result<bool> RunFirst(RepeatedRun& run, const EndSignals& signals) const;
  /// Answers until a signal comes.
  Status Serve(LiveSession& live, RepeatedRun* run, HeldPort held_port,
               const EndSignals& signals) const;

  Command command_;
  std::vector<std::string> traces_;  ///< The job, and those that it is compared with.
  std::string run_;                  ///< A shell's command line; empty: none.
  int port_ = 0;
  bool open_ = false;
  JobOptions options_;
};

}  // namespace headroom::cli
