// `headroom calibrate --host`: what recording costs on this machine.
#pragma once

#include <string>

#include "cli/subcommand.h"

namespace headroom::cli {

class CalibrateCommand : public Subcommand {
 public:
  explicit CalibrateCommand(CLI::App& parent);

  const CLI::App& app() const override { return *app_; }
  Status Run() override;

 private:
  CLI::App* app_;
  bool host_ = false;
  std::string output_path_;
  std::string python_ = "python3";
  double seconds_ = 6;
  bool quiet_ = false;
};

}  // namespace headroom::cli
