// `headroom man`: the manual of the program and its commands.
#pragma once

#include <string>
#include <vector>

#include "cli/subcommand.h"

namespace headroom::cli {

class ManCommand : public Subcommand {
 public:
  explicit ManCommand(CLI::App& parent);

  const CLI::App& app() const override { return *app_; }
  Status Run() override;

 private:
  CLI::App& program_;
  CLI::App* app_;
  std::vector<std::string> command_;
  std::string folder_;
};

}  // namespace headroom::cli
