// A report, and what further analyses of the same trace build on, so that it is found once.
#pragma once

#include <memory>
#include <vector>

#include "analysis/analyze.h"
#include "analysis/attribution.h"
#include "analysis/costed_work.h"
#include "analysis/knowledge.h"
#include "analysis/name_facts.h"
#include "analysis/report.h"
#include "analysis/steps.h"
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
};

/// Analyze(), with what it found on the way. `names`: of the same store.
Result<AnalyzedTrace> AnalyzeTrace(const TraceStore& store, const Knowledge& knowledge,
                                   NameFacts& names, const AnalysisOptions& options);

}  // namespace headroom
