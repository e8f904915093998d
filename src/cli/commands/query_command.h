// `headroom query`: runs SQL on the tables of a trace.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/subcommand.h"
#include "ingest/open_trace.h"
#include "store/trace_store.h"

namespace headroom::cli {

class QueryCommand : public Subcommand {
 public:
  explicit QueryCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  Result<std::unique_ptr<TraceStore>> Read() const;

  Command command_;
  std::string trace_;
  std::vector<std::string> words_;  ///< Words of the statement: several, if it was not quoted.
  std::string output_path_;
  bool csv_ = false, json_ = false, reference_ = false, quiet_ = false;
  std::optional<std::int64_t> max_rows_;
  std::int64_t timeout_s_, memory_mb_;
  OpenOptions open_;
};

}  // namespace headroom::cli
