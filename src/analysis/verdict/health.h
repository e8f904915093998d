// Trace health: what was read, what was repaired, what is missing, and which conclusions that takes
// away.
#pragma once

#include <string>

#include "analysis/steps/steps.h"
#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

/// The import log of the reader plus what only the whole trace shows (no GPU work, orphans, lost
/// launches, ...), as issues and a grade. The grade is the worst that applies:
///   A  complete, nothing repaired        D  the verdict is void
///   B  repaired, every conclusion stands  E  the verdict and the GPU time are void
///   C  some figures are void             F  nothing was recorded
Health AssessHealth(const TraceStore& store, NameFacts& names, const StepAnalysis& steps,
                    const Efficiency& efficiency);

bool HasIssue(const Health& health, ImportIssue issue);

/// Whether tracks that are not understood may hold so much work of a GPU that no figure of it, and
/// no absence of it, supports a conclusion.
bool MayHideGpuWork(const TraceStore& store);

/// What the file or its recording lost, by the errors of its health that take a conclusion away:
/// each with its code, its place and its remedy, in sentences without the last full stop. Empty:
/// nothing.
std::string DamageOf(const TraceStore& store);

}  // namespace headroom
