// `headroom scale`: what a step takes on other numbers of GPUs, and what limits it there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/exchange_schedule.h"
#include "cli/gpu_choice.h"
#include "cli/network_choice.h"
#include "cli/open_job.h"
#include "cli/replayed_rank.h"
#include "cli/subcommand.h"
#include "cli/trace_files.h"
#include "report/scale_report.h"
#include "scale/scaling_curve.h"
#include "whatif/scenario.h"

namespace headroom::cli {

class ScaleCommand : public Subcommand {
 public:
  explicit ScaleCommand(CLI::App& parent);

  const CLI::App& app() const override { return *app_; }
  Status Run() override;

 private:
  /// What the flags say, beside the network.
  struct Question {
    double bucket_bytes = 0;
    ExchangeSchedule exchange = {};
    std::vector<ScenarioCall> changes = {};
  };
  Result<Question> ReadQuestion() const;
  /// Where the user asked for a size of buckets that nothing depends on.
  void RemarkOnBuckets(const std::string& why) const;
  /// Whether gradients are summed in buckets and nothing else is asked for, which is all that can
  /// be told where there is no graph of the job.
  static bool IsPlain(const Question& question);
  /// Of files that were recorded.
  Status AnswerForFiles(const TraceFiles& files, const Question& question,
                        ScaleReport& report) const;
  Status AnswerForTrace(OpenedTrace trace, const ReplayedRank& rank, const Question& question,
                        ScaleReport& report) const;
  /// Of a recording without GPU work: the host is the device.
  Status AnswerForLoop(const OpenedTrace& trace, const Question& question,
                       ScaleReport& report) const;
  /// Of --ops.
  Status AnswerForList(const Question& question, ScaleReport& report);
  Status CheckFlags(const TraceFiles& files) const;
  /// What the split makes of a traced job. Fails (kNoAnswer) where it cannot be told.
  Status SplitJob(const Job& job, std::int64_t recorded_gpus, std::optional<TracedLayers>& layers,
                  std::optional<TensorParallel>& sharing, PipelineStages& stages) const;
  /// As one stage or several.
  Status FillStaged(ScalableJob& job, PipelineStages stages, const Question& question,
                    const std::vector<NamedNetwork>& networks, ScaleReport& report) const;
  Status FillCurves(ScalableJob& job, const Question& question,
                    const std::vector<NamedNetwork>& networks, ScaleReport& report) const;

  CLI::App* app_;
  std::vector<std::string> traces_;
  std::string operators_path_, schedule_ = "ddp", changes_, output_path_;
  NetworkChoice network_;
  GpuChoice gpus_;
  double bucket_mb_ = 25;
  std::int64_t exchange_every_ = 1;
  ModelParallel split_;
  bool strong_ = false, list_ = false, json_ = false;
  JobOptions options_;
};

}  // namespace headroom::cli
