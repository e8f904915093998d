// `headroom calibrate`: what recording costs on this machine (--host), and how long operators take
// on its GPU (--gpu).
#pragma once

#include <optional>
#include <string>

#include "cli/subcommand.h"

namespace headroom::cli {

class CalibrateCommand : public Subcommand {
 public:
  explicit CalibrateCommand(CLI::App& parent);

  const CLI::App& app() const override { return *app_; }
  Status Run() override;

 private:
  Status CalibrateHost() const;
  Status CalibrateGpu() const;

  CLI::App* app_;
  bool host_ = false, gpu_ = false;
  std::string output_path_;
  std::string python_ = "python3";
  std::optional<double> seconds_;
  bool quiet_ = false;
};

}  // namespace headroom::cli
