// Answers `headroom report` for one trace: for the page, Python and the proof of `headroom redact`.
// The command itself also reads the data that compares ranks (cli/inputs/file_report).
#pragma once

#include <optional>

#include "analysis/names/reference_data.h"
#include "analysis/values/options.h"
#include "analysis/values/report.h"
#include "base/status.h"
#include "store/trace_store.h"
#include "whatif/calibration/calibration_choice.h"

namespace headroom {

struct ReportQuestion {
  AnalysisOptions analysis = {};
  CalibrationFlags calibration = {};
  std::optional<double> measured_step_ms = {};  ///< Measured without a profiler.
};

/// Returns the report with its forecasts. Fails as AnalyzeTrace() and ForecastFindings() do.
Result<TraceReport> AnswerReport(const TraceStore& store, const ReferenceData& reference,
                                 const ReportQuestion& question);

}  // namespace headroom
