// A report, and what further analyses of the same trace build on, so that it is found once.
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
  std::unique_ptr<Attribution>
      attribution;                 ///< Of the same size as the host's events: let go early.
  std::vector<CostedCall> costed;  ///< Points into `costs`.
  HostActivity host;               ///< During the steps.
};

/// Analyze(), with what it found on the way. `names`: of the same store.
Result<AnalyzedTrace> AnalyzeTrace(const TraceStore& store, const ReferenceData& reference,
                                   NameFacts& names, const AnalysisOptions& options);

}  // namespace headroom
