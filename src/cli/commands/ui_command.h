// `headroom ui TRACE`: serves the web page, on loopback, for traces or for a program that it
// records.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/subcommand.h"
#include "cli/inputs/open_job.h"
#include "cli/terminal/end_signals.h"
#include "serve/job_session.h"
#include "serve/live_session.h"
#include "serve/loopback.h"
#include "serve/run/repeated_run.h"

namespace headroom::cli {

class UiCommand : public Subcommand {
 public:
  explicit UiCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  /// Returns arguments with which the check commands of findings give the report's figures.
  std::vector<std::string> CheckArguments() const;
  std::vector<std::string> ForecastArguments(std::optional<double> measured_step_ms) const;
  /// @param trace             a file, or the folder of a job's ranks
  /// @param measured_step_ms  step time of `trace` without a profiler; nullopt: unknown
  Result<std::unique_ptr<JobSession>> Open(const std::string& trace,
                                           std::optional<double> measured_step_ms) const;
  /// Opens all jobs. Returns the first, which refers to the others.
  Result<std::unique_ptr<JobSession>> OpenAll(const std::vector<std::string>& files) const;
  /// Returns true if --run recorded the job, so it is not a TRACE.
  bool IsRecordedHere(const std::vector<std::string>& files) const;

  /// Returns the functions with which a RepeatedRun records and shows a recording. If `live` is
  /// empty, opens the recording into `first`.
  RepeatedRun::Work WorkOf(std::optional<LiveSession>& live,
                           std::unique_ptr<JobSession>& first) const;
  /// Returns a new recording and the files that it is compared with: the job before it, and each
  /// TRACE.
  std::vector<std::string> FilesWith(const std::string& recording, const std::string& before) const;
  /// Records and opens the first recording. Returns false if an end signal comes before that.
  Result<bool> RunFirst(RepeatedRun& run, const EndSignals& signals) const;
  /// Serves requests until an end signal comes.
  Status Serve(LiveSession& live, RepeatedRun* run, HeldPort held_port,
               const EndSignals& signals) const;

  Command command_;
  std::vector<std::string> traces_;  ///< The job, and the traces that it is compared with.
  std::string run_;                  ///< Shell command line; empty without --run.
  int port_ = 0;
  bool open_ = false;
  JobOptions options_;
};

}  // namespace headroom::cli
