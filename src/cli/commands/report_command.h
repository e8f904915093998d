// `headroom report TRACE...`: reports what limits the job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answers/report/shown_row.h"
#include "cli/flags/subcommand.h"
#include "cli/inputs/file_report.h"
#include "cli/inputs/read_job.h"
#include "cli/inputs/trace_files.h"
#include "cli/terminal/resource_log.h"
#include "distributed/shared_reading.h"
#include "ranks/job_ranks.h"
#include "whatif/calibration/calibration_choice.h"

namespace headroom::cli {

class ReportCommand : public Subcommand {
 public:
  explicit ReportCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;
  bool shares_work() const override { return true; }

 private:
  /// Fails if an output would replace a trace.
  Status CheckOutputs() const;
  /// Returns the options of the report on each file, from the flags.
  Result<FileRequest> MakeRequest() const;
  /// Does the work of the leading process.
  Status Report(SharedReading& reading, FileRequest& request);
  /// Keeps only the rank that the user asked for.
  Status KeepRank(std::vector<TraceReport>& files) const;
  /// Does all the work of --html, because the page makes its own queries.
  Status WritePage();
  /// Shows the row that --show names.
  Status ShowRow(const std::vector<TraceReport>& files, const CallsByPath& calls,
                 const ReportOptions& options) const;
  Status Render(const std::vector<TraceReport>& files, const CallsByPath& calls,
                const JobRanks* ranks);
  /// @param reports  number of rendered reports
  std::vector<std::string> CheckArguments(std::size_t reports) const;
  std::vector<std::string> ForecastArguments() const;

  Command command_;
  ResourceLog log_;

  // Flags as given.
  std::vector<std::string> traces_;
  TraceFiles files_;  ///< The files of `traces_`.
  bool full_ = false;
  bool json_ = false;
  bool markdown_ = false;
  std::optional<std::int64_t> max_bytes_;
  std::string csv_folder_;
  std::string html_path_;
  std::string output_path_;
  std::string steps_;
  std::string step_marker_;
  std::string capture_;
  std::optional<std::int64_t> rank_;
  std::optional<std::int64_t> top_;
  std::optional<double> measured_step_ms_;
  CalibrationFlags calibration_;
  std::string only_;
  std::string show_;
  bool quiet_ = false;
  bool time_ = false;
  std::optional<int> threads_;
  ExpansionLimit expansion_;
  std::int64_t max_event_mb_ = 0;
  std::string color_ = "auto";
};

}  // namespace headroom::cli
