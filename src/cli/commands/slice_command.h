// `headroom slice`: writes some steps, a time range or one rank of a trace as a new trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/steps/steps.h"
#include "base/status.h"
#include "cli/flags/subcommand.h"
#include "export/slice_window.h"
#include "ingest/open_trace.h"
#include "store/trace_store.h"

namespace headroom::cli {

class SliceCommand : public Subcommand {
 public:
  explicit SliceCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  Result<StepAnalysis> StepsOf(const TraceStore& store) const;
  /// Returns the window that --steps or --time names. Without either, returns nullopt: the whole
  /// trace.
  Result<std::optional<SliceWindow>> FindWindow(const TraceStore& store) const;
  Result<SliceWindow> ReadSteps(const TraceStore& store) const;

  Command command_;
  std::vector<std::string> traces_;
  std::string steps_, time_, step_marker_, output_path_;
  std::optional<std::int64_t> rank_;
  OpenOptions open_;
  bool quiet_ = false;
};

}  // namespace headroom::cli
