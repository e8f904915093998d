// `headroom report TRACE...`: what holds the job back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output.h"
#include "cli/resource_log.h"
#include "cli/subcommand.h"

namespace headroom::cli {

/// Steps with first <= index <= last; an absent end is open.
struct StepRange {
  std::optional<std::int64_t> first, last;
};

/// "A:B", "A:" or ":B" with A <= B, both >= 0.
Result<StepRange> ParseStepRange(std::string_view text);

class ReportCommand : public Subcommand {
 public:
  explicit ReportCommand(CLI::App& parent);

  const CLI::App& app() const override { return *app_; }
  Status Run() override;

 private:
  /// Fails where an output would replace a trace.
  Status CheckOutputs() const;
  Result<std::vector<TraceReport>> ReadAndAnalyze(const StepRange& steps);
  /// Leaves the rank that the user asked for.
  Status KeepRank(std::vector<TraceReport>& files) const;
  Status Render(const std::vector<TraceReport>& files);
  std::vector<std::string> CheckArguments(const std::vector<TraceReport>& files) const;

  CLI::App* app_;
  ResourceLog log_;

  // Flags as given.
  std::vector<std::string> traces_;
  bool json_ = false;
  bool markdown_ = false;
  std::string csv_folder_;
  std::string output_path_;
  std::string steps_;
  std::string step_marker_;
  std::optional<std::int64_t> rank_;
  std::optional<std::int64_t> top_;
  std::string only_;
  bool quiet_ = false;
  bool time_ = false;
  int threads_ = 0;
  std::int64_t max_expansion_ = 0;
  std::int64_t max_event_mb_ = 0;
  std::string color_ = "auto";
};

}  // namespace headroom::cli
