#include "cli/job_traces.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "analysis/analyzed_trace.h"
#include "analysis/knowledge.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "export/chrome_events.h"
#include "ingest/open_trace.h"
#include "report/escape.h"

namespace headroom::cli {
namespace {

Result<std::unique_ptr<TraceStore>> Open(const std::string& path, const JobTracesOptions& options) {
  OpenOptions open;
  open.threads = options.threads;
  Progress progress(!options.quiet, "reading " + Printable(path, Charset::kAscii));
  open.progress = [&](std::int64_t done, std::int64_t all) { progress.Update(done, all); };
  return OpenTrace(path, open);
}

}  // namespace

Result<JobTraces> ReadJobTraces(const TraceFiles& files, const JobTracesOptions& options) {
  const Result<std::unique_ptr<Knowledge>> knowledge = Knowledge::LoadBuiltIn();
  if (!knowledge.ok()) return knowledge.status();
  std::vector<RankTimeline> timelines;
  std::vector<TraceReport> reports;
  std::map<std::string, std::pair<DurationNs, TimeNs>> zeros;  ///< Unix base, and first stamp.
  Status failed;
  for (std::size_t i = 0; i < files.paths.size(); ++i) {
    const std::string& path = files.paths[i];
    const Result<std::unique_ptr<TraceStore>> store = Open(path, options);
    if (!store.ok()) {
      // What lies in a folder need not be one of the job's traces.
      if (!files.of_folder[i]) return store.status();
      if (!options.quiet) Remark(fmt::format("headroom: left out: {}\n", store.status().message()));
      if (failed.ok()) failed = store.status();
      continue;
    }
    AnalysisOptions analysis = options.analysis;
    analysis.path = path;
    NameFacts names(*store.value(), *knowledge.value());
    const Result<AnalyzedTrace> trace =
        AnalyzeTrace(*store.value(), *knowledge.value(), names, analysis);
    if (!trace.ok()) return trace.status();
    timelines.push_back(ReadRankTimeline(*store.value(), names, knowledge.value()->groups(),
                                         trace.value(), analysis));
    timelines.back().host = HostOfFileName(path);
    zeros[path] = {UnixBaseOf(*store.value()), FirstTime(*store.value())};
    TraceReport report;  // Its rank is all that is needed of it.
    report.input = trace.value().report.input;
    reports.push_back(std::move(report));
  }
  if (reports.empty()) return failed;
  if (Status status = AssignRanks(reports); !status.ok()) return status;
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
