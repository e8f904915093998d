// A report together with its intermediate results, so that later analyses of the trace reuse them.
#pragma once

#include <memory>
#include <vector>

#include "analysis/analyze.h"
#include "analysis/loop/breakdown.h"
#include "analysis/names/attribution.h"
#include "analysis/names/name_facts.h"
#include "analysis/names/reference_data.h"
#include "analysis/steps/steps.h"
#include "analysis/tables/costed_work.h"
#include "analysis/values/report.h"
#include "base/status.h"
#include "store/trace_store.h"

namespace headroom {

struct AnalyzedTrace {
  TraceReport report;
  StepAnalysis steps;
  std::unique_ptr<OperatorCosts> costs;
  /// Holds one entry per host event, so callers free it early to save memory.
  std::unique_ptr<Attribution> attribution;
  std::vector<CostedCall> costed;  ///< Points into `costs`.
  HostActivity host;               ///< Host activity during the steps.
};

/// Runs Analyze() and also returns its intermediate results. Requires that `names` belongs to
/// `store`.
Result<AnalyzedTrace> AnalyzeTrace(const TraceStore& store, const ReferenceData& reference,
                                   NameFacts& names, const AnalysisOptions& options);

}  // namespace headroom
