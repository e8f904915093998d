// `headroom scale`: forecasts the step at other GPU counts, and names what limits it.
#pragma once

#include <string>
#include <vector>

#include "answers/scale/answer.h"
#include "answers/scale/network_choice.h"
#include "answers/scale/render.h"
#include "cli/flags/subcommand.h"
#include "cli/inputs/gpu_choice.h"
#include "cli/inputs/open_job.h"
#include "cli/inputs/replayed_rank.h"
#include "cli/inputs/trace_files.h"

namespace headroom::cli {

class ScaleCommand : public Subcommand {
 public:
  explicit ScaleCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  /// Remarks that --bucket-mb has no effect, if the user set it.
  void RemarkOnBuckets(const std::string& why) const;
  /// Answers for recorded files. Leaves the report's path empty.
  Result<ScaleReport> AnswerForFiles(const TraceFiles& files, const ScaleAnswer& answer) const;
  Result<ScaleReport> AnswerForTrace(OpenedTrace trace, const ReplayedRank& rank,
                                     const ScaleAnswer& answer) const;
  /// Answers for the list of --ops.
  Result<ScaleReport> AnswerForList(const ScaleAnswer& answer);
  Status CheckFlags(const TraceFiles& files) const;

  Command command_;
  std::vector<std::string> traces_;
  std::string operators_path_, output_path_;
  NetworkQuestion network_;
  GpuChoice gpus_;
  ScaleQuestion question_;
  bool list_ = false, json_ = false;
  JobOptions options_;
};

}  // namespace headroom::cli
