// `headroom redact`: copies a trace without data that identifies its owner, and proves it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/flags/subcommand.h"
#include "ingest/open_trace.h"
#include "redact/text_redactor.h"

namespace headroom::cli {

class RedactCommand : public Subcommand {
 public:
  explicit RedactCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  Result<RedactOptions> Options() const;
  Status WriteMap(const std::vector<Replacement>& removed) const;

  Command command_;
  std::vector<std::string> traces_, kinds_, words_, patterns_, keep_;
  std::string output_path_, map_path_;
  std::optional<std::int64_t> rank_;
  OpenOptions open_;
  bool json_ = false;
  bool quiet_ = false;
};

}  // namespace headroom::cli
