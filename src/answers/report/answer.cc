#include "answers/report/answer.h"

#include <utility>

#include "analysis/analyzed_trace.h"
#include "analysis/names/name_facts.h"
#include "whatif/finding_forecasts.h"

namespace headroom {

Result<TraceReport> AnswerReport(const TraceStore& store, const ReferenceData& reference,
                                 const ReportQuestion& question) {
  NameFacts names(store, reference);
  Result<AnalyzedTrace> trace = AnalyzeTrace(store, reference, names, question.analysis);
  if (!trace.ok()) return trace.status();
  TraceReport report = std::move(trace.value().report);
  trace.value().attribution.reset();  // Frees memory for the forecasts.
  if (Status status = ForecastFindings(store, reference, question.calibration,
                                       question.measured_step_ms, report);
      !status.ok())
    return status;
  return report;
}

}  // namespace headroom
