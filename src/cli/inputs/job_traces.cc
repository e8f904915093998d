#include "cli/inputs/job_traces.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "analysis/analyzed_trace.h"
#include "analysis/names/reference_data.h"
#include "cli/inputs/open_with_progress.h"
#include "cli/terminal/output.h"
#include "export/chrome_events.h"
#include "ingest/open_trace.h"
#include "ranks/rank_of_file.h"
#include "render/escape.h"

namespace headroom::cli {
namespace {

/// Returns a remark if files were numbered by their position; otherwise returns "".
std::string OnNumberedFiles(const std::vector<RankTimeline>& timelines,
                            const std::vector<TraceReport>& reports) {
  if (reports.size() < 2) return {};
  const TraceReport* first = nullptr;
  std::size_t numbered = 0;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const InputInfo& input = reports[i].input;
    if (timelines[i].rank || RankOfFileName(input.path) == input.rank) continue;
    if (++numbered == 1) first = &reports[i];
  }
  if (numbered == 0) return {};
  return fmt::format(
      "headroom: {} of {} files state no rank, and neither do their names: numbered in file order, "
      "{} is rank {}. Name them rank0.json, rank1.json\n",
      numbered, reports.size(), Printable(first->input.path, Charset::kAscii),
      first->input.rank.value_or(0));
}

}  // namespace

Result<JobTraces> ReadJobTraces(const TraceFiles& files, const JobTracesOptions& options) {
  const Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
  if (!reference.ok()) return reference.status();
  std::vector<RankTimeline> timelines;
  std::vector<TraceReport> reports;
  /// Unix base and first timestamp of each file, by path.
  std::map<std::string, std::pair<DurationNs, TimeNs>> zeros;
  Status failed;
  for (std::size_t i = 0; i < files.paths.size(); ++i) {
    const std::string& path = files.paths[i];
    const Result<std::unique_ptr<TraceStore>> store =
        OpenWithProgress(path, options.open, options.quiet);
    if (!store.ok()) {
      // A folder may also hold files that are not traces of the job.
      if (!files.of_folder[i]) return store.status();
      if (!options.quiet) Remark(fmt::format("headroom: left out: {}\n", store.status().message()));
      if (failed.ok()) failed = store.status();
      continue;
    }
    AnalysisOptions analysis = options.analysis;
    analysis.path = path;
    NameFacts names(*store.value(), *reference.value());
    const Result<AnalyzedTrace> trace =
        AnalyzeTrace(*store.value(), *reference.value(), names, analysis);
    if (!trace.ok()) return trace.status();
    timelines.push_back(ReadRankTimeline(*store.value(), names, reference.value()->groups(),
                                         trace.value(), analysis));
    timelines.back().host = HostOfFileName(path);
    zeros[path] = {UnixBaseOf(*store.value()), FirstTime(*store.value())};
    TraceReport report;  // Only the rank of the report is used below.
    report.input = trace.value().report.input;
    reports.push_back(std::move(report));
  }
  if (reports.empty()) return failed;
  if (Status status = AssignRanks(reports); !status.ok()) return status;
  if (!options.quiet) Remark(OnNumberedFiles(timelines, reports));
  for (std::size_t i = 0; i < timelines.size(); ++i) timelines[i].rank = reports[i].input.rank;
  JobTraces traces;
  if (timelines.size() > 1) {
    traces.ranks = AnalyzeJobRanks(std::move(timelines));
  } else {
    traces.ranks.ranks = std::move(timelines);
    traces.ranks.alignment.clocks.resize(1);
  }
  for (const RankTimeline& rank : traces.ranks.ranks) {
    traces.bases.push_back(zeros[rank.path].first);
    traces.firsts.push_back(zeros[rank.path].second);
  }
  return traces;
}

}  // namespace headroom::cli
