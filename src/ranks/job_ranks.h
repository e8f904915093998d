// A job's ranks on one clock: which ranks wait for which, and the limits of that comparison.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ranks/late_cause.h"
#include "ranks/parallel_axes.h"
#include "ranks/pipeline_stages.h"
#include "ranks/rank_alignment.h"
#include "ranks/rank_timeline.h"
#include "ranks/rank_waits.h"
#include "ranks/rank_work.h"
#include "store/import_log.h"

namespace headroom {

/// A problem of the set of files, not of one file.
struct RankSetIssue {
  ImportIssue issue;
  std::int64_t count = 0;
  std::string detail;
};

struct JobRanks {
  std::vector<RankTimeline> ranks;  ///< Sorted by rank.
  Alignment alignment;
  JobWaits waits;
  JobWork work;
  LateReason late;
  std::vector<GroupAxis> axes;
  std::optional<Pipeline> pipeline;
  std::vector<RankSetIssue> issues;
};

/// If the timelines state different world sizes, compares nothing: the result then has only ranks
/// and issues. REQUIRES: every timeline has a rank, and all ranks are distinct.
JobRanks AnalyzeJobRanks(std::vector<RankTimeline> ranks);

}  // namespace headroom
