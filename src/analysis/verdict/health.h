// Trace health: the recorded, repaired and missing parts, and the conclusions that the damage makes
// unreliable.
#pragma once

#include <string>

#include "analysis/steps/steps.h"
#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

/// Combines the reader's import log with issues that only the whole trace shows (no GPU work,
/// orphans, lost launches, ...), and assigns a grade. The grade is the worst that applies:
///   A  complete, nothing repaired         D  the verdict is void
///   B  repaired, all conclusions valid    E  the verdict and the GPU time are void
///   C  some figures are void              F  nothing was recorded
Health AssessHealth(const TraceStore& store, NameFacts& names, const StepAnalysis& steps,
                    const Efficiency& efficiency);

bool HasIssue(const Health& health, ImportIssue issue);

/// Returns true if unknown tracks may contain GPU work. Then neither GPU figures nor their absence
/// supports a conclusion.
bool MayHideGpuWork(const TraceStore& store);

/// Returns the errors of the trace's health that make a conclusion unreliable. Each has its code,
/// place and remedy, in sentences without the last full stop. Empty if there are none.
std::string DamageOf(const TraceStore& store);

}  // namespace headroom
