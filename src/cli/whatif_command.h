// `headroom whatif TRACE [SCENARIO...]`: what a change would buy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/calibration_choice.h"
#include "cli/subcommand.h"
#include "cli/whatif_views.h"

namespace headroom::cli {

class WhatifCommand : public Subcommand {
 public:
  explicit WhatifCommand(CLI::App& parent);

  const CLI::App& app() const override { return *app_; }
  Status Run() override;

 private:
  CLI::App* app_;
  std::string trace_;
  std::vector<std::string> scenarios_;
  bool list_ = false;
  WhatifViews views_;
  bool json_ = false;
  bool quiet_ = false;
  std::string output_path_;
  std::string step_marker_;
  std::optional<double> measured_step_ms_;
  CalibrationFlags calibration_;
};

}  // namespace headroom::cli
