#include "cli/profile_run.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "analysis/analyzed_trace.h"
#include "analysis/name_facts.h"
#include "base/read_file.h"
#include "cli/progress.h"
#include "cli/trace_files.h"
#include "compare/baseline_file.h"
#include "ingest/open_trace.h"
#include "report/escape.h"
#include "report/job_report.h"
#include "whatif/finding_forecasts.h"

namespace headroom::cli {
namespace {

struct ProfiledFile {
  JobProfile profile;
  std::optional<std::int64_t> rank;
};

Result<ProfiledFile> ProfileFile(const std::string& path, const Knowledge& knowledge,
                                 const JobOptions& options) {
  Result<AnalysisOptions> analysis = AnalysisOf(options);
  if (!analysis.ok()) return analysis.status();
  analysis.value().path = path;
  OpenOptions open;
  open.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  Progress progress(!options.quiet, "reading " + Printable(path, Charset::kAscii));
  open.progress = [&](std::int64_t done, std::int64_t all) { progress.Update(done, all); };
  const Result<std::unique_ptr<TraceStore>> opened = OpenTrace(path, open);
  if (!opened.ok()) return opened.status();
  const TraceStore& store = *opened.value();
  NameFacts names(store, knowledge);
  Result<AnalyzedTrace> analyzed = AnalyzeTrace(store, knowledge, names, analysis.value());
  if (!analyzed.ok()) return analyzed.status();
  Result<JobProfile> profile = MakeProfile(store, names, analyzed.value());
  if (!profile.ok()) return profile.status();
  analyzed.value().attribution.reset();  // The forecasts need memory of their own.
  Result<ChosenCalibration> chosen = ChooseCalibration(options.calibration, store);
  if (!chosen.ok()) return chosen.status();
  const HostTruth truth = {.calibration = std::move(chosen.value().calibration),
                           .from = std::move(chosen.value().from),
                           .measured_step_ms = options.measured_step_ms};
  TraceReport& report = analyzed.value().report;
  if (Status status = ForecastFindings(store, knowledge, truth, report); !status.ok())
    return status;
  AddForecasts(report, profile.value());
  profile.value().verdict = NameOf(report.bottleneck.verdict);
  return ProfiledFile{std::move(profile).value(), report.input.rank};
}

/// The first bytes of a regular file; empty where it cannot be read.
std::string BeginOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";
  std::array<char, 256> buffer{};
  std::ifstream file(path, std::ios::binary);
  file.read(buffer.data(), buffer.size());
  return {buffer.data(), static_cast<std::size_t>(file.gcount())};
}

}  // namespace

Result<JobProfile> ProfileTraces(const std::vector<std::string>& named, const Knowledge& knowledge,
                                 const JobOptions& options) {
  const Result<TraceFiles> files = FindTraceFiles(named);
  if (!files.ok()) return files.status();
  std::vector<JobProfile> runs;
  std::optional<std::int64_t> rank;
  std::set<std::string> seen;
  for (const std::string& path : files.value().paths) {
    std::error_code error;
    const std::string real = std::filesystem::canonical(path, error).string();
    if (!error && !seen.insert(real).second) {
      return Status::Usage(
          fmt::format("{} is given twice: a run that is repeated has a trace of its own", path));
    }
    Result<ProfiledFile> file = ProfileFile(path, knowledge, options);
    if (!file.ok()) return file.status();
    if (rank && file.value().rank && rank != file.value().rank) {
      return Status::Usage(fmt::format(
          "{} is of rank {}, and another file of rank {}: repeated runs are of one rank; compare "
          "the traces of the same rank",
          path, *file.value().rank, *rank));
    }
    if (!rank) rank = file.value().rank;
    runs.push_back(std::move(file.value().profile));
  }
  return JoinRuns(std::move(runs));
}

Result<std::optional<JobProfile>> FindBaseline(const std::string& named,
                                               const std::string& folder) {
  std::error_code error;
  std::string path = named;
  if (!std::filesystem::exists(named, error)) {
    path = BaselinePath(folder, named);
    if (!CheckBaselineName(named).ok() || !std::filesystem::exists(path, error))
      return std::optional<JobProfile>();
  } else if (!LooksLikeBaseline(BeginOf(named))) {
    return std::optional<JobProfile>();
  }
  const Result<std::optional<std::string>> content = ReadFile(path);
  if (!content.ok()) return content.status();
  Result<JobProfile> profile = ParseBaseline({path, content.value().value_or("")});
  if (!profile.ok()) return profile.status();
  return std::optional<JobProfile>(std::move(profile).value());
}

}  // namespace headroom::cli
