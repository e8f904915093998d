// The rank of a job that is replayed for all, and what the files of the others tell of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "cli/inputs/open_job.h"
#include "cli/inputs/trace_files.h"
#include "ranks/collective_skew.h"
#include "ranks/job_ranks.h"

namespace headroom::cli {

struct ReplayedRank {
  std::string path;
  std::optional<std::int64_t> number;  ///< None: its file is the only one.
  std::int64_t compared = 1;           ///< Ranks on one clock with it, itself included.
  JobRanks job;                        ///< Empty: its file is the only one.
  std::size_t index = 0;               ///< Of `job`.

  /// Of its collectives, where several ranks could be compared; else empty.
  ///
  /// @param gpus  of the job
  CollectiveSkew SkewOf(std::int64_t gpus) const;
};

/// MedianRank() of the files of several ranks (ReadJobTraces()), with remarks on what is wrong with
/// the set; a file by itself is not read. Fails as ReadJobTraces() does, or (kUsage) where all
/// files are of ranks that the job does not have.
Result<ReplayedRank> ChooseReplayedRank(const TraceFiles& files, const JobOptions& options);

}  // namespace headroom::cli
