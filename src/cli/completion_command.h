// `headroom completion`: a script by which a shell completes its commands.
#pragma once

#include <string>

#include "cli/subcommand.h"

namespace headroom::cli {

class CompletionCommand : public Subcommand {
 public:
  explicit CompletionCommand(CLI::App& parent);

  const CLI::App& app() const override { return *app_; }
  Status Run() override;

 private:
  CLI::App& program_;
  CLI::App* app_;
  std::string shell_;
};

}  // namespace headroom::cli
