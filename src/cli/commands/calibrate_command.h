// `headroom calibrate`: measures the cost of recording on this machine (--host), operator times on
// its GPU (--gpu), and the network between machines (--network).
#pragma once

#include <optional>
#include <string>

#include "cli/flags/subcommand.h"
#include "cli/machine/network_measurement.h"

namespace headroom::cli {

class CalibrateCommand : public Subcommand {
 public:
  explicit CalibrateCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  Status CalibrateHost() const;
  Status CalibrateGpu() const;
  Status CalibrateNetwork() const;

  Command command_;
  bool host_ = false, gpu_ = false, between_ = false;
  NetworkMeasurement network_;
  std::string output_path_;
  std::string python_ = "python3";
  std::optional<double> seconds_;
  bool quiet_ = false;
};

}  // namespace headroom::cli
