// `headroom merge`: joins the files of a job's ranks into one trace, on one clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/flags/subcommand.h"
#include "cli/inputs/trace_files.h"
#include "export/merged_trace.h"
#include "ingest/open_trace.h"

namespace headroom::cli {

class MergeCommand : public Subcommand {
 public:
  explicit MergeCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  Result<JobTraces> ReadRanks(const TraceFiles& files) const;
  std::string Summary(const JobTraces& job, std::int64_t events) const;

  Command command_;
  std::vector<std::string> traces_;
  std::string output_path_;
  OpenOptions open_;
  bool quiet_ = false;
};

}  // namespace headroom::cli
