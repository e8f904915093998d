// A report, and what further analyses of the same trace build on, so that it is found once.
#pragma once

#include "analysis/analyze.h"
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
};

/// Analyze(), with what it found on the way. `names`: of the same store.
Result<AnalyzedTrace> AnalyzeTrace(const TraceStore& store, const Knowledge& knowledge,
                                   NameFacts& names, const AnalysisOptions& options);

}  // namespace headroom
