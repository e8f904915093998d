// `headroom completion`: prints a script with which a shell completes the commands.
#pragma once

#include <string>

#include "cli/flags/subcommand.h"

namespace headroom::cli {

class CompletionCommand : public Subcommand {
 public:
  explicit CompletionCommand(const Program& program);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  const Program& program_;
  Command command_;
  std::string shell_;
};

}  // namespace headroom::cli
