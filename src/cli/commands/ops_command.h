// `headroom ops`: lists the operators of a PyTorch module, without a GPU.
#pragma once

#include <string>

#include "cli/flags/subcommand.h"

namespace headroom::cli {

class OpsCommand : public Subcommand {
 public:
  explicit OpsCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  Command command_;
  std::string function_, optimizer_, output_path_ = "ops.csv", python_ = "python3";
  bool train_ = false;
};

}  // namespace headroom::cli
