// `headroom baseline`: named profiles of jobs, for `headroom diff`.
#pragma once

#include <string>
#include <vector>

#include "cli/flags/subcommand.h"
#include "cli/inputs/open_job.h"

namespace headroom::cli {

class BaselineCommand : public Subcommand {
 public:
  explicit BaselineCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  Status Save() const;
  Status List() const;

  Command command_;
  Command save_;
  Command list_;
  std::string name_, folder_;
  std::vector<std::string> traces_;
  bool force_ = false, here_ = false, json_ = false;
  JobOptions options_;
};

}  // namespace headroom::cli
