// Answers `headroom report` for several files: a job's ranks on one clock.
#pragma once

#include <string>
#include <vector>

#include "analysis/values/report.h"
#include "base/status.h"
#include "ranks/job_ranks.h"

namespace headroom {

/// Files of the job's folders that are not in the report.
struct LeftOutFiles {
  std::vector<std::string> unreadable;  ///< One reason per file.
  std::vector<std::string> not_traces;  ///< File names.
};

/// Gives each file its rank (AssignRanks()), and adds findings about ranks to the files of these
/// ranks. Fails as AssignRanks() does. Compares nothing if there is one file. If the files
/// cannot be ranks of one job, keeps only the file with the longest step.
///
/// @param timelines  timelines of `files`, in the same order
Result<JobRanks> CompareFiles(std::vector<TraceReport>& files, std::vector<RankTimeline> timelines,
                              const LeftOutFiles& left_out);

/// Adds the issues of the set to one of its files. Keeps issues in order of severity.
void AddIssues(const JobRanks& job, TraceReport& report);

}  // namespace headroom
