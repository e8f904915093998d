// A job's ranks on one clock: who waits for whom, and what of that cannot be told.
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

/// What is wrong with the set of files, not with one of them.
struct RankSetIssue {
  ImportIssue issue;
  std::int64_t count = 0;
  std::string detail;
};

struct JobRanks {
  std::vector<RankTimeline> ranks;  ///< By rank.
  Alignment alignment;
  JobWaits waits;
  JobWork work;
  LateReason late;
  std::vector<GroupAxis> axes;
  std::optional<Pipeline> pipeline;
  std::vector<RankSetIssue> issues;
};

/// Ranks of different jobs (another world size) are not compared: there are no waits then.
/// REQUIRES: every timeline has its rank, each another one.
JobRanks AnalyzeJobRanks(std::vector<RankTimeline> ranks);

}  // namespace headroom
