// `headroom record`: records an unmodified program.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/launched_program.h"
#include "capture/recorder.h"
#include "cli/flags/subcommand.h"

namespace headroom::cli {

class RecordCommand : public Subcommand {
 public:
  explicit RecordCommand(Command parent);

  Command command() const override { return command_; }
  bool TakeRest(const std::vector<std::string>& rest) override { return recorded_ = rest, true; }
  Status Run() override;
  /// Exit code of the recorded program. Requires that Run() succeeded.
  int exit_code() const override { return exit_code_; }

 private:
  /// Returns changes to the environment, so that only this recorder records the program, at
  /// `level_`.
  EnvironmentChanges EnvironmentFor(const std::string& socket,
                                    const std::function<void(std::string_view)>& remark) const;

  Command command_;
  std::vector<std::string> recorded_;
  RecorderOptions options_;
  std::string level_ = "gpu";
  std::string steps_;
  std::vector<std::string> with_;
  double max_file_gb_ = 8;
  double max_memory_mb_ = 256;
  bool probe_input_ = false;
  bool end_group_ = false;
  double interval_s_ = 1;
  double stack_hz_ = 25;
  bool quiet_ = false;
  int exit_code_ = 0;
};

}  // namespace headroom::cli
