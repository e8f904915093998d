// `headroom export`: writes a trace, or figures of its report, in the format of another tool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/flags/subcommand.h"
#include "cli/inputs/trace_files.h"
#include "ingest/open_trace.h"
#include "store/trace_store.h"

namespace headroom::cli {

class ExportCommand : public Subcommand {
 public:
  explicit ExportCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  Status CheckFlags(const TraceFiles& files) const;
  /// Writes one file per table into the folder, or only the requested table.
  Status WriteTables(const TraceStore& store) const;
  Status WriteMetrics(const TraceFiles& files) const;
  /// Prints the number of written items on stderr. `of` names one item, such as "event". Prints
  /// nothing if the result went to stdout.
  void RemarkOnWritten(std::int64_t count, std::string_view of) const;
  bool to_stdout() const { return output_path_ == "-"; }

  Command command_;
  std::vector<std::string> traces_;
  std::string format_, output_path_, table_;
  std::string stack_time_ = "host";
  std::optional<std::int64_t> rank_;
  OpenOptions open_;
  bool quiet_ = false;
};

}  // namespace headroom::cli
