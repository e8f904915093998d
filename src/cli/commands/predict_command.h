// `headroom predict`: predicts a step on another GPU.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "answers/predict/answer.h"
#include "answers/predict/job_plan.h"
#include "cli/flags/subcommand.h"
#include "cli/inputs/gpu_choice.h"
#include "cli/inputs/open_job.h"
#include "kernels/device_rates.h"

namespace headroom::cli {

class PredictCommand : public Subcommand {
 public:
  explicit PredictCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  Status CheckFlags() const;
  void RemarkOnUnused(std::span<const DeviceRates> used) const;
  Status PredictTable() const;
  Status AddLists(PredictAnswer& answer) const;
  /// Returns true if the text shows current GPUs only.
  bool ShowsCurrentGpus() const;
  Status AddTrace(const std::string& trace, std::span<const DeviceRates> targets,
                  PredictAnswer& answer) const;

  Command command_;
  std::vector<std::string> traces_;
  std::string operators_path_, table_path_, from_, to_, output_path_, timeline_path_;
  GpuChoice gpus_;
  JobPlanQuestion plan_;
  std::string change_;  ///< --with.
  std::string host_us_per_kernel_ = "cloud";
  double host_factor_ = 1;
  bool json_ = false, batch_curve_ = false, full_ = false;
  JobOptions options_;
};

}  // namespace headroom::cli
