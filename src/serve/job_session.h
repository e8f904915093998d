// An open job: its trace, or the traces of its ranks, each opened at its first request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/values/report.h"
#include "answers/report/job_report.h"
#include "base/status.h"
#include "compare/job_profile.h"
#include "ranks/job_ranks.h"
#include "serve/trace_session.h"

namespace headroom {

class JobSession {
 public:
  /// The ranks of a job, from several files.
  struct Ranks {
    std::string path;                   ///< As the user named the job.
    std::vector<TraceReport> files;     ///< Not empty; from CompareFiles().
    JobRanks job;                       ///< Not used for a single file.
    ReportOptions options;              ///< Without ranks.
    std::optional<std::int64_t> first;  ///< Rank without a request for one; nullopt: the slowest.
    /// Opens one of the files. Fails if it has changed since its report was made.
    std::function<Result<std::unique_ptr<TraceSession>>(const std::string& path)> open;
    std::function<Result<JobProfile>()> profile;
  };

  /// A job of one trace.
  explicit JobSession(std::unique_ptr<TraceSession> trace);
  /// Fails (kUsage) if no file has the rank `first`.
  static Result<std::unique_ptr<JobSession>> Of(Ranks ranks);

  /// Another job. Its events are no longer in memory.
  struct Other {
    std::string path;
    std::string report_json;
    Result<JobProfile> profile;
    /// True: the comparison goes from this job to the one that is open; false: the other way.
    bool is_earlier = false;
    /// Reads its trace again; of several ranks, that of the rank that represents it.
    std::function<Result<std::shared_ptr<TraceSession>>()> open;
  };
  /// Call before any request.
  void CompareWith(std::vector<Other> others) { others_ = std::move(others); }

  const std::string& path() const { return path_; }
  /// Returns the trace of a rank; nullopt: the rank that represents the job. Reads its file unless
  /// it is in memory. Fails (kUsage) if the job does not have the rank, and as
  /// TraceSession::Open() does. Thread-safe.
  Result<std::shared_ptr<TraceSession>> Trace(std::optional<std::int64_t> rank = std::nullopt);
  /// Returns the trace of job number `trace`, counted from 1, this job. Reads its file unless it is
  /// in memory. Fails (kUsage) if there is no such job, and as TraceSession::Open() does.
  /// Thread-safe.
  Result<std::shared_ptr<TraceSession>> TraceOf(std::int64_t trace);
  /// Returns headroom.report/1 of a rank, as `headroom report --rank N --json` prints it, without
  /// `job_ranks`, which can be long; nullopt: of all ranks, with a few rows per table and rank.
  /// Fails (kUsage) as Trace() does.
  Result<std::string> ReportJson(std::optional<std::int64_t> rank = std::nullopt) const;
  /// Returns the report of job number `trace`, counted from 1, this job. Fails (kUsage) if there is
  /// no such job.
  Result<std::string> OtherReportJson(std::int64_t trace) const;
  /// Returns the ranks of several files; empty for a job of one file.
  std::vector<std::int64_t> RankNumbers() const;
  /// Returns the rank that represents the job; nullopt for a job of one file.
  std::optional<std::int64_t> FirstRank() const;
  /// Returns the numbers of the steps that any rank has, those with the longest waits first; empty
  /// for a job of one file.
  std::vector<std::int64_t> StepsOfRanks() const;
  /// Returns headroom.rank-step/1: a step of all ranks on one clock. Fails (kUsage) if no rank has
  /// the step.
  Result<std::string> RankStepJson(std::int64_t step) const;
  /// Returns headroom.traces/1: the jobs that OtherReportJson() accepts. `all` false: only this.
  std::string TracesJson(bool all = true) const;

  /// Returns the figures that a comparison requires. A measured step is left out, because it is
  /// only known of one side. Fails (kNoAnswer) if no step is whole.
  Result<JobProfile> Profile() const;
  /// Returns headroom.diff/1, as `headroom diff --json` prints it, from the earlier to the later of
  /// this job and job number `trace`. Fails (kUsage) if there is no such other job, and as
  /// Profile() does.
  Result<std::string> DiffJson(std::int64_t trace);

 private:
  explicit JobSession(Ranks ranks);
  /// Returns the index of a rank's file.
  Result<std::size_t> IndexOf(std::optional<std::int64_t> rank) const;
  using Opener = std::function<Result<std::shared_ptr<TraceSession>>()>;
  /// Returns the trace with this key from memory, or opens it.
  ///
  /// @param key  index of a rank's file; after those, index of another job
  Result<std::shared_ptr<TraceSession>> OpenOnce(std::size_t key, const Opener& open);
  /// Returns null if the trace is not in memory.
  std::shared_ptr<TraceSession> InMemory(std::size_t key);
  /// Returns a job that this one is compared with, by its number, counted from 2. Fails (kUsage) if
  /// no such job is open.
  ///
  /// @param least  smallest number that the request accepts, for the message
  Result<const Other*> OtherJob(std::int64_t trace, std::int64_t least) const;
  bool IsOfSeveralRanks() const { return ranks_ && ranks_->files.size() > 1; }

  std::string path_;
  std::shared_ptr<TraceSession> trace_;  ///< The only trace; null: `ranks_` has several.
  std::optional<Ranks> ranks_;
  std::size_t first_ = 0;  ///< Index of the rank that represents the job.
  std::vector<Other> others_;
  std::mutex profile_mutex_;
  std::optional<Result<JobProfile>> profile_;  ///< Computed at the first comparison.

  struct OpenTrace {
    std::size_t key;
    std::shared_ptr<TraceSession> session;
  };
  std::mutex reading_mutex_;   ///< Held while a file is read: one at a time.
  std::mutex open_mutex_;      ///< Guards `open_`.
  std::list<OpenTrace> open_;  ///< The last requested first.
};

}  // namespace headroom
