// Reads the files of a job: their reports, and the session of the page.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "answers/report/job_report.h"
#include "answers/report/shown_row.h"
#include "base/status.h"
#include "cli/inputs/file_report.h"
#include "cli/inputs/trace_files.h"
#include "distributed/file_result.h"
#include "serve/job_session.h"

namespace headroom::cli {

struct ReadFiles {
  std::vector<TraceReport> reports;
  std::vector<RankTimeline> timelines;  ///< One per file; empty for a single file.
  std::vector<std::string> unreadable;  ///< Unreadable files of folders, with the reason.
  CallsByPath calls;  ///< Calls of the row that --show names; empty without --show.
};

/// Removes the files that are further recordings of another file's process.
///
/// @param recordings  FindRecordings() of the files
void RemoveFurther(const Recordings& recordings, TraceFiles& files);

/// Separates the files that were read from those that failed. Fails if a file failed that the user
/// named, if a request was invalid (kUsage), or if every file failed.
///
/// @param results  one per path of `files`
Result<ReadFiles> SortResults(const TraceFiles& files, std::vector<FileResult> results);

struct JobSessionOptions {
  FileRequest request;  ///< Without recordings.
  ReportOptions report;
  std::optional<std::int64_t> rank;  ///< Rank that represents the job; nullopt: the slowest.
  std::function<Result<JobProfile>()> profile;  ///< Profile of several files, for comparisons.
};

/// Opens the traces that the user named as one job: a file, or the files of its ranks. Fails as
/// FindTraceFiles(), SortResults(), CompareFiles(), TraceSession::Open() and JobSession::Of() do.
Result<std::unique_ptr<JobSession>> OpenJobSession(const std::vector<std::string>& named,
                                                   JobSessionOptions options);

}  // namespace headroom::cli
