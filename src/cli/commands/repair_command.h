// `headroom repair`: writes a clean copy of a damaged trace, and lists the repairs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/subcommand.h"
#include "cli/inputs/chosen_trace.h"
#include "ingest/open_trace.h"

namespace headroom::cli {

class RepairCommand : public Subcommand {
 public:
  explicit RepairCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  std::string Text(const ChosenTrace& trace, std::int64_t events) const;
  std::string Json(const ChosenTrace& trace, std::int64_t events) const;

  Command command_;
  std::vector<std::string> traces_;
  std::string output_path_;
  std::optional<std::int64_t> rank_;
  OpenOptions open_;
  bool json_ = false;
  bool quiet_ = false;
};

}  // namespace headroom::cli
