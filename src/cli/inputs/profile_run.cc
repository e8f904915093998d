#include "cli/inputs/profile_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "answers/diff/answer.h"
#include "cli/inputs/open_with_progress.h"
#include "cli/inputs/trace_files.h"
#include "export/trace_part.h"
#include "ingest/open_trace.h"

namespace headroom::cli {
namespace {

/// Returns one profile per rank for a file of several ranks (`headroom merge`), otherwise one.
Result<std::vector<ProfiledTrace>> ProfileFile(const std::string& path, bool has_others,
                                               const ReferenceData& reference,
                                               const JobOptions& options) {
  Result<std::unique_ptr<TraceStore>> opened = OpenWithProgress(path, options.open, options.quiet);
  if (!opened.ok()) return opened.status();
  Result<AnalysisOptions> analysis = AnalysisOf(options);
  if (!analysis.ok()) return analysis.status();
  ProfileQuestion question{.analysis = std::move(analysis).value(),
                           .calibration = options.calibration,
                           .measured_step_ms = options.measured_step_ms};
  std::vector<ProfiledTrace> profiled;
  const auto add = [&](const TraceStore& store, std::optional<std::int64_t> rank, bool several) {
    question.rank = rank;
    question.has_others = has_others || several;
    Result<ProfiledTrace> file = ProfileTrace(store, path, reference, question);
    if (!file.ok()) return file.status();
    profiled.push_back(std::move(file).value());
    return Status::Ok();
  };
  const std::vector<std::int64_t> merged = RanksOfProcesses(*opened.value());
  if (merged.size() < 2) {
    if (Status status = add(*opened.value(), std::nullopt, false); !status.ok()) return status;
  }
  for (std::size_t i = 0; merged.size() > 1 && i < merged.size(); ++i) {
    const std::unique_ptr<TraceStore> part =
        PartOf(*opened.value(), {.window = {}, .rank = merged[i]});
    if (Status status = add(*part, merged[i], true); !status.ok()) return status;
  }
  return profiled;
}

}  // namespace

Result<JobProfile> ProfileTraces(const std::vector<std::string>& named,
                                 const ReferenceData& reference, const JobOptions& options) {
  const Result<TraceFiles> files = FindJobFiles(named);
  if (!files.ok()) return files.status();
  std::vector<ProfiledTrace> profiled;
  std::set<std::string> seen;
  for (const std::string& path : files.value().paths) {
    std::error_code error;
    const std::string real = std::filesystem::canonical(path, error).string();
    if (!error && !seen.insert(real).second) {
      return Status::Usage(
          fmt::format("{} is given twice: give a separate trace for each repeated run", path));
    }
    Result<std::vector<ProfiledTrace>> of_file =
        ProfileFile(path, files.value().paths.size() > 1, reference, options);
    if (!of_file.ok()) return of_file.status();
    std::move(of_file.value().begin(), of_file.value().end(), std::back_inserter(profiled));
  }
  return JoinTraces(std::move(profiled));
}

}  // namespace headroom::cli
