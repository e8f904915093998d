// `headroom diff`: compares two runs of a job, and gates the change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/names/reference_data.h"
#include "cli/flags/subcommand.h"
#include "cli/inputs/open_job.h"
#include "compare/gate.h"
#include "compare/job_profile.h"

namespace headroom::cli {

class DiffCommand : public Subcommand {
 public:
  explicit DiffCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  Status CheckArguments() const;
  Result<std::vector<GateRule>> Rules() const;
  /// Reads one side with its repeated runs. A baseline already contains its repeated runs.
  Result<JobProfile> Read(const std::string& named, const std::vector<std::string>& also,
                          std::string_view flag, const ReferenceData& reference) const;

  Command command_;
  std::string a_, b_;
  std::vector<std::string> also_a_, also_b_, gates_, accepted_;
  std::string folder_, output_path_;
  bool json_ = false, full_ = false, markdown_ = false, allow_inconclusive_ = false, here_ = false;
  std::int64_t top_;
  std::optional<std::int64_t> max_bytes_;
  JobOptions options_;
};

}  // namespace headroom::cli
