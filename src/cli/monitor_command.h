// `headroom monitor`: the machine's counters, live or to a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/subcommand.h"

namespace headroom::cli {

class MonitorCommand : public Subcommand {
 public:
  explicit MonitorCommand(CLI::App& parent);

  const CLI::App& app() const override { return *app_; }
  Status Run() override;

 private:
  CLI::App* app_;

  // Flags as given.
  double interval_s_ = 1;
  std::optional<std::int64_t> count_;
  std::optional<double> duration_s_;
  std::optional<std::int64_t> pid_;
  std::string output_path_;
  bool force_ = false;
  int prometheus_port_ = 0;
  bool prometheus_ = false;
  bool list_ = false;
  bool quiet_ = false;
};

}  // namespace headroom::cli
