// `headroom doctor`: what works on this machine.
#pragma once

#include <string>

#include "cli/machine_checks.h"
#include "cli/subcommand.h"

namespace headroom::cli {

class DoctorCommand : public Subcommand {
 public:
  explicit DoctorCommand(CLI::App& parent);

  const CLI::App& app() const override { return *app_; }
  Status Run() override;

 private:
  CLI::App* app_;
  std::string python_ = kUsualPython;
  std::string output_path_;
  bool json_ = false;
};

}  // namespace headroom::cli
