// `headroom data`: analyzes the input pipeline of a recorded run. `headroom data bench`: benchmarks
// a dataset or DataLoader alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/flags/subcommand.h"
#include "ingest/input/expansion_limit.h"

namespace headroom::cli {

class DataCommand : public Subcommand {
 public:
  explicit DataCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  Command command_;
  std::string trace_;
  std::vector<std::string> changes_;
  std::string output_path_;
  std::int64_t loader_ = 1;
  ExpansionLimit expansion_;
  bool json_ = false, full_ = false, quiet_ = false;

  /// Replaces this process with the benchmark in Python. Returns only if exec fails.
  Status RunBench() const;

  Command bench_;
  std::string function_, python_ = "python3";
  std::string workers_ = "0,1,2,4";
  double seconds_ = 3;
};

}  // namespace headroom::cli
