// `headroom monitor`: shows the machine's counters live, or writes them to a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/flags/subcommand.h"
#include "cli/machine/metrics_server.h"

namespace headroom::cli {

class MonitorCommand : public Subcommand {
 public:
  explicit MonitorCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  /// Returns where --prometheus listens. Fails if other machines could read it without a token.
  Result<MetricsAddress> Address() const;

  Command command_;

  // Flags as given.
  double interval_s_ = 1;
  std::optional<std::int64_t> count_;
  std::optional<double> duration_s_;
  std::optional<std::int64_t> pid_;
  std::string output_path_;
  bool force_ = false;
  int prometheus_port_ = 0;
  bool prometheus_ = false;
  std::string bind_ = "127.0.0.1", token_file_;
  bool list_ = false;
  bool quiet_ = false;
};

}  // namespace headroom::cli
