#include "cli/inputs/file_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "analysis/analyzed_trace.h"
#include "analysis/names/name_facts.h"
#include "answers/report/shown_row.h"
#include "cli/inputs/open_with_progress.h"
#include "export/trace_part.h"
#include "render/escape.h"
#include "serve/join_capture_files.h"
#include "serve/open_recordings.h"
#include "whatif/finding_forecasts.h"

namespace headroom::cli {
namespace {

Status Fill(const std::string& path, const ReferenceData& reference, const FileRequest& request,
            ResourceLog& log, FileResult& result) {
  log.Enter("read");
  Result<std::unique_ptr<TraceStore>> store =
      OpenWithProgress(path, request.open, !request.progress);
  if (!store.ok()) return store.status();
  const auto further = request.recordings.find(path);
  if (further != request.recordings.end()) {
    store = OpenRecordings(path, std::move(store).value(), further->second,
                           [&](const std::string& file) {
                             return OpenWithProgress(file, request.open, !request.progress);
                           });
    if (!store.ok()) return store.status();
  }
  const std::vector<std::int64_t> ranks = RanksOfProcesses(*store.value());
  if (ranks.size() > 1 && request.analysis.rank) {
    if (std::find(ranks.begin(), ranks.end(), *request.analysis.rank) == ranks.end()) {
      return Status::Usage(fmt::format("--rank {}: {} holds ranks {}", *request.analysis.rank,
                                       Printable(path, Charset::kAscii), fmt::join(ranks, ", ")));
    }
    store = PartOf(*store.value(), {.window = {}, .rank = request.analysis.rank});
  } else if (ranks.size() > 1) {
    result.ranks = ranks;
  }
  log.AddStore(store.value()->metadata.events,
               static_cast<std::int64_t>(store.value()->MemoryBytes()));
  log.Enter("analyze");
  AnalysisOptions analysis = request.analysis;
  analysis.path = path;
  Status joined = JoinCaptureFiles(*store.value(), reference, request.captures, request.open);
  if (!joined.ok()) return joined;
  NameFacts names(*store.value(), reference);
  Result<AnalyzedTrace> analyzed = AnalyzeTrace(*store.value(), reference, names, analysis);
  if (!analyzed.ok()) return analyzed.status();
  if (request.compare) {
    result.timeline =
        ReadRankTimeline(*store.value(), names, reference.groups(), analyzed.value(), analysis);
  }
  if (const std::optional<NamedRow> row = FindNamedRow(analyzed.value().report, request.show)) {
    result.calls =
        CallsOf(*store.value(), names, analyzed.value(),
                ScopeOf(*store.value(), analyzed.value().steps, analysis), row->table, row->name);
  }
  analyzed.value().attribution.reset();  // Frees memory for the forecasts.
  log.Enter("forecast");
  TraceReport& report = result.report.emplace(std::move(analyzed.value().report));
  Status status = ForecastFindings(*store.value(), reference, request.calibration,
                                   request.measured_step_ms, report);
  if (further != request.recordings.end()) MarkRecordings(further->second.size(), report);
  return status;
}

}  // namespace

FileResult ReportFile(const std::string& path, const ReferenceData& reference,
                      const FileRequest& request, ResourceLog& log) {
  FileResult result;
  try {
    result.status = Fill(path, reference, request, log, result);
  } catch (const std::bad_alloc&) {
    result.status = Status::Environment(
        fmt::format("{}: out of memory; use fewer --threads, or a machine with more memory",
                    Printable(path, Charset::kAscii)));
  } catch (const std::exception& error) {
    result.status = Status::Environment(
        fmt::format("{}: internal error: {}", Printable(path, Charset::kAscii), error.what()));
  }
  if (!result.status.ok()) {
    result.report.reset();
    result.timeline.reset();
    result.calls.reset();
  }
  return result;
}

}  // namespace headroom::cli
