// `headroom mcp`: serves the commands that answer from files as tools for a coding agent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/flags/subcommand.h"

namespace headroom::cli {

class McpCommand : public Subcommand {
 public:
  explicit McpCommand(const Program& program);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  const Program& program_;
  Command command_;
  std::vector<std::string> roots_;
  std::int64_t max_bytes_;
  double timeout_s_;
};

}  // namespace headroom::cli
