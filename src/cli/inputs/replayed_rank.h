// The rank that is replayed for the whole job, with the data of the other ranks' files.
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
  std::optional<std::int64_t> number;  ///< Rank; absent if only one file was given.
  std::int64_t compared = 1;           ///< Number of ranks with aligned clocks, including this one.
  JobRanks job;                        ///< All ranks of the job; empty if only one file was given.
  std::size_t index = 0;               ///< Index of the rank in `job`.

  /// Returns the skew of the collectives of this rank; empty unless several ranks could be
  /// compared.
  ///
  /// @param gpus  number of GPUs of the forecast job
  CollectiveSkew SkewOf(std::int64_t gpus) const;
};

/// Returns MedianRank() of the files of several ranks (ReadJobTraces()), with remarks on faults of
/// the set. Does not read a single file. Fails as ReadJobTraces() does. Fails with kUsage if the
/// job has none of the files' ranks.
Result<ReplayedRank> ChooseReplayedRank(const TraceFiles& files, const JobOptions& options);

}  // namespace headroom::cli
