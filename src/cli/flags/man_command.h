// `headroom man`: prints the manual pages of the program and its commands.
#pragma once

#include <string>
#include <vector>

#include "cli/flags/subcommand.h"

namespace headroom::cli {

class ManCommand : public Subcommand {
 public:
  explicit ManCommand(const Program& program);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  const Program& program_;
  Command command_;
  std::vector<std::string> asked_;
  std::string folder_;
};

}  // namespace headroom::cli
