// `headroom merge`: the files of a job's ranks as one trace, on one clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/flags/subcommand.h"
#include "cli/inputs/job_traces.h"
#include "cli/inputs/trace_files.h"

namespace headroom::cli {

class MergeCommand : public Subcommand {
 public:
  explicit MergeCommand(Command parent);

  Command command() const override { return command_; }
  Status Run() override;

 private:
  /// What is known of all files once each was read alone.
  struct Job : JobTraces {
    /// By which the file's zero is before that of its reference, so that no stamp is negative:
    /// viewers drop those.
    DurationNs lead = {};
  };
  Result<Job> ReadRanks(const TraceFiles& files) const;
  /// The rank's own clock on that of the file.
  static DurationNs ShiftAt(const Job& job, std::size_t rank, TimeNs own);
  /// Writes all ranks, one in memory at a time; how many events there are.
  Result<std::int64_t> WriteRanks(const Job& job) const;
  std::string Summary(const Job& job, std::int64_t events) const;

  Command command_;
  std::vector<std::string> traces_;
  std::string output_path_;
  int threads_;
  bool quiet_ = false;
};

}  // namespace headroom::cli
