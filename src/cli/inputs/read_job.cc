#include "cli/inputs/read_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "answers/report/rank_set.h"
#include "base/file_stamp.h"
#include "render/escape.h"

namespace headroom::cli {
namespace {

TraceSession::Options SessionOf(const std::string& path, const JobSessionOptions& options) {
  const FileRequest& request = options.request;
  TraceSession::Options session = {.analysis = request.analysis,
                                   .calibration = request.calibration,
                                   .measured_step_ms = request.measured_step_ms,
                                   .captures = request.captures,
                                   .open = request.open,
                                   .report = options.report};
  session.analysis.path = path;
  const auto further = request.recordings.find(path);
  if (further != request.recordings.end()) session.recordings = further->second;
  return session;
}

/// Returns the stamps of a file and of the further recordings of its process.
std::vector<FileStamp> StampsOf(const std::string& path, const Recordings& recordings) {
  std::vector<FileStamp> stamps = {StampOf(path)};
  const auto further = recordings.find(path);
  if (further == recordings.end()) return stamps;
  for (const std::string& other : further->second) stamps.push_back(StampOf(other));
  return stamps;
}

/// Reads all files, one at a time in memory.
Result<JobSession::Ranks> ReadRanks(const TraceFiles& files, const JobSessionOptions& options) {
  const Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
  if (!reference.ok()) return reference.status();
  std::vector<FileResult> results;
  ResourceLog log;
  for (const std::string& path : files.paths)
    results.push_back(ReportFile(path, *reference.value(), options.request, log));
  Result<ReadFiles> read = SortResults(files, std::move(results));
  if (!read.ok()) return read.status();
  JobSession::Ranks ranks;
  ranks.files = std::move(read.value().reports);
  Result<JobRanks> job =
      CompareFiles(ranks.files, std::move(read.value().timelines),
                   {.unreadable = std::move(read.value().unreadable), .not_traces = files.skipped});
  if (!job.ok()) return job.status();
  ranks.job = std::move(job).value();
  return ranks;
}

}  // namespace

void RemoveFurther(const Recordings& recordings, TraceFiles& files) {
  for (const auto& [first, others] : recordings) {
    for (const std::string& other : others) {
      const auto path = std::find(files.paths.begin(), files.paths.end(), other);
      files.of_folder.erase(files.of_folder.begin() + (path - files.paths.begin()));
      files.paths.erase(path);
    }
  }
}

Result<ReadFiles> SortResults(const TraceFiles& files, std::vector<FileResult> results) {
  ReadFiles read;
  Status failed;
  for (std::size_t i = 0; i < results.size(); ++i) {
    FileResult& file = results[i];
    if (file.status.ok()) {
      read.reports.push_back(std::move(*file.report));
      if (file.calls) read.calls[read.reports.back().input.path] = std::move(*file.calls);
      if (file.timeline) read.timelines.push_back(std::move(*file.timeline));
      continue;
    }
    if (!files.of_folder[i] || file.status.code() == StatusCode::kUsage) return file.status;
    if (failed.ok()) failed = file.status;
    read.unreadable.push_back(file.status.message());
  }
  if (read.reports.empty()) return failed;
  return read;
}

Result<std::unique_ptr<JobSession>> OpenJobSession(const std::vector<std::string>& named,
                                                   JobSessionOptions options) {
  Result<TraceFiles> found = FindJobFiles(named);
  if (!found.ok()) return found.status();
  TraceFiles& files = found.value();
  options.request.recordings = FindRecordings(files.paths);
  RemoveFurther(options.request.recordings, files);
  if (files.paths.size() == 1) {
    options.request.analysis.rank = options.rank;
    Result<std::unique_ptr<TraceSession>> trace =
        TraceSession::Open(SessionOf(files.paths.front(), options));
    if (!trace.ok()) return trace.status();
    return std::make_unique<JobSession>(std::move(trace).value());
  }
  options.request.compare = true;
  std::map<std::string, std::vector<FileStamp>> stamps;
  for (const std::string& path : files.paths)
    stamps.emplace(path, StampsOf(path, options.request.recordings));
  Result<JobSession::Ranks> ranks = ReadRanks(files, options);
  if (!ranks.ok()) return ranks.status();
  ranks.value().path = named.front();
  ranks.value().options = options.report;
  ranks.value().first = options.rank;
  ranks.value().profile = options.profile;
  ranks.value().open = [options = std::move(options), read = std::move(stamps)](
                           const std::string& path) -> Result<std::unique_ptr<TraceSession>> {
    Result<std::unique_ptr<TraceSession>> trace = TraceSession::Open(SessionOf(path, options));
    const std::vector<FileStamp> now = StampsOf(path, options.request.recordings);
    if (now == read.at(path) || now.front() == FileStamp()) return trace;
    return Status::BadInput(fmt::format(
        "{}: the file has changed since the job was read; try again once it is complete",
        Printable(path, Charset::kAscii)));
  };
  return JobSession::Of(std::move(ranks).value());
}

}  // namespace headroom::cli
