// `headroom doctor`: checks what works on this machine.
#pragma once

#include <string>

#include "cli/flags/subcommand.h"
#include "cli/machine/machine_checks.h"

namespace headroom::cli {

class DoctorCommand : public Subcommand {
 public:
  explicit DoctorCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  Command command_;
  std::string python_ = kUsualPython;
  std::string output_path_;
  bool json_ = false, full_ = false;
};

}  // namespace headroom::cli
